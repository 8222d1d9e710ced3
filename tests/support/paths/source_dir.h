// Where the checkout lies. Told by one small source file a test binary, so that every other object is the same in all
// checkouts and the compiler cache serves them.
#pragma once

#include <string>

namespace pilum::testing {

std::string SourceDir();

}  // namespace pilum::testing
