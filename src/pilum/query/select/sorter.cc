#include "pilum/query/select/sorter.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/compute/api.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>

namespace pilum {

// Rows held beyond those wanted before the rest is dropped.
constexpr uint64_t kSlackRows = 64 * 1024;

Status Sorter::Add(std::shared_ptr<arrow::RecordBatch> batch, RowKeys keys) {
  rows_ += static_cast<uint64_t>(batch->num_rows());
  bytes_ += static_cast<uint64_t>(arrow::util::TotalBufferSize(*batch)) + keys.bytes();
  batches_.push_back(std::move(batch));
  keys_.push_back(std::move(keys));
  if (keep_ && rows_ > 2 * std::min(*keep_, UINT64_MAX / 4) + kSlackRows) return Cut();
  return Status::OK();
}

std::vector<Sorter::Row> Sorter::Sorted() const {
  std::vector<Row> rows;
  rows.reserve(rows_);
  for (uint32_t b = 0; b < batches_.size(); ++b) {
    for (uint32_t r = 0; r < keys_[b].size(); ++r) rows.push_back({keys_[b][r], b, r});
  }
  auto less = [](const Row& a, const Row& b) {
    const int c = a.key.compare(b.key);
    return c != 0 ? c < 0 : a.batch != b.batch ? a.batch < b.batch : a.row < b.row;
  };
  const size_t wanted = keep_ ? static_cast<size_t>(std::min<uint64_t>(*keep_, rows.size())) : rows.size();
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(wanted), rows.end(), less);
  rows.resize(wanted);
  return rows;
}

Result<std::shared_ptr<arrow::RecordBatch>> Sorter::Gather(const std::vector<Row>& rows) const {
  std::vector<int64_t> first(batches_.size() + 1, 0);
  for (size_t b = 0; b < batches_.size(); ++b) first[b + 1] = first[b] + batches_[b]->num_rows();
  arrow::Int64Builder builder(pool_);
  PILUM_RETURN_NOT_OK(builder.Reserve(static_cast<int64_t>(rows.size())));
  for (const Row& r : rows) builder.UnsafeAppend(first[r.batch] + r.row);
  PILUM_ASSIGN_OR_RETURN(auto indices, builder.Finish());
  arrow::compute::ExecContext exec(pool_);
  arrow::ArrayVector columns;
  for (int c = 0; c < batches_[0]->num_columns(); ++c) {
    arrow::ArrayVector chunks;
    for (const auto& b : batches_) chunks.push_back(b->column(c));
    PILUM_ASSIGN_OR_RETURN(auto whole, chunks.size() == 1 ? Result<std::shared_ptr<arrow::Array>>(chunks[0])
                                                          : arrow::Concatenate(chunks, pool_));
    PILUM_ASSIGN_OR_RETURN(auto taken,
                           arrow::compute::Take(*whole, *indices, arrow::compute::TakeOptions::NoBoundsCheck(), &exec));
    columns.push_back(std::move(taken));
  }
  return arrow::RecordBatch::Make(batches_[0]->schema(), static_cast<int64_t>(rows.size()), std::move(columns));
}

Status Sorter::Cut() {
  const auto rows = Sorted();
  PILUM_ASSIGN_OR_RETURN(auto batch, Gather(rows));
  std::vector<std::string_view> keys;
  for (const Row& r : rows) keys.push_back(r.key);
  RowKeys kept = RowKeys::Of(keys);
  rows_ = rows.size();
  bytes_ = static_cast<uint64_t>(arrow::util::TotalBufferSize(*batch)) + kept.bytes();
  batches_ = {std::move(batch)};
  keys_.clear();
  keys_.push_back(std::move(kept));
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> Sorter::Finish() {
  if (batches_.empty()) return nullptr;
  return Gather(Sorted());
}

}  // namespace pilum
