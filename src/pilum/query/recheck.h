// Recheck: decide rows by the predicate itself. What no index can get wrong.
#pragma once

#include <arrow/type_fwd.h>

#include "pilum/base/row_set.h"
#include "pilum/query/predicate.h"

namespace pilum {

// TRUE rows of a batch, as positions in it: ascending, disjoint runs.
// `order`: of its parts, see eval_order.h; null: as written.
Result<RowSet> Recheck(const BoundPredicate& predicate, const arrow::RecordBatch& batch, EvalOrder* order,
                       ReadContext& ctx);

// Positions in a batch -> rows of the unit; `rows` are the batch's row numbers.
RowSet PositionsToRows(const RowSet& positions, const RowSet& rows);

}  // namespace pilum
