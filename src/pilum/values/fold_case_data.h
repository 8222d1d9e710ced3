// Inside values: Unicode 15.0 simple case folding. A table of our own, so that nothing here loads ICU; text_test.cc compares
// every code point with ICU's.
#pragma once

#include <array>
#include <cstdint>

namespace pilum {

// Every `step`-th code point from first to last folds to itself + delta; the others of the range to themselves.
struct FoldRange {
  uint32_t first, last;
  int32_t delta;
  uint32_t step;
};
extern const std::array<FoldRange, 202> kFoldRanges;  // ascending, apart

}  // namespace pilum
