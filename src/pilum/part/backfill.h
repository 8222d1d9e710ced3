// Sidecars of parts that lack them, rebuilt from the rows; the parts stay untouched. Used by part_store.
#pragma once

#include "pilum/part/part_files.h"
#include "pilum/part/part_store.h"

namespace pilum {

Result<BackfillResult> Backfill(const DatasetFiles& files, const BackfillOptions& options, ReadContext& ctx);

}  // namespace pilum
