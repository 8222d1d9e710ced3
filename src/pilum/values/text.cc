#include "pilum/values/text.h"

#include <algorithm>

#include "pilum/values/fold_case_data.h"

namespace pilum {
void AppendUtf8(uint32_t point, std::string* out) {
  auto trail = [&](int shift) { out->push_back(static_cast<char>(0x80 | (point >> shift & 0x3F))); };
  if (point < 0x80) {
    out->push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out->push_back(static_cast<char>(0xC0 | point >> 6));
  } else if (point < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | point >> 12));
    trail(6);
  } else {
    out->push_back(static_cast<char>(0xF0 | point >> 18));
    trail(12);
    trail(6);
  }
  if (point >= 0x80) trail(0);
}

CodePoint DecodeCodePoint(std::string_view text, size_t at) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const uint8_t lead = byte(0);
  const size_t size = lead >= 0xF8 ? 0 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (size == 0 || size > text.size() - at) return {};
  uint32_t point = lead & (0x7Fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    point = point << 6 | (byte(i) & 0x3Fu);
  }
  const bool overlong = (size == 3 && point < 0x800) || (size == 4 && point < 0x10000);
  if (overlong || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return {};
  return {point, size};
}

uint32_t FoldCodePoint(uint32_t point) {
  auto range = std::lower_bound(kFoldRanges.begin(), kFoldRanges.end(), point,
                                [](const FoldRange& r, uint32_t p) { return r.last < p; });
  if (range == kFoldRanges.end() || point < range->first || (point - range->first) % range->step != 0) return point;
  return point + static_cast<uint32_t>(range->delta);
}

std::string FoldCase(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<uint8_t>(text[i]);
    const CodePoint at = byte < 0x80 ? CodePoint{} : DecodeCodePoint(text, i);
    if (at.size == 0) {
      out.push_back(static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte));
      ++i;
      continue;
    }
    AppendUtf8(FoldCodePoint(at.value), &out);
    i += at.size;
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
