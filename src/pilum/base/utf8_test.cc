#include "pilum/base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pilum {
namespace {

bool Are(const std::vector<std::string>& values) {
  std::vector<int32_t> narrow = {0};
  std::vector<int64_t> wide = {0};
  std::string bytes;
  for (const auto& v : values) {
    bytes += v;
    narrow.push_back(static_cast<int32_t>(bytes.size()));
    wide.push_back(static_cast<int64_t>(bytes.size()));
  }
  const auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
  const bool ok = AreUtf8(narrow.data(), values.size(), p);
  EXPECT_EQ(ok, AreUtf8(wide.data(), values.size(), p));
  return ok;
}

TEST(Utf8, AByteAbove127IsFoundWhereverItLies) {
  for (size_t n : {1, 31, 32, 255, 256, 257, 600}) {
    std::string text(n, 'a');
    const auto* p = reinterpret_cast<const uint8_t*>(text.data());
    EXPECT_TRUE(IsAscii(p, n));
    for (size_t i = 0; i < n; ++i) {
      text[i] = '\x80';
      EXPECT_FALSE(IsAscii(p, n)) << i << " of " << n;
      EXPECT_FALSE(IsUtf8(text)) << i << " of " << n;
      text[i] = 'a';
    }
  }
  EXPECT_TRUE(IsAscii(nullptr, 0));
}

TEST(Utf8, EachValueByItself) {
  EXPECT_TRUE(Are({}));
  EXPECT_TRUE(Are({"", "plain", ""}));
  EXPECT_TRUE(Are({"\xc3\xa4", "", "\xe2\x82\xac\xf0\x9f\x98\x80"}));
  EXPECT_FALSE(Are({"\xc3", "\xa4"}));  // a character cut in two
  EXPECT_FALSE(Are({"a", "\xc3", "", "\xa4"}));
  EXPECT_FALSE(Are({"a", "\xff"}));
  EXPECT_FALSE(Are({"\xc0\x80"}));      // too long a form
  EXPECT_FALSE(Are({"\xed\xa0\x80"}));  // half of a surrogate pair
}

}  // namespace
}  // namespace pilum
