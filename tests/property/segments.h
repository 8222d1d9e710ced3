// Random datasets of many parts whose texts have dictionaries of words, with segments and bundles of any age over them.
#pragma once

#include "tests/support/random_table.h"

namespace pilum::testing {

// One dataset, some questions. Throws std::runtime_error that says what was asked, wanted and got.
void CheckSegments(Random& rng);

}  // namespace pilum::testing
