// Bitmaps as 64-bit words, lowest bit first: what the levels of lists become. For encoding/. Bits past the last one of a
// bitmap are zero.
#pragma once

#include <cstdint>
#include <vector>

namespace pilum::bits {

enum class Kernel { kBest, kScalar };  // for tests and benchmarks

inline uint64_t Words(uint64_t bits) { return (bits + 63) / 64; }

// How many of the bits [from, to) are set.
uint64_t Count(const uint64_t* words, uint64_t from, uint64_t to);
// Place of the i-th set bit at or after word `*word`, where `*before` bits are set before it; both move on.
uint64_t Select(const uint64_t* words, uint64_t i, uint64_t* word, uint64_t* before);
// Puts bits [first, first + n) of `from` behind the `at` bits of `to`, which grows.
void Append(std::vector<uint64_t>* to, uint64_t at, const uint64_t* from, uint64_t first, uint64_t n);
// Bits of `words` where `keep` has one, side by side; `out` has room for as many words. Returns how many.
uint64_t Compress(const uint64_t* words, const uint64_t* keep, uint64_t num_words, uint64_t* out,
                  Kernel kernel = Kernel::kBest);
// For each set bit of `starts`, in order: how many bits of `visible` (null: all) lie before it. `out` has room for 16
// more. Returns how many starts there are.
uint64_t Offsets(const uint64_t* starts, const uint64_t* visible, uint64_t num_words, int32_t* out,
                 Kernel kernel = Kernel::kBest);
uint64_t Offsets(const uint64_t* starts, const uint64_t* visible, uint64_t num_words, int64_t* out,
                 Kernel kernel = Kernel::kBest);
// FastLanes: 1,024 16-bit values packed at one bit, in order. `in` holds 128 bytes; out: 16 words.
void Unpack1024(const uint8_t* in, uint64_t* out);

}  // namespace pilum::bits
