// Where the values of new columns come from: the live rows of fragments, one fragment after the other. Called by
// write_columns.cc; each kind of source is made by the operation that has it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/query/select/stored_columns.h"
#include "pilum/table/table.h"

namespace pilum {

class ColumnValues {
 public:
  virtual ~ColumnValues() = default;
  // Of the columns, for rows of `table`.
  virtual Result<std::shared_ptr<arrow::Schema>> Schema(const Table& table, ReadContext& ctx) = 0;
  // From now on values for these fragments of `table`. kRetry: they were read already and cannot be read again.
  virtual Status Begin(const Table& table, const std::vector<uint64_t>& fragments, ReadContext& ctx) = 0;
  // For the next rows, cut anywhere; nullptr: there are no more.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
};

// An expression a column, over the columns of each row.
std::unique_ptr<ColumnValues> ValuesOfSql(std::vector<StoredExpression> expressions, const BatchLimits& limits);
// Rows as they come. `reader` must outlive it.
std::unique_ptr<ColumnValues> ValuesOfReader(arrow::RecordBatchReader* reader);

}  // namespace pilum
