// Sorts rows by some columns within bounded memory, however many there are: an external merge sort. Rows are gathered up to
// `run_bytes` (logical), sorted in memory, and spooled to a local file as one run; in the end the runs are merged. Rows of
// equal keys stay in the order in which they came, so the result depends on the rows alone. At most about three times
// run_bytes are held while rows come, and a few MiB a run while they go. Used by put and compaction. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/context.h"
#include "pilum/io/object_store.h"
#include "pilum/part/sort_key.h"

namespace pilum {

class RowSorter {
 public:
  static constexpr uint64_t kRunBytes = 256 << 20;
  RowSorter(std::shared_ptr<arrow::Schema> schema, std::vector<FieldPath> columns, uint64_t run_bytes = kRunBytes);
  ~RowSorter();

  Status Append(const std::shared_ptr<arrow::RecordBatch>& rows, ReadContext& ctx);
  // No more rows: the next ones in order, in the schema's types; null at the end.
  Result<std::shared_ptr<arrow::RecordBatch>> Next(ReadContext& ctx);

 private:
  class Run;
  Status AppendSome(const std::shared_ptr<arrow::RecordBatch>& rows, ReadContext& ctx);
  Result<arrow::RecordBatchVector> SortGathered(ReadContext& ctx);
  Status Spool(ReadContext& ctx);
  Status StartMerge(ReadContext& ctx);
  Result<std::shared_ptr<arrow::RecordBatch>> Merge(ReadContext& ctx);

  const std::shared_ptr<arrow::Schema> schema_;
  const std::vector<FieldPath> columns_;
  const uint64_t run_bytes_;
  arrow::RecordBatchVector gathered_;
  SortKeys keys_;  // of the gathered rows
  uint64_t gathered_bytes_ = 0;
  std::unique_ptr<TempDir> folder_;
  std::vector<std::string> spooled_;
  bool ended_ = false;
  arrow::RecordBatchVector sorted_;  // where nothing was spooled
  size_t next_sorted_ = 0;
  std::vector<std::unique_ptr<Run>> runs_;
};

}  // namespace pilum
