// An older version becomes the newest again. Called by cli and python.
#pragma once

#include "pilum/change/change.h"

namespace pilum {

// `table`: open at the version to restore. Rows, schema, config and indices are as they were then; what others committed
// since stays in the history.
Result<Committed> RestoreTable(WritableTable table, const ChangeOptions& options, ReadContext& ctx);

}  // namespace pilum
