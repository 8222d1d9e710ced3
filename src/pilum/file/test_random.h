// For tests of files: the same numbers on every machine and of every standard library (xorshift64).
#pragma once

#include <cstdint>

namespace pilum {

struct TestRandom {
  uint64_t state = 88172645463325252ull;
  uint64_t Next() {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
  }
};

}  // namespace pilum
