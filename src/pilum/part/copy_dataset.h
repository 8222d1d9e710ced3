// A dataset into another place, by name. Used by part_store.
#pragma once

#include "pilum/part/part_files.h"
#include "pilum/part/part_store.h"

namespace pilum {

Result<CopyResult> CopyDataset(const DatasetFiles& from, const DatasetFiles& to, ReadContext& ctx);

}  // namespace pilum
