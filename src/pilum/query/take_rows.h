// Rows of a snapshot by their number. Called by python and cli.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/query/query.h"

namespace pilum {

// `rows`: numbers over all units in order, in any order and with repeats, which are kept; a number past the end is kUsage
// and names it. `columns` under `names`, at least one. One chunk a column; kMemory where one array cannot hold that.
Result<std::shared_ptr<arrow::Table>> TakeRows(const Snapshot& snapshot, const std::vector<FieldPath>& columns,
                                               const std::vector<std::string>& names, const std::vector<uint64_t>& rows,
                                               const ReadContext& ctx);

// What a bound SELECT, one without WHERE, groups, ORDER BY and LIMIT, makes of them: expressions.
Result<std::shared_ptr<arrow::Table>> TakeRows(const Snapshot& snapshot, const BoundQuery& query,
                                               const std::vector<uint64_t>& rows, const ReadContext& ctx);

}  // namespace pilum
