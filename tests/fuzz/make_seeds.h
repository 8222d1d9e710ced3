// Makes the seeds of tests/fuzz/corpus from Lance files.
#pragma once

#include <string>

namespace pilum::fuzz {

// A few small inputs for each target, each with another encoding or type, from the .lance files below `from`, into a
// folder a target below `to`. Returns how many.
int MakeSeeds(const std::string& from, const std::string& to);

}  // namespace pilum::fuzz
