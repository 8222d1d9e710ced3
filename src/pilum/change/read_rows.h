// Rows of a version by fragment and place, for operations that write them anew: updates, merges, compactions. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/file/file_reader.h"
#include "pilum/table/commit/rebase.h"
#include "pilum/table/table.h"

namespace pilum {

// All rows of these fragments that are not deleted, by place. kNotFound for a fragment that the version has not.
Result<TakenRows> LiveRows(const Table& table, const std::vector<uint64_t>& fragments, ReadContext& ctx);

// A batch, the fragment that it is of, and its rows' places there, ascending.
using TakeBatch = std::function<Status(uint64_t fragment, const RowSet& places, const arrow::RecordBatch& batch)>;
// Fragments in the manifest's order, rows in theirs. `columns`: also _rowid, _rowaddr and the versions by name. Memory: a
// batch, by `limits`. Deleted rows that are asked for come too. Blobs come as they
// would be written (moved_blobs.h).
Status ReadRows(const Table& table, const TakenRows& rows, const std::vector<FieldPath>& columns,
                const BatchLimits& limits, ReadContext& ctx, const TakeBatch& take);

// Every column of the table, as its rows are stored.
std::vector<FieldPath> AllColumns(const Table& table);

}  // namespace pilum
