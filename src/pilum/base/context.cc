#include "pilum/base/context.h"

#include <sched.h>

#include <cstdlib>

#include "pilum/base/recycling_pool.h"

namespace pilum {

void ReadStats::AddDecoded(const std::string& column, uint64_t values) {
  std::lock_guard lock(mutex_);
  decoded_[column] += values;
}

std::map<std::string, uint64_t> ReadStats::decoded() const {
  std::lock_guard lock(mutex_);
  return decoded_;
}

uint64_t ReadStats::total_decoded() const {
  std::lock_guard lock(mutex_);
  uint64_t n = 0;
  for (const auto& [column, values] : decoded_) n += values;
  return n;
}

Status ReadContext::Check() const {
  if (stop.stop_requested()) return MakeError(ErrorKind::kCancelled, "cancelled");
  if (deadline && std::chrono::steady_clock::now() >= *deadline) {
    return MakeError(ErrorKind::kDeadline, "the deadline passed; allow more time or read less");
  }
  return Status::OK();
}

arrow::MemoryPool* ReadContext::memory_pool() const { return pool ? pool : DefaultReadPool(); }

int DefaultThreads() {
  if (const char* s = std::getenv("PILUM_THREADS")) {
    int n = std::atoi(s);
    if (n > 0) return n;
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return 1;
}

}  // namespace pilum
