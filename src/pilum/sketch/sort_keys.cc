#include "pilum/sketch/sort_keys.h"

#include <algorithm>
#include <array>
#include <utility>

namespace pilum {
namespace {

constexpr size_t kFew = 192;
constexpr uint64_t kSign = uint64_t{1} << 63;

}  // namespace

void SortKeys(std::vector<int64_t>* keys) {
  const size_t n = keys->size();
  if (n < kFew || n > UINT32_MAX) {
    std::sort(keys->begin(), keys->end());
    return;
  }
  std::array<std::array<uint32_t, 256>, 8> counts = {};
  for (int64_t key : *keys) {
    const uint64_t k = static_cast<uint64_t>(key) ^ kSign;
    for (int byte = 0; byte < 8; ++byte) ++counts[byte][k >> (8 * byte) & 0xFF];
  }
  std::vector<int64_t> other(n);
  for (int byte = 0; byte < 8; ++byte) {
    auto& count = counts[byte];
    const uint64_t first = (static_cast<uint64_t>(keys->front()) ^ kSign) >> (8 * byte) & 0xFF;
    if (count[first] == n) continue;
    uint32_t at = 0;
    for (uint32_t& c : count) at += std::exchange(c, at);
    const uint64_t flip = byte == 7 ? 0x80 : 0;
    for (int64_t key : *keys) other[count[(static_cast<uint64_t>(key) >> (8 * byte) & 0xFF) ^ flip]++] = key;
    keys->swap(other);
  }
}

}  // namespace pilum
