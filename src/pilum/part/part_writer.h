// From rows to published parts: spools a part locally, hashing it as it is written, builds its sidecars from the same
// batches, and publishes sidecars first, the part last. Used by put. Not thread-safe.
#pragma once

#include <memory>
#include <string>

#include <arrow/type_fwd.h>

#include "pilum/base/hash.h"
#include "pilum/file/file_writer.h"
#include "pilum/index/sidecar_builder.h"
#include "pilum/part/part_files.h"
#include "pilum/part/part_store.h"

namespace pilum {

class PartWriter {
 public:
  PartWriter(DatasetFiles files, std::shared_ptr<arrow::Schema> schema, const PutOptions& options);
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
  Status Publish(const std::string& name, uint64_t rows, const SidecarBuilder::Files& sidecars, ReadContext& ctx);
  int64_t RowsToDecision(const arrow::RecordBatch& batch, int64_t begin) const;
  bool ShouldRoll() const;

  const DatasetFiles files_;
  const std::shared_ptr<arrow::Schema> schema_;
  const PutOptions options_;
  WriteOptions write_options_;
  uint64_t buffered_limit_ = 0;  // most bytes that the file writer may still hold back
  uint64_t decision_bytes_ = 0;
  std::unique_ptr<TempDir> spool_;
  std::unique_ptr<Open> open_;
  uint64_t parts_opened_ = 0;
  PutResult result_;
};

}  // namespace pilum
