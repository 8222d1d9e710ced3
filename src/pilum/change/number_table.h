// Whole numbers to small numbers: 0, 1, … in order of first appearance. For keys that are one column of them. Open addressing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace pilum {

class NumberTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t Find(int64_t value, bool* fresh) {
    size_t at = Slot(value);
    *fresh = slots_[at] == kNone;
    if (!*fresh) return slots_[at];
    const auto number = static_cast<uint32_t>(values_.size());
    slots_[at] = number;
    values_.push_back(value);
    least_ = std::min(least_, value);
    most_ = std::max(most_, value);
    if (values_.size() * 2 > slots_.size()) Grow();
    return number;
  }
  uint32_t Lookup(int64_t value) const {
    if (value < least_ || value > most_) return kNone;
    return slots_[Slot(value)];
  }

 private:
  // Where it is, or would be.
  size_t Slot(int64_t value) const {
    const size_t mask = slots_.size() - 1;
    size_t at = (static_cast<uint64_t>(value) * 0x9e3779b97f4a7c15U) >> shift_;
    while (slots_[at] != kNone && values_[slots_[at]] != value) at = (at + 1) & mask;
    return at;
  }
  void Grow() {
    slots_.assign(slots_.size() * 2, kNone);
    --shift_;
    for (uint32_t i = 0; i < values_.size(); ++i) slots_[Slot(values_[i])] = i;
  }

  std::vector<uint32_t> slots_ = std::vector<uint32_t>(64, kNone);
  int shift_ = 64 - 6;
  std::vector<int64_t> values_;
  int64_t least_ = std::numeric_limits<int64_t>::max(), most_ = std::numeric_limits<int64_t>::min();
};

}  // namespace pilum
