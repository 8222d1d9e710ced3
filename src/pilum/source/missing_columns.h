// Columns that a unit lacks are NULLs, and NULLs take memory too. Used by part and table.
#pragma once

#include <arrow/type_fwd.h>

#include "pilum/file/file_reader.h"

namespace pilum {

// Rows of NULLs in place of what the unit lacks are bounded in bytes as rows of its file are. `wanted`: what a batch
// has; `own`: the columns of the unit.
BatchLimits LimitsWithMissing(BatchLimits limits, const arrow::Schema& wanted, const arrow::Schema& own);

}  // namespace pilum
