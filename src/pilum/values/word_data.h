// Code points that words are made of: Alphabetic, and the general categories Nd, Nl and No, of Unicode 15.0. Frozen with
// version 1 of the `words` section (docs/formats/sidecar.md). Used by values/words.cc only.
#pragma once

#include <array>
#include <cstdint>

namespace pilum {

struct WordRange {
  uint32_t first, last;
};
extern const std::array<WordRange, 809> kWordRanges;  // ascending

}  // namespace pilum
