// Text by code points: folding, counting. Called by query.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pilum {

// Unicode simple case folding, code point by code point, of a table of our own (fold_case_data.h). Bytes that are not UTF-8 are
// kept as they are.
uint32_t FoldCodePoint(uint32_t point);
std::string FoldCase(std::string_view text);
// The well-formed UTF-8 sequence of two bytes or more that begins at `at`; size 0: none does.
struct CodePoint {
  uint32_t value = 0;
  size_t size = 0;
};
CodePoint DecodeCodePoint(std::string_view text, size_t at);
void AppendUtf8(uint32_t point, std::string* out);
int64_t CountCodePoints(std::string_view text);
// Bytes of the code point at `at` (1 for a byte that starts none).
size_t CodePointSize(std::string_view text, size_t at);

}  // namespace pilum
