// ORDER BY: batches in, one sorted batch out; ties stay in the order they came. Used by run_select.cc.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/query/select/row_key.h"

namespace pilum {

// Not thread-safe.
class Sorter {
 public:
  // `keep`: only the first so many rows are wanted (LIMIT + OFFSET); others are dropped as they come.
  Sorter(std::optional<uint64_t> keep, arrow::MemoryPool* pool) : keep_(keep), pool_(pool) {}
  Status Add(std::shared_ptr<arrow::RecordBatch> batch, RowKeys keys);
  // Drops the rows that are not wanted now, where it is known which: `keep`.
  Status Trim();
  // Null where no row came.
  Result<std::shared_ptr<arrow::RecordBatch>> Finish();
  uint64_t bytes() const;  // with what Finish takes

 private:
  struct Row {
    uint64_t start;  // of the key: its first bytes, to be compared as a number
    std::string_view key;
    uint32_t batch, row;
  };
  std::vector<Row> Sorted() const;  // the first keep_
  // Takes the columns out of batches_ as they are gathered.
  Result<std::shared_ptr<arrow::RecordBatch>> Gather(const std::vector<Row>& rows);
  void Hold(std::shared_ptr<arrow::RecordBatch> batch, RowKeys keys);

  std::optional<uint64_t> keep_;
  arrow::MemoryPool* pool_;
  arrow::RecordBatchVector batches_;
  std::vector<RowKeys> keys_;  // one a batch
  uint64_t rows_ = 0, bytes_ = 0;
  std::vector<uint64_t> column_bytes_;  // of the batches
};

}  // namespace pilum
