// From rows to published parts: cuts them where a part is full (part_spool makes each). Used by put. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <arrow/type_fwd.h>

#include "pilum/part/part_files.h"
#include "pilum/part/part_spool.h"
#include "pilum/part/part_store.h"

namespace pilum {

class PartWriter {
 public:
  // `stood_for`: do merged parts stand for a part of this name? Then its rows are there already.
  // `day_of`: where set, parts are cut where a day of this column ends (rows come in its order).
  PartWriter(DatasetFiles files, std::shared_ptr<arrow::Schema> schema, std::shared_ptr<arrow::Schema> sidecar_schema,
             const PutOptions& options, const std::optional<DatasetSpec>& spec, std::optional<FieldPath> day_of,
             std::function<bool(const std::string&)> stood_for);
  ~PartWriter();

  // Rows of the schema. `first_row`: the number of the batch's first row in the input. Rows that do not follow the ones
  // before begin a new part.
  Status Append(const std::shared_ptr<arrow::RecordBatch>& batch, uint64_t first_row, ReadContext& ctx);
  // Publishes the open part; `or_empty`: one without rows if none was made at all.
  Status Finish(bool or_empty, ReadContext& ctx);
  const PutResult& result() const { return result_; }

 private:
  struct Open;
  Status OpenPart(uint64_t first_row);
  Status ClosePart(ReadContext& ctx);
  int64_t RowsToDecision(const arrow::RecordBatch& batch, int64_t begin) const;
  bool IsFull(uint64_t of_bytes) const;
  int64_t RowsToDayEnd(const std::vector<int64_t>& days, int64_t begin, int64_t n);

  const DatasetFiles files_;
  const std::shared_ptr<arrow::Schema> schema_, sidecar_schema_;
  const PutOptions options_;
  const PartWriteOptions write_options_;
  const std::optional<FieldPath> day_of_;
  std::optional<int64_t> last_day_;  // of the row that was written last
  const std::function<bool(const std::string&)> stood_for_;
  uint64_t decision_bytes_ = 0;
  std::unique_ptr<TempDir> spool_;
  std::unique_ptr<Open> open_;
  uint64_t parts_opened_ = 0;
  PutResult result_;
};

}  // namespace pilum
