// The few values that were kept last, by key, for all threads of a process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace pilum {

// Waits for nobody (a process that was forked while another thread was in here has that lock for ever): who does not get in
// finds nothing, and keeps nothing. Thread-safe.
template <typename Key, typename Value, size_t kMost>
class FewKept {
 public:
  // `key`: anything that a Key is compared with.
  template <typename Like>
  std::optional<Value> Find(const Like& key) const {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return std::nullopt;
    const auto at = Place(entries_, key);
    return at == entries_.end() ? std::nullopt : std::optional(at->second);
  }

  // In the place of what the key had; else of the oldest, where there are many.
  void Keep(Key key, Value value) {
    std::pair entry(std::move(key), std::move(value));  // holds what it takes the place of until after the lock
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    auto at = Place(entries_, entry.first);
    if (at == entries_.end() && entries_.size() < kMost) {
      entries_.push_back(std::move(entry));
      return;
    }
    if (at == entries_.end()) {
      at = entries_.begin() + static_cast<std::ptrdiff_t>(oldest_);
      oldest_ = (oldest_ + 1) % kMost;
    }
    std::swap(*at, entry);
  }

 private:
  template <typename Entries, typename Like>
  static auto Place(Entries& entries, const Like& key) {
    return std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.first == key; });
  }

  mutable std::mutex mutex_;
  std::vector<std::pair<Key, Value>> entries_;
  size_t oldest_ = 0;  // of a full list
};

}  // namespace pilum
