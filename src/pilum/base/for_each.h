// The same work for many things on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "pilum/base/status.h"

namespace pilum {

// f(i) for every i below n on up to `threads` threads, with at least `each` for a thread; the error of the lowest i that
// failed.
template <typename F>
Status ForEach(size_t n, int threads, F f, size_t each = 4) {
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  size_t failed_at = n;
  Status error;
  auto work = [&] {
    for (size_t i; !failed && (i = next++) < n;) {
      Status st = f(i);
      if (st.ok()) continue;
      failed = true;
      std::lock_guard lock(mutex);
      if (i < failed_at) {
        failed_at = i;
        error = std::move(st);
      }
    }
  };
  std::vector<std::jthread> helpers;
  const size_t wanted = std::min<size_t>(static_cast<size_t>(std::max(1, threads)), n / each + 1);
  for (size_t t = 1; t < wanted; ++t) helpers.emplace_back(work);
  work();
  helpers.clear();
  return error;
}

}  // namespace pilum
