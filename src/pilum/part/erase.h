// Erasure and retention: rows that are not to count any more. Used by part_store.
#pragma once

#include "pilum/part/part_files.h"
#include "pilum/part/part_store.h"

namespace pilum {

Result<EraseResult> EraseRows(const DatasetFiles& files, const BindRowMatcher& bind, const EraseOptions& options,
                              ReadContext& ctx);

}  // namespace pilum
