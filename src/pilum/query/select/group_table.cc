#include "pilum/query/select/group_table.h"

#include <algorithm>

#include <xxhash.h>

namespace pilum {

uint32_t GroupTable::Find(std::string_view key, bool* fresh) {
  const uint64_t hash = XXH3_64bits(key.data(), key.size());
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  for (; slots_[at] != kFree; at = (at + 1) & mask) {
    const uint32_t group = slots_[at];
    if (groups_[group].hash == hash && this->key(group) == key) {
      *fresh = false;
      return group;
    }
  }
  const auto group = static_cast<uint32_t>(groups_.size());
  slots_[at] = group;
  groups_.push_back({hash, Keep(key)});
  if (groups_.size() * 2 > slots_.size()) Grow();
  *fresh = true;
  return group;
}

uint32_t GroupTable::Lookup(std::string_view key) const {
  const uint64_t hash = XXH3_64bits(key.data(), key.size());
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask; slots_[at] != kFree; at = (at + 1) & mask) {
    const uint32_t group = slots_[at];
    if (groups_[group].hash == hash && this->key(group) == key) return group;
  }
  return kNone;
}

const char* GroupTable::Keep(std::string_view key) {
  const auto size = static_cast<uint32_t>(key.size());  // of one row: a batch's rows are far below 4 GiB
  const size_t bytes = sizeof(size) + key.size();
  if (bytes > left_) {
    left_ = std::max(kBlock, bytes);
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(left_));
    block_bytes_ += left_;
    next_ = blocks_.back().get();
  }
  char* out = next_;
  std::memcpy(out, &size, sizeof(size));
  if (size > 0) std::memcpy(out + sizeof(size), key.data(), key.size());
  next_ += bytes;
  left_ -= bytes;
  return out;
}

void GroupTable::Grow() {
  std::vector<uint32_t> slots(slots_.size() * 2, kFree);
  const size_t mask = slots.size() - 1;
  for (uint32_t group = 0; group < groups_.size(); ++group) {
    size_t at = groups_[group].hash & mask;
    while (slots[at] != kFree) at = (at + 1) & mask;
    slots[at] = group;
  }
  slots_ = std::move(slots);
}

}  // namespace pilum
