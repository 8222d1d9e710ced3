// Compaction: plans which parts become one, does plans, and finishes those that others left. Any number of processes may
// do so at once (docs/adr/0015-plans.md). Used by part_store. Not thread-safe.
#pragma once

#include "pilum/part/part_files.h"
#include "pilum/part/part_store.h"

namespace pilum {

Result<CompactResult> Compact(const DatasetFiles& files, const CompactOptions& options, ReadContext& ctx);

}  // namespace pilum
