// Columns of one fragment in a data file beside those that it has: a value for each of its rows, deleted ones too. Called by
// write_columns.cc. Not thread-safe. Memory: a batch, and what FileWriter holds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/row_set.h"
#include "pilum/change/fit_rows.h"
#include "pilum/file/file_writer.h"
#include "pilum/io/object_store.h"
#include "pilum/table/commit/wire.h"

namespace pilum {

class ColumnFile {
 public:
  // `rows`: of the fragment, `deleted` ones among them, whose values are NULL, or empty where none may be.
  ColumnFile(std::shared_ptr<ObjectStore> table, FitRows fit, FileVersion version, uint64_t rows, RowSet deleted);
  ~ColumnFile();  // without Finish: what was written is removed again

  uint64_t live_left() const { return live_left_; }
  // Values of the next rows that are not deleted, live_left() at most.
  Status Write(const arrow::RecordBatch& batch);
  // All rows have values. `path` in the table's folder is for the commit to make durable.
  Result<wire::DataFile> Finish(std::string* path);

 private:
  Status Begin();
  Status WritePiece(const std::shared_ptr<arrow::RecordBatch>& live, uint64_t end);
  Status WriteBlanks(uint64_t end);
  Result<std::shared_ptr<arrow::Array>> Blanks(const arrow::Field& field, int64_t n) const;
  Result<std::shared_ptr<arrow::Array>> Spread(const arrow::Field& field, std::shared_ptr<arrow::Array> values,
                                               const arrow::Array& places, int64_t blank) const;
  bool MayBeNull(const arrow::Field& field) const;

  const std::shared_ptr<ObjectStore> table_;
  const FitRows fit_;
  const FileVersion version_;
  const uint64_t rows_;
  const RowSet live_;
  uint64_t live_left_ = 0, at_ = 0;  // at_: the next row of the fragment
  size_t range_ = 0;                 // of live_, that holds at_ or begins after it
  std::unique_ptr<FileWriter> file_;
  std::string name_;
  bool finished_ = false;
};

}  // namespace pilum
