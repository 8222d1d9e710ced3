// Sums of doubles without error: a fixed-point number wide enough for all of them. So a sum does not depend on the order of
// its terms, merges exactly, and is rounded once, when it is asked for. After Neal, "Fast exact summation using small and
// large superaccumulators" (2015).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "pilum/base/bytes.h"

namespace pilum {

class ExactSum {
 public:
  void Add(double v);  // finite
  void Add(const ExactSum& other);
  double Rounded() const;  // to nearest, ties to even; infinite only where the true sum is too large
  bool operator==(const ExactSum& other) const { return Normal() == other.Normal(); }

  // Two numbers of 8 bits (the first chunk that is not 0, and how many follow), then that many chunks of 32 bits, little
  // endian, two's complement; the shortest form. 0 has no chunks.
  void AppendTo(std::string* out) const;
  static std::optional<ExactSum> Read(ByteCursor* in);  // nullopt: cut short or not the shortest form

 private:
  // Chunk i counts units of 2^(32 i - 1074). 66 hold any double, the others 2^62 of them.
  static constexpr size_t kChunks = 70;
  static constexpr uint32_t kCarryAfter = 1u << 29;
  using Chunks = std::array<int64_t, kChunks>;
  Chunks Normal() const;  // all in 0 to 2^32 - 1 but the highest, which has the sign

  Chunks chunks_ = {};
  uint32_t added_ = 0;  // terms since the last carrying
};

}  // namespace pilum
