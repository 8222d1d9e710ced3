#include "pilum/query/select/group_table.h"

#include <xxhash.h>

namespace pilum {

uint32_t GroupTable::Find(std::string_view key, bool* fresh) {
  const uint64_t hash = XXH3_64bits(key.data(), key.size());
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  for (; slots_[at] != kFree; at = (at + 1) & mask) {
    const uint32_t group = slots_[at];
    if (hashes_[group] == hash && this->key(group) == key) {
      *fresh = false;
      return group;
    }
  }
  const auto group = static_cast<uint32_t>(hashes_.size());
  slots_[at] = group;
  hashes_.push_back(hash);
  bytes_.append(key);
  ends_.push_back(bytes_.size());
  if (hashes_.size() * 2 > slots_.size()) Grow();
  *fresh = true;
  return group;
}

void GroupTable::Grow() {
  std::vector<uint32_t> slots(slots_.size() * 2, kFree);
  const size_t mask = slots.size() - 1;
  for (uint32_t group = 0; group < hashes_.size(); ++group) {
    size_t at = hashes_[group] & mask;
    while (slots[at] != kFree) at = (at + 1) & mask;
    slots[at] = group;
  }
  slots_ = std::move(slots);
}

}  // namespace pilum
