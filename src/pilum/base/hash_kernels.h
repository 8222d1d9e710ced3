// BLAKE3's kernels, for hash.cc and its test only: hash many equal-sized inputs at once, scalar or 8 at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pilum::blake3 {

inline constexpr size_t kChunk = 1024;
inline constexpr size_t kMaxSubtree = 64;  // chunks hashed in one go
inline constexpr uint32_t kChunkStart = 1, kChunkEnd = 2, kParent = 4, kRoot = 8;

extern const uint32_t kIv[8];

// Message word order of each round: the published permutation applied 0 to 6 times.
inline constexpr uint8_t kSchedule[7][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8},
    {3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1}, {10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6},
    {12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4}, {9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7},
    {11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13},
};

void CompressPortable(uint32_t cv[8], const uint8_t block[64], uint64_t counter, uint32_t block_len, uint32_t flags);

// Chaining values of `count` inputs of `blocks` whole 64-byte blocks; input i has counter + i where count_up. out: 8
// words each.
using HashManyFn = void (*)(const uint8_t* const* inputs, size_t count, size_t blocks, uint64_t counter, bool count_up,
                            uint32_t flags, uint32_t first_flag, uint32_t last_flag, uint32_t* out);
void HashManyPortable(const uint8_t* const* inputs, size_t count, size_t blocks, uint64_t counter, bool count_up,
                      uint32_t flags, uint32_t first_flag, uint32_t last_flag, uint32_t* out);
#if defined(__x86_64__)
void HashManyAvx2(const uint8_t* const* inputs, size_t count, size_t blocks, uint64_t counter, bool count_up,
                  uint32_t flags, uint32_t first_flag, uint32_t last_flag, uint32_t* out);
#endif
HashManyFn ChooseHashMany();  // the one dispatch point

}  // namespace pilum::blake3
