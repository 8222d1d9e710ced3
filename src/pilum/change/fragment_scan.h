// Rows of fragments one after another, batch by batch. Called by what computes columns of them. Not thread-safe.
#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/table/table.h"

namespace pilum {

class FragmentScan {
 public:
  // `ctx` must outlive the scan. May be called again.
  Status Begin(const Table& table, const std::vector<uint64_t>& fragments, ReadContext& ctx);
  // Of these columns, the same at each call; nullptr: the end.
  Result<std::shared_ptr<arrow::RecordBatch>> Next(const std::vector<FieldPath>& columns);

 private:
  std::shared_ptr<const Snapshot> snapshot_;
  ReadContext* ctx_ = nullptr;
  size_t unit_ = 0;  // next
  std::unique_ptr<BatchStream> stream_;
};

}  // namespace pilum
