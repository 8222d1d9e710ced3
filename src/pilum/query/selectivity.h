// How many rows a test of a column may keep: from the column's statistics, or a guess. Estimates order the work; no answer
// depends on them.
#pragma once

#include <optional>

#include <arrow/type_fwd.h>

#include "pilum/index/column_stats.h"
#include "pilum/query/predicate.h"

namespace pilum {

// Shares of the rows, 0 to 1; what is left is FALSE.
struct Chances {
  double is_true = 1.0 / 3, is_null = 0;
  double is_false() const { return std::max(0.0, 1 - is_true - is_null); }
};

// The share of the values (no NULLs) of a column that lie in the set. `type`: the column's. Counted where the sketch of top
// values holds every value; else points by the distinct count beside the top values, ranges by quantiles or extremes.
double ShareIn(const ValueSet& set, const ColumnStats& stats, const arrow::DataType& type);
// Without statistics: by the shape of the set.
double GuessIn(const ValueSet& set);

// Of a leaf with a probe; nullopt: the statistics do not help.
std::optional<Chances> ChancesOf(const Probe& probe, const ColumnStats& stats, const arrow::DataType& type);
// Of AND, OR and NOT, from their children's, as if these did not depend on each other.
Chances Combined(BoundPredicate::Node::Kind kind, const std::vector<Chances>& children);

}  // namespace pilum
