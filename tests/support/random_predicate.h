// Random predicates as SQL text, each with its meaning on plain cells: three-valued, by docs/formats/sql.md, written
// without Pilum's parser, binder, values or kernels.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tests/support/random_table.h"

namespace pilum::testing {

using Truth = std::optional<bool>;  // nullopt: NULL

struct Predicate {
  std::string sql;
  std::function<Truth(const Row&)> holds;
};

// Over the columns of `table` (types as they stand there). depth 0: one condition.
Predicate MakeRandomPredicate(Random& rng, const RandomTable& table, int depth);

}  // namespace pilum::testing
