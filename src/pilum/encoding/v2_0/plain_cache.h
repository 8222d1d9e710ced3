// Buffers of a 2.0 file that are compressed as a whole, decompressed: the last ones used, so that a scan decompresses each
// once however many units it reads a page in. One for each open file. Thread-safe.
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include <arrow/buffer.h>

#include "pilum/base/types.h"

namespace pilum::v2_0 {

class PlainCache {
 public:
  // Bytes kept, at most; a buffer of more than half of them is not.
  explicit PlainCache(uint64_t capacity) : capacity_(capacity) {}

  bool Takes(uint64_t size) const { return size <= capacity_ / 2; }
  // `stored`: where in the file the compressed bytes are. Null: not here.
  BufferPtr Find(ByteRange stored) {
    std::lock_guard lock(mutex_);
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (it->stored != stored) continue;
      entries_.splice(entries_.begin(), entries_, it);
      return entries_.front().plain;
    }
    return nullptr;
  }
  void Add(ByteRange stored, BufferPtr plain) {
    std::lock_guard lock(mutex_);
    for (const Entry& e : entries_) {
      if (e.stored == stored) return;
    }
    used_ += static_cast<uint64_t>(plain->size());
    entries_.push_front({stored, std::move(plain)});
    while (used_ > capacity_) {
      used_ -= static_cast<uint64_t>(entries_.back().plain->size());
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
  const uint64_t capacity_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // last used first
  uint64_t used_ = 0;
};

}  // namespace pilum::v2_0
