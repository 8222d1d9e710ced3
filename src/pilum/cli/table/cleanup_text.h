// What a clean-up would do, as text and as JSON. Called by space.cc, cleanup.cc and maintain.cc.
#pragma once

#include "pilum/cli/table/verb.h"
#include "pilum/inspect/space.h"
#include "pilum/table/folder/cleanup_plan.h"

namespace pilum::cli {

FileSum Going(const References& refs, const CleanupPlan& plan, ObjectKind kind);
// Each file that goes or stays, and why; then what keeps versions.
Status PrintPlan(const References& refs, const CleanupPlan& plan);
// `files`: with each file.
Json PlanJson(const References& refs, const CleanupPlan& plan, bool files);

}  // namespace pilum::cli
