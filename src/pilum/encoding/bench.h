// Micro-benchmarks of kernels: x_bench.cc beside x.cc, one binary a layer (pilum_encoding_bench), one JSON line a case.
//   PILUM_BENCH(Name) { bench::Measure("case", bytes_out, [&] { ... }); }
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace pilum::bench {

struct Entry {
  const char* name;
  void (*run)();
};

inline std::vector<Entry>& Entries() {
  static std::vector<Entry> entries;
  return entries;
}

struct Register {
  Register(const char* name, void (*run)()) { Entries().push_back({name, run}); }
};

inline double ThreadSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// The best of seven turns of some milliseconds: what the kernel does when nobody disturbs it.
template <typename F>
void Measure(const std::string& what, double bytes, F&& run) {
  run();
  double best = 1e9;
  for (int turn = 0; turn < 7; ++turn) {
    const double start = ThreadSeconds();
    double end = start;
    int runs = 0;
    while (end - start < 0.005) {
      for (int i = 0; i < 16; ++i) run();
      runs += 16;
      end = ThreadSeconds();
    }
    best = std::min(best, (end - start) / runs);
  }
  fmt::print("{{\"case\": \"{}\", \"ns\": {:.1f}, \"gb_per_s\": {:.2f}}}\n", what, best * 1e9, bytes / best * 1e-9);
}

// The compiler may not leave out what fills `p`.
inline void Keep(const void* p) { asm volatile("" ::"r"(p) : "memory"); }

#define PILUM_BENCH(name)                                                    \
  static void Bench##name();                                                 \
  static const ::pilum::bench::Register register_##name(#name, Bench##name); \
  static void Bench##name()

}  // namespace pilum::bench
