// GROUP BY: rows in, one row a group out. Used by run_select.cc.
#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/query/select/aggregate.h"
#include "pilum/query/select/group_table.h"

namespace pilum {

// Not thread-safe. Groups come out in the order of their first rows.
class Grouping {
 public:
  Grouping(const SelectTail& tail, arrow::MemoryPool* pool);
  // `in`: strict, over rows.
  Status Add(EvalContext& in);
  // A batch of tail.group_schema. Without GROUP BY: one row, always.
  Result<std::shared_ptr<arrow::RecordBatch>> Finish();
  uint64_t bytes() const;  // with what Finish takes

 private:
  Status FindGroups(const arrow::ArrayVector& keys, int64_t rows);
  Status KeepKeys(const arrow::ArrayVector& keys, const std::vector<int64_t>& fresh);

  const SelectTail& tail_;
  arrow::MemoryPool* pool_;
  GroupTable table_;
  std::vector<uint32_t> groups_;                // of the batch's rows
  std::vector<arrow::ArrayVector> key_chunks_;  // one a key: values of new groups, in order
  std::vector<std::unique_ptr<Accumulator>> accumulators_;
  uint64_t key_bytes_ = 0;
};

}  // namespace pilum
