// Narrow: which rows of one kept unit might match, which do for certain. Called by plan after prune; reads the index
// sections that the probes need, never the data file.
#pragma once

#include "pilum/query/predicate.h"
#include "pilum/source/snapshot.h"

namespace pilum {

// certain ⊆ rows where the predicate is TRUE ⊆ possible. (maybe_null of the answer says nothing: nobody above asks.)
// Without `use_index` only constants narrow.
Result<Candidates> Narrow(const BoundPredicate::Node& predicate, const Unit& unit, bool use_index, ReadContext& ctx);

}  // namespace pilum
