// A take as batches that keep within a byte budget, however large rows are and in whatever order. Called by
// file_reader.cc, cli and python.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pilum/file/file_reader.h"

namespace pilum {

// Not thread-safe. The reader and the rows must outlive it.
class TakeStream {
 public:
  // `budget`: most bytes that a batch and the work on it may hold, in round numbers. `ctx` is copied (FileReader::Read).
  TakeStream(const FileReader& file, const std::optional<std::vector<FieldPath>>& columns,
             std::span<const uint64_t> rows, uint64_t budget, const ReadContext& ctx)
      : file_(file), columns_(columns), left_(rows), budget_(budget), ctx_(ctx) {}
  // The next rows, in the caller's order, at most kTakeRows; nullptr at the end. A row beyond the budget comes alone.
  Result<std::shared_ptr<arrow::RecordBatch>> Next();

 private:
  Result<std::shared_ptr<arrow::RecordBatch>> TakeNow(std::span<const uint64_t> rows);

  const FileReader& file_;
  const std::optional<std::vector<FieldPath>> columns_;
  std::span<const uint64_t> left_;
  const uint64_t budget_;
  const ReadContext ctx_;
  size_t rows_ = FileReader::kTakeRows;  // to take next
};

}  // namespace pilum
