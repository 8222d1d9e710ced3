// The fuzz targets: functions from bytes to nothing that must not crash, hang, read out of bounds or ask for memory out
// of proportion. Run by libFuzzer (libfuzzer_main.cc) and by fuzz_test.cc, which replays tests/fuzz/corpus and mutates.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pilum::fuzz {

struct Target {
  std::string name;   // of its folder in the corpus too
  bool page = false;  // reads a PageInput
  // 0: ran; -1: not an input of this target, not worth keeping. Aborts where a promise is broken.
  std::function<int(const uint8_t* data, size_t size)> run;
};

const std::vector<Target>& Targets();
std::vector<Target> TableTargets();  // those of table_targets.cc, which are among them

}  // namespace pilum::fuzz
