// Command-line budget of the random tests: --seconds N (default 5), --cases N, --seed S. Time, not a count, bounds a run in CI;
// the seed is printed so that a failure can be repeated.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace pilum::test {

struct Budget {
  double seconds = 5;
  uint64_t cases = ~0ull;
  uint64_t seed = std::random_device{}();
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  uint64_t done = 0;

  void Parse(int argc, char** argv) {
    bool timed = false;
    for (int i = 1; i + 1 < argc; ++i) {
      std::string a = argv[i];
      if (a == "--seconds") seconds = std::atof(argv[i + 1]), timed = true;
      if (a == "--cases") cases = std::strtoull(argv[i + 1], nullptr, 10);
      if (a == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
    }
    if (cases != ~0ull && !timed) seconds = 1e9;  // a count alone is not bounded by time
  }
  // One more case? Each call that says yes counts one.
  bool Next() {
    if (done >= cases || std::chrono::steady_clock::now() - start > std::chrono::duration<double>(seconds))
      return false;
    ++done;
    return true;
  }
  void Report(const char* what) const {
    std::printf("%s: %llu cases, seed %llu\n", what, static_cast<unsigned long long>(done),
                static_cast<unsigned long long>(seed));
    std::fflush(stdout);
  }
};

}  // namespace pilum::test
