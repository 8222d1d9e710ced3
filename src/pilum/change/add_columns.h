// Columns added to a table, with values for its rows. Called by cli and python.
#pragma once

#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/change/write_columns.h"

namespace pilum {

// kUsage: a column of such a name exists, or there are fewer or more values than rows. What is cast from NULL alone needs no
// file. Data files of version 0.1 get none beside them (kUnsupported).
Result<Committed> AddColumns(WritableTable table, const std::vector<StoredExpression>& expressions,
                             const BatchLimits& limits, const ChangeOptions& options, ReadContext& ctx);
// `values`: as many rows as the table has, in its order, without deleted ones; they are read once. kRetry: others changed
// the rows meanwhile.
Result<Committed> AddColumns(WritableTable table, arrow::RecordBatchReader& values, const ChangeOptions& options,
                             ReadContext& ctx);

// The same of any source.
Result<Committed> AddColumns(WritableTable table, ColumnValues& values, const ChangeOptions& options, ReadContext& ctx);

// Columns like these, of whatever source, on a version.
Result<ColumnPlan> PlanAdded(const ChangeBase& base, const arrow::Schema& columns);

}  // namespace pilum
