// ReadContext goes down with each read and comes back with its counts filled. No globals: what a read cost is what its
// context says. A context may be used by several threads of one read.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace pilum {

// Exact and deterministic for the same read of the same file. "Rows decoded" counts values that a codec materialised.
struct ReadStats {
  std::atomic<uint64_t> opens{0};     // objects opened: data files and sidecars
  std::atomic<uint64_t> requests{0};  // ranged reads issued, after coalescing
  std::atomic<uint64_t> bytes{0};     // bytes fetched
  void AddDecoded(const std::string& column, uint64_t values);
  std::map<std::string, uint64_t> decoded() const;  // per leaf column, dotted
  uint64_t total_decoded() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, uint64_t> decoded_;
};

// Which bytes are held against the checksums of a file that has them (docs/formats/checksums.md).
enum class Verify : uint8_t {
  kOff,
  kReads,  // all that reads fetch; of a mapped file each block the first time that a take touches it
  kAll,    // takes too anew each time: they read ranges, at several times their cost
};

struct ReadContext {
  ReadStats* stats = nullptr;         // may be null: nothing is counted
  arrow::MemoryPool* pool = nullptr;  // null: DefaultReadPool()
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::stop_token stop;  // a default token never stops
  int threads = 1;       // most threads this read may use (PILUM_THREADS)
  Verify verify = Verify::kReads;
  bool allow_unstable = false;  // open files of a version that may still change (2.3)

  // kDeadline or kCancelled once the read must stop; called before each fetch and each page.
  Status Check() const;
  arrow::MemoryPool* memory_pool() const;
};

// The thread count a command or module starts with: PILUM_THREADS where set and positive, else the CPUs this process may use.
int DefaultThreads();

}  // namespace pilum
