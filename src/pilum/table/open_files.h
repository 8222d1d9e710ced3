// The data files of a version that are open: those opened last. A table of ten thousand fragments neither runs out of file
// descriptors nor fills the memory with what is held of small files. Thread-safe.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace pilum {

class OpenFiles {
 public:
  // A quarter of what the process may have, 256 at most.
  static size_t MostDescriptors() {
    rlimit limit{};
    const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
    return known ? static_cast<size_t>(std::clamp<rlim_t>(limit.rlim_cur / 4, 4, 256)) : 64;
  }
  static constexpr uint64_t kMostHeld = 64 << 20;  // bytes of small files, for takes
  static constexpr size_t kMostScanned = 32;       // small files that scans hold: they come by once

  enum class For { kScan, kTake };

  // Keeps `file` until enough others came after it; whoever reads it keeps it too. `held`: its bytes in memory, in place of a
  // descriptor; 0: it has one.
  void Keep(std::shared_ptr<const void> file, uint64_t held, For what) {
    std::vector<File> gone;  // closed once the lock is let go of
    std::lock_guard lock(mutex_);
    Queue& queue = held == 0 ? open_ : what == For::kScan ? scanned_ : taken_;
    queue.files.push_back({std::move(file), held});
    queue.bytes += held;
    while (queue.files.size() > queue.most || queue.bytes > kMostHeld) {
      queue.bytes -= queue.files.front().held;
      gone.push_back(std::move(queue.files.front()));
      queue.files.pop_front();
    }
  }

 private:
  struct File {
    std::shared_ptr<const void> file;
    uint64_t held;
  };
  struct Queue {
    size_t most;
    std::deque<File> files = {};
    uint64_t bytes = 0;
  };
  std::mutex mutex_;
  Queue open_{MostDescriptors()}, scanned_{kMostScanned}, taken_{SIZE_MAX};
};

}  // namespace pilum
