#include "pilum/values/text.h"

#include <algorithm>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

namespace pilum {

std::string FoldCase(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t i = 0; i < size;) {
    auto byte = static_cast<uint8_t>(text[static_cast<size_t>(i)]);
    if (byte < 0x80) {
      out.push_back(static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte));
      ++i;
      continue;
    }
    int32_t from = i;
    UChar32 c;
    U8_NEXT(reinterpret_cast<const uint8_t*>(text.data()), i, size, c);
    if (c < 0) {
      out.append(text.substr(static_cast<size_t>(from), static_cast<size_t>(i - from)));
      continue;
    }
    uint8_t buffer[4];
    int32_t n = 0;
    U8_APPEND_UNSAFE(buffer, n, u_foldCase(c, U_FOLD_CASE_DEFAULT));
    out.append(reinterpret_cast<const char*>(buffer), static_cast<size_t>(n));
  }
  return out;
}

int64_t CountCodePoints(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
}

size_t CodePointSize(std::string_view text, size_t at) {
  auto lead = static_cast<uint8_t>(text[at]);
  size_t n = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  return std::min(n, text.size() - at);
}

}  // namespace pilum
