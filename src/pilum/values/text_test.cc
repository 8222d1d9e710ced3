#include "pilum/values/text.h"

#include <cstring>
#include <random>

#include <gtest/gtest.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

namespace pilum {
namespace {

// Foldings never change once assigned, so a newer ICU may know more code points but none differently.
TEST(Text, FoldsEveryCodePointAsIcuDoes) {
  const bool same_unicode = std::strncmp(U_UNICODE_VERSION, "15.", 3) == 0;
  size_t folded = 0;
  for (uint32_t c = 0; c <= 0x10FFFF; ++c) {
    const uint32_t ours = FoldCodePoint(c);
    folded += ours != c;
    if (!same_unicode && ours == c) continue;
    ASSERT_EQ(ours, static_cast<uint32_t>(u_foldCase(static_cast<UChar32>(c), U_FOLD_CASE_DEFAULT))) << c;
  }
  EXPECT_GT(folded, 1300u);
}

std::string FoldByIcu(std::string_view text) {
  std::string out;
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t i = 0; i < size;) {
    const int32_t from = i;
    UChar32 c;
    U8_NEXT(reinterpret_cast<const uint8_t*>(text.data()), i, size, c);
    uint8_t buffer[4];
    int32_t n = 0;
    if (c >= 0) U8_APPEND_UNSAFE(buffer, n, static_cast<UChar32>(FoldCodePoint(static_cast<uint32_t>(c))));
    if (c >= 0)
      out.append(reinterpret_cast<const char*>(buffer), static_cast<size_t>(n));
    else
      out.append(text.substr(static_cast<size_t>(from), static_cast<size_t>(i - from)));
  }
  return out;
}

TEST(Text, FoldsEveryCodePointInTextAndKeepsWhatIsNoText) {
  std::string all;
  for (UChar32 c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    uint8_t buffer[4];
    int32_t n = 0;
    U8_APPEND_UNSAFE(buffer, n, c);
    all.append(reinterpret_cast<const char*>(buffer), static_cast<size_t>(n));
  }
  EXPECT_EQ(FoldCase(all), FoldByIcu(all));
  // Bytes of leads, trails and ASCII at random: cut, overlong, surrogates, past the last code point.
  std::mt19937 random(20);
  const std::string_view bytes(
      "\x80\x9f\xa0\xbf\xc0\xc1\xc3\xce\xe0\xed\xef\xf0\xf4\xf5\xff"
      "AZaz",
      19);
  for (int i = 0; i < 200000; ++i) {
    std::string text;
    for (uint32_t n = 1 + random() % 6; n > 0; --n) text.push_back(bytes[random() % bytes.size()]);
    ASSERT_EQ(FoldCase(text), FoldByIcu(text));
  }
}

}  // namespace
}  // namespace pilum
