#include "pilum/sketch/sort_keys.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace pilum {
namespace {

constexpr size_t kFew = 192, kMany = 16 * 1024;
constexpr uint64_t kSign = uint64_t{1} << 63;
constexpr int kUpperBits = 24;

// By the bytes of key >> shift, `passes` of them, the last first. Keys that agree there keep their order.
void SortByBytes(std::vector<int64_t>* keys, int shift, int passes) {
  const size_t n = keys->size();
  std::array<std::array<uint32_t, 256>, 8> counts = {};
  for (int64_t key : *keys) {
    const uint64_t k = (static_cast<uint64_t>(key) ^ kSign) >> shift;
    for (int byte = 0; byte < passes; ++byte) ++counts[byte][k >> (8 * byte) & 0xFF];
  }
  std::vector<int64_t> other(n);
  for (int byte = 0; byte < passes; ++byte) {
    auto& count = counts[byte];
    const int at_bit = shift + 8 * byte;
    if (count[(static_cast<uint64_t>(keys->front()) ^ kSign) >> at_bit & 0xFF] == n) continue;
    uint32_t at = 0;
    for (uint32_t& c : count) at += std::exchange(c, at);
    for (int64_t key : *keys) other[count[(static_cast<uint64_t>(key) ^ kSign) >> at_bit & 0xFF]++] = key;
    keys->swap(other);
  }
}

// Nearly sorted: each key goes back a little. False: they are not, and it was given up.
bool InsertionSort(std::vector<int64_t>* keys) {
  int64_t* k = keys->data();
  uint64_t left = 4 * keys->size();
  for (size_t i = 1; i < keys->size(); ++i) {
    const int64_t key = k[i];
    size_t at = i;
    for (; at > 0 && k[at - 1] > key; --at) k[at] = k[at - 1];
    k[at] = key;
    if (i - at > left) return false;
    left -= i - at;
  }
  return true;
}

}  // namespace

void SortKeys(std::vector<int64_t>* keys) {
  const size_t n = keys->size();
  if (n < kFew || n > UINT32_MAX) {
    std::sort(keys->begin(), keys->end());
    return;
  }
  uint64_t differ = 0;
  for (int64_t key : *keys) differ |= static_cast<uint64_t>(key ^ keys->front());
  const int bits = std::bit_width(differ);
  if (n > kMany || bits <= kUpperBits) return SortByBytes(keys, 0, (bits + 7) / 8);
  // A few thousand keys seldom agree in the upper 24 of the bits in which they differ: the rest is soon put right.
  SortByBytes(keys, bits - kUpperBits, kUpperBits / 8);
  if (!InsertionSort(keys)) SortByBytes(keys, 0, (bits + 7) / 8);
}

}  // namespace pilum
