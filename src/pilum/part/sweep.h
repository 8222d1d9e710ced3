// Sweep: removes what no reader needs any more. The only thing in the store that removes anything. Used by part_store.
#pragma once

#include "pilum/part/part_files.h"
#include "pilum/part/part_store.h"

namespace pilum {

Result<SweepResult> Sweep(const DatasetFiles& files, const SweepOptions& options, ReadContext& ctx);

}  // namespace pilum
