// Doing a plan: its inputs' rows into its one output. Anyone may, at any time, as often as they like: what counts is what
// a listing shows (docs/adr/0015-plans.md). Used inside part/ only.
#pragma once

#include <optional>
#include <string>

#include "pilum/part/merge_plan.h"
#include "pilum/part/part_spool.h"
#include "pilum/part/store_view.h"

namespace pilum {

struct PlanDone {
  std::string name;  // of the merged part; empty: it was done already
  uint64_t rows = 0, bytes = 0;
};

// The loaded inputs of a plan, in its order; nullopt: one is not in the view (so the plan is done, or the view is old).
std::optional<std::vector<LoadedPart>> InputsOf(const MergePlan& plan, const StoreView& view);

Result<PlanDone> DoPlan(const DatasetFiles& files, const MergePlan& plan, const std::vector<LoadedPart>& inputs,
                        ReadContext& ctx);

}  // namespace pilum
