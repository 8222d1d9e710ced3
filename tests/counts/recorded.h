// Costs are held against files of bench/counts, to the letter. Where a change is meant: PILUM_UPDATE_COUNTS=1
// build/release/tests/pilum_counts_test writes them anew, and the commit shows the difference.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/paths/source_dir.h"

namespace pilum::testing {

inline void ExpectRecorded(const std::string& file, const std::string& got) {
  const std::string path = SourceDir() + "/bench/counts/" + file;
  if (std::getenv("PILUM_UPDATE_COUNTS")) {
    ASSERT_TRUE(std::ofstream(path) << got) << path;
  }
  std::stringstream want;
  want << std::ifstream(path).rdbuf();
  EXPECT_EQ(got, want.str()) << "costs are not those of " << path;
}

}  // namespace pilum::testing
