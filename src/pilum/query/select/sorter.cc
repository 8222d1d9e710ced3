#include "pilum/query/select/sorter.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/compute/api.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>

namespace pilum {

namespace {

uint64_t StartOf(std::string_view key) {
  uint64_t start = 0;
  std::memcpy(&start, key.data(), std::min<size_t>(key.size(), sizeof(start)));
  return __builtin_bswap64(start);
}

}  // namespace

// Rows held beyond those wanted before the rest is dropped.
constexpr uint64_t kSlackRows = 64 * 1024;

Status Sorter::Add(std::shared_ptr<arrow::RecordBatch> batch, RowKeys keys) {
  Hold(std::move(batch), std::move(keys));
  if (keep_ && rows_ > 2 * std::min(*keep_, UINT64_MAX / 4) + kSlackRows) return Trim();
  return Status::OK();
}

void Sorter::Hold(std::shared_ptr<arrow::RecordBatch> batch, RowKeys keys) {
  rows_ += static_cast<uint64_t>(batch->num_rows());
  column_bytes_.resize(static_cast<size_t>(batch->num_columns()), 0);
  for (int c = 0; c < batch->num_columns(); ++c) {
    const auto bytes = static_cast<uint64_t>(arrow::util::TotalBufferSize(*batch->column(c)));
    column_bytes_[static_cast<size_t>(c)] += bytes;
    bytes_ += bytes;
  }
  bytes_ += keys.bytes();
  batches_.push_back(std::move(batch));
  keys_.push_back(std::move(keys));
}

std::vector<Sorter::Row> Sorter::Sorted() const {
  std::vector<Row> rows;
  rows.reserve(rows_);
  for (uint32_t b = 0; b < batches_.size(); ++b) {
    for (uint32_t r = 0; r < keys_[b].size(); ++r) rows.push_back({StartOf(keys_[b][r]), keys_[b][r], b, r});
  }
  auto less = [](const Row& a, const Row& b) {
    if (a.start != b.start) return a.start < b.start;
    const int c = a.key.compare(b.key);
    return c != 0 ? c < 0 : a.batch != b.batch ? a.batch < b.batch : a.row < b.row;
  };
  const size_t wanted = keep_ ? static_cast<size_t>(std::min<uint64_t>(*keep_, rows.size())) : rows.size();
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(wanted);
  if (wanted < rows.size() / 8) {
    std::partial_sort(rows.begin(), end, rows.end(), less);
  } else {
    if (wanted < rows.size()) std::nth_element(rows.begin(), end, rows.end(), less);
    std::sort(rows.begin(), end, less);
  }
  rows.resize(wanted);
  return rows;
}

Result<std::shared_ptr<arrow::RecordBatch>> Sorter::Gather(const std::vector<Row>& rows) {
  std::vector<int64_t> first(batches_.size() + 1, 0);
  for (size_t b = 0; b < batches_.size(); ++b) first[b + 1] = first[b] + batches_[b]->num_rows();
  arrow::Int64Builder builder(pool_);
  PILUM_RETURN_NOT_OK(builder.Reserve(static_cast<int64_t>(rows.size())));
  for (const Row& r : rows) builder.UnsafeAppend(first[r.batch] + r.row);
  PILUM_ASSIGN_OR_RETURN(auto indices, builder.Finish());
  arrow::compute::ExecContext exec(pool_);
  const auto schema = batches_[0]->schema();
  std::vector<arrow::ArrayVector> chunks_of(static_cast<size_t>(schema->num_fields()));
  for (const auto& b : batches_) {
    for (int c = 0; c < b->num_columns(); ++c) chunks_of[static_cast<size_t>(c)].push_back(b->column(c));
  }
  batches_.clear();
  arrow::ArrayVector columns;
  for (auto& of_column : chunks_of) {
    const arrow::ArrayVector chunks = std::move(of_column);
    PILUM_ASSIGN_OR_RETURN(auto whole, chunks.size() == 1 ? Result<std::shared_ptr<arrow::Array>>(chunks[0])
                                                          : arrow::Concatenate(chunks, pool_));
    PILUM_ASSIGN_OR_RETURN(auto taken,
                           arrow::compute::Take(*whole, *indices, arrow::compute::TakeOptions::NoBoundsCheck(), &exec));
    columns.push_back(std::move(taken));
  }
  return arrow::RecordBatch::Make(schema, static_cast<int64_t>(rows.size()), std::move(columns));
}

Status Sorter::Trim() {
  if (!keep_ || rows_ <= *keep_) return Status::OK();
  const auto rows = Sorted();
  PILUM_ASSIGN_OR_RETURN(auto batch, Gather(rows));
  std::vector<std::string_view> keys;
  for (const Row& r : rows) keys.push_back(r.key);
  RowKeys kept = RowKeys::Of(keys);
  rows_ = bytes_ = 0;
  column_bytes_.clear();
  keys_.clear();
  Hold(std::move(batch), std::move(kept));
  return Status::OK();
}

uint64_t Sorter::bytes() const {
  uint64_t largest = 0;
  for (uint64_t bytes : column_bytes_) largest = std::max(largest, bytes);
  // The rows in order, and one column at a time in one piece and in its new order.
  return bytes_ + rows_ * (sizeof(Row) + sizeof(int64_t)) + 2 * largest;
}

Result<std::shared_ptr<arrow::RecordBatch>> Sorter::Finish() {
  if (batches_.empty()) return nullptr;
  return Gather(Sorted());
}

}  // namespace pilum
