// Engine work away from the GIL, with Ctrl-C heard. Called with the GIL held; see each function.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <thread>

#include <nanobind/nanobind.h>

#include "pilum/base/status.h"
#include "pilum/python/errors.h"

namespace pilum::python {

// Signals are delivered to Python code on the main thread only, so only there must long work watch for them. After a
// fork the forking thread is the child's main thread for the system and for Python alike.
bool OnMainThread();

// Runs Python's signal handlers; throws what they raise (KeyboardInterrupt). Cheap; does nothing off the main thread.
inline void CheckSignals() {
  if (PyErr_CheckSignals() != 0) RaisePending();
}

// Short work, of milliseconds: here, without the GIL.
template <typename F>
auto WithoutGil(F&& work) {
  nanobind::gil_scoped_release unlocked;
  return work();
}

// Long work: on a helper thread while this one, the main one, takes the GIL every 50 ms to run signal handlers. When
// one raises, `stop` is requested, the work is waited for (it must watch the stop token) and the exception is thrown,
// whatever the work gave. Off the main thread the work just runs here. No thread outlives the call, so a fork between
// calls is safe.
template <typename F>
auto Interruptibly(std::stop_source& stop, F&& work) {
  if (!OnMainThread()) return WithoutGil(work);
  std::optional<decltype(work())> result;
  std::mutex mutex;
  std::condition_variable ready;
  bool done = false;
  std::jthread helper([&] {
    auto guarded = [&]() -> decltype(work()) {
      try {
        return work();
      } catch (const std::bad_alloc&) {
        return MakeError(ErrorKind::kMemory, "out of memory");
      }
    };
    auto value = guarded();
    std::lock_guard lock(mutex);
    result.emplace(std::move(value));
    done = true;
    ready.notify_one();
  });
  for (;;) {
    {
      nanobind::gil_scoped_release unlocked;
      std::unique_lock lock(mutex);
      if (ready.wait_for(lock, std::chrono::milliseconds(50), [&] { return done; })) break;
    }
    if (PyErr_CheckSignals() == 0) continue;
    nanobind::python_error raised;  // takes the pending exception with it
    stop.request_stop();
    {
      nanobind::gil_scoped_release unlocked;
      helper.join();
    }
    throw raised;
  }
  helper.join();
  return std::move(*result);
}

}  // namespace pilum::python
