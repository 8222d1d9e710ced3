// Buffers of a 2.0 file that are compressed as a whole, decompressed: the last ones used, so that a scan decompresses each
// once however many units it reads a page in. One for each open file. Thread-safe.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <arrow/buffer.h>

#include "pilum/base/types.h"

namespace pilum::v2_0 {

class PlainCache {
 public:
  // Bytes kept, at most, with what keeps them; a buffer of more than half of them is not.
  explicit PlainCache(uint64_t capacity) : capacity_(capacity) {}

  bool Takes(uint64_t size) const { return size <= capacity_ / 2; }
  // `stored`: where in the file the compressed bytes are. Null: not here.
  BufferPtr Find(ByteRange stored) {
    std::lock_guard lock(mutex_);
    auto it = places_.find(stored.offset);
    if (it == places_.end() || it->second->stored != stored) return nullptr;
    entries_.splice(entries_.begin(), entries_, it->second);
    return entries_.front().plain;
  }
  void Add(ByteRange stored, BufferPtr plain) {
    std::lock_guard lock(mutex_);
    // Two that begin at one place are of a damaged file: the first is kept.
    if (!places_.try_emplace(stored.offset).second) return;
    used_ += CostOf(*plain);
    entries_.push_front({stored, std::move(plain)});
    places_[stored.offset] = entries_.begin();
    while (used_ > capacity_) {
      used_ -= CostOf(*entries_.back().plain);
      places_.erase(entries_.back().stored.offset);
      entries_.pop_back();
    }
  }
  uint64_t bytes() const {
    std::lock_guard lock(mutex_);
    return used_;
  }

 private:
  struct Entry {
    ByteRange stored;
    BufferPtr plain;
  };
  static constexpr uint64_t kEntryCost = 256;  // what keeps a buffer: many are of a few bytes
  static uint64_t CostOf(const arrow::Buffer& plain) { return static_cast<uint64_t>(plain.size()) + kEntryCost; }

  const uint64_t capacity_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;                                         // last used first
  std::unordered_map<uint64_t, std::list<Entry>::iterator> places_;  // by the offset in the file
  uint64_t used_ = 0;
};

}  // namespace pilum::v2_0
