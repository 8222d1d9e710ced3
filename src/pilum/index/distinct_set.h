// The distinct 64-bit hashes of a column, exactly, up to a cap; beyond it the set gives up and frees its memory. Hashes
// wait in a short queue while their slots are fetched into the cache: a large set is bound by memory otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace pilum {

class DistinctSet {
 public:
  explicit DistinctSet(uint64_t cap) : cap_(cap) {}
  bool overflowed() const { return overflowed_; }
  uint64_t size() const { return size_ + has_zero_; }  // after Flush

  void Insert(uint64_t hash) {
    if (overflowed_) return;
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)], 1);
    waiting_[num_waiting_++] = hash;
    if (num_waiting_ == waiting_.size()) Flush();
  }

  void Flush() {
    const size_t n = num_waiting_;
    num_waiting_ = 0;
    for (size_t i = 0; i < n && !overflowed_; ++i) InsertNow(waiting_[i]);
  }

  template <typename F>
  void ForEach(F f) const {  // after Flush
    if (has_zero_) f(uint64_t{0});
    for (uint64_t h : slots_) {
      if (h != 0) f(h);
    }
  }

 private:
  void InsertNow(uint64_t hash) {
    if (hash == 0) {
      has_zero_ = true;
      return;
    }
    if (slots_.empty()) slots_.resize(64, 0);
    const uint64_t mask = slots_.size() - 1;
    uint64_t at = hash & mask;
    for (; slots_[at] != 0; at = (at + 1) & mask) {
      if (slots_[at] == hash) return;
    }
    slots_[at] = hash;
    if (++size_ > cap_) {
      GiveUp();
    } else if (size_ * 2 > slots_.size()) {
      Grow();
    }
  }
  void Grow() {
    std::vector<uint64_t> old(slots_.size() * 2, 0);
    old.swap(slots_);
    for (uint64_t hash : old) {
      if (hash == 0) continue;
      uint64_t at = hash & (slots_.size() - 1);
      while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = hash;
    }
  }
  void GiveUp() {
    overflowed_ = true;
    std::vector<uint64_t>().swap(slots_);
    size_ = 0;
    has_zero_ = false;
  }

  uint64_t cap_;
  std::vector<uint64_t> slots_;  // 0 = free; a power of two
  std::array<uint64_t, 32> waiting_;
  size_t num_waiting_ = 0;
  uint64_t size_ = 0;
  bool has_zero_ = false, overflowed_ = false;
};

}  // namespace pilum
