#include "pilum/part/part_writer.h"

#include <algorithm>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/io/spool_space.h"
#include "pilum/part/logical_size.h"
#include "pilum/part/sort_key.h"
#include "pilum/part/union_schema.h"
#include "pilum/source/field_path.h"

namespace pilum {
struct PartWriter::Open {
  std::unique_ptr<PartSpool> spool;
  uint64_t first_row = 0, rows = 0;
  uint64_t bytes = 0;      // logical, of all rows
  uint64_t undecided = 0;  // logical, since rolling was last considered
  bool half_full = false;  // then
};

PartWriter::PartWriter(DatasetFiles files, std::shared_ptr<arrow::Schema> schema,
                       std::shared_ptr<arrow::Schema> sidecar_schema, const PutOptions& options,
                       const std::optional<DatasetSpec>& spec, std::optional<FieldPath> day_of,
                       std::function<bool(const std::string&)> stood_for)
    : files_(std::move(files)),
      schema_(schema->WithMetadata(WithoutStoreKeys(schema->metadata()))),
      sidecar_schema_(std::move(sidecar_schema)),
      options_(options),
      write_options_(PartWriteOptions::For(*schema_, options.version, spec)),
      day_of_(std::move(day_of)),
      stood_for_(std::move(stood_for)) {
  decision_bytes_ = std::clamp<uint64_t>(options.target_part_bytes / 16, 1, 16 << 20);
}

PartWriter::~PartWriter() = default;

Status PartWriter::OpenPart(uint64_t first_row) {
  if (!spool_) {
    PILUM_ASSIGN_OR_RETURN(spool_, TempDir::Make());
  }
  auto open = std::make_unique<Open>();
  open->first_row = first_row;
  auto schema = schema_;
  // Two parts of one input may hold equal rows; where they begin keeps their bytes, and so their names, apart.
  if (!options_.batch_id.empty() || first_row > 0) {
    auto metadata = schema_->metadata() ? schema_->metadata()->Copy() : std::make_shared<arrow::KeyValueMetadata>();
    if (!options_.batch_id.empty()) PILUM_RETURN_NOT_OK(metadata->Set(kBatchIdKey, options_.batch_id));
    PILUM_RETURN_NOT_OK(metadata->Set(kBatchRowKey, std::to_string(first_row)));
    schema = schema_->WithMetadata(metadata);
  }
  const std::string path = fmt::format("{}/part-{}.lance", spool_->path(), parts_opened_++);
  PILUM_ASSIGN_OR_RETURN(open->spool, PartSpool::Make(path, std::move(schema), *sidecar_schema_, write_options_.file));
  open_ = std::move(open);
  return Status::OK();
}

// How many rows from `begin` on bring the open part to its next decision (all that are left if fewer).
int64_t PartWriter::RowsToDecision(const arrow::RecordBatch& batch, int64_t begin) const {
  const int64_t left = batch.num_rows() - begin;
  const uint64_t need = decision_bytes_ - std::min(decision_bytes_ - 1, open_->undecided);
  if (LogicalSize(batch, begin, left) < need) return left;
  int64_t low = 0, high = left;  // low rows do not reach it, high rows do
  while (high - low > 1) {
    const int64_t mid = low + (high - low) / 2;
    (LogicalSize(batch, begin, mid) < need ? low : high) = mid;
  }
  return high;
}

// What is written, and at most what can still be held back. Both depend on the rows alone.
bool PartWriter::IsFull(uint64_t of_bytes) const {
  return open_->spool->bytes_written() + std::min(open_->bytes, write_options_.buffered_limit) >= of_bytes;
}

// How many of `n` rows from `begin` on are of the day that was written last; 0 where another begins at once.
int64_t PartWriter::RowsToDayEnd(const std::vector<int64_t>& days, int64_t begin, int64_t n) {
  int64_t same = 0;
  for (; same < n; ++same) {
    const int64_t day = days[static_cast<size_t>(begin + same)];
    if (last_day_ && day != *last_day_) break;
    last_day_ = day;
  }
  return same;
}

Status PartWriter::Append(const std::shared_ptr<arrow::RecordBatch>& batch, uint64_t first_row, ReadContext& ctx) {
  if (open_ && open_->first_row + open_->rows != first_row) PILUM_RETURN_NOT_OK(ClosePart(ctx));
  std::vector<int64_t> days;
  if (day_of_) {
    PILUM_ASSIGN_OR_RETURN(const auto times, ArrayAt(*batch, *day_of_, ctx.memory_pool()));
    PILUM_ASSIGN_OR_RETURN(days, DaysOf(*times));
  }
  for (int64_t at = 0; at < batch->num_rows();) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    if (!open_) PILUM_RETURN_NOT_OK(OpenPart(first_row + static_cast<uint64_t>(at)));
    int64_t n = RowsToDecision(*batch, at);
    if (day_of_) {
      const int64_t same = RowsToDayEnd(days, at, n);
      if (same == 0) {  // a day ended, and so may the part, once it has half of its size
        last_day_.reset();
        if (open_->half_full) PILUM_RETURN_NOT_OK(ClosePart(ctx));
        continue;
      }
      n = same;
    }
    const uint64_t bytes = LogicalSize(*batch, at, n);
    const auto rows = batch->Slice(at, n);
    // At most what is held back and these rows are written next.
    const uint64_t held_back = std::min(open_->bytes, write_options_.buffered_limit);
    PILUM_RETURN_NOT_OK(CheckSpoolSpace(spool_->path(), held_back + bytes));
    PILUM_RETURN_NOT_OK(open_->spool->Append(*rows));
    at += n;
    open_->rows += static_cast<uint64_t>(n);
    open_->bytes += bytes;
    open_->undecided += bytes;
    if (open_->undecided < decision_bytes_) continue;
    open_->undecided = 0;
    open_->half_full = IsFull(options_.target_part_bytes / 2);
    if (IsFull(options_.target_part_bytes)) PILUM_RETURN_NOT_OK(ClosePart(ctx));
  }
  return Status::OK();
}

Status PartWriter::Finish(bool or_empty, ReadContext& ctx) {
  if (!open_ && parts_opened_ == 0 && or_empty) PILUM_RETURN_NOT_OK(OpenPart(0));
  return open_ ? ClosePart(ctx) : Status::OK();
}

Status PartWriter::ClosePart(ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const PartSpool::Made made, open_->spool->Finish());
  open_.reset();
  result_.parts.push_back(made.hash);
  bool added = false;
  if (!stood_for_(made.hash)) {
    PILUM_ASSIGN_OR_RETURN(added, PublishPart(files_, files_.PartPath(made.hash), made.hash, made, ctx));
  }
  if (!added) {
    result_.rows_already_there += made.rows;
    return Status::OK();
  }
  ++result_.new_parts;
  result_.part_bytes += made.bytes;
  result_.sidecar_bytes += made.sidecar_bytes();
  return Status::OK();
}

}  // namespace pilum
