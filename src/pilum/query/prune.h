// Prune: drop a whole unit, by proof only. Called by plan for each unit in turn; reads at most the unit's prune header.
#pragma once

#include "pilum/query/predicate.h"
#include "pilum/source/snapshot.h"

namespace pilum {

// Can any row of the unit make the predicate TRUE? false only by proof; unknown is true. Without `use_index` only
// constants are proof.
Result<bool> MayMatch(const BoundPredicate::Node& predicate, const Unit& unit, bool use_index, ReadContext& ctx);

// What MayMatch may ask any unit, for Snapshot::Prepare.
std::vector<Probe> ProbesOf(const BoundPredicate::Node& predicate);

}  // namespace pilum
