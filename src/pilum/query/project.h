// Project: from the columns that were read to the columns that were asked for, by path, under their output names.
#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/row_set.h"
#include "pilum/query/query.h"

namespace pilum {

// The schema of the answer: types are the snapshot's, names are query.output_names.
Result<std::shared_ptr<arrow::Schema>> OutputSchema(const arrow::Schema& snapshot, const BoundQuery& query);

// One array a path, as a batch of `schema`. The batch may hold more columns, and whole columns for nested paths.
Result<std::shared_ptr<arrow::RecordBatch>> Project(const arrow::RecordBatch& batch,
                                                    const std::vector<FieldPath>& columns,
                                                    const std::shared_ptr<arrow::Schema>& schema,
                                                    arrow::MemoryPool* pool);

// The rows at these positions of a batch, in order; shares memory where they are one run.
Result<std::shared_ptr<arrow::RecordBatch>> Select(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                   const RowSet& positions, arrow::MemoryPool* pool);

}  // namespace pilum
