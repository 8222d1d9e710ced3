#include "pilum/change/column_file.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/compute/api.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/change/blob_columns.h"
#include "pilum/query/evaluate.h"
#include "pilum/table/commit/names.h"
#include "pilum/table/commit/schema_fields.h"

namespace pilum {
namespace {

// Rows of a piece that deleted rows are put between, and of blanks written at once.
constexpr uint64_t kPiece = 16384;

}  // namespace

ColumnFile::ColumnFile(std::shared_ptr<ObjectStore> table, FitRows fit, FileVersion version, uint64_t rows,
                       RowSet deleted)
    : table_(std::move(table)),
      fit_(std::move(fit)),
      version_(version),
      rows_(rows),
      live_(deleted.Complement(rows)),
      live_left_(live_.size()) {}

ColumnFile::~ColumnFile() {
  if (finished_ || !file_) return;
  file_.reset();
  (void)table_->Remove("data/" + name_);
}

Status ColumnFile::Begin() {
  if (file_) return Status::OK();
  for (const auto& field : fit_.schema()->fields()) {
    if (!HasBlobV2(*field)) continue;
    return Unsupported("column '{}' holds blobs of kind lance.blob.v2, which are written with whole rows only",
                       field->name());
  }
  name_ = NewDataFileName();
  PILUM_ASSIGN_OR_RETURN(auto sink, table_->CreateUnsynced("data/" + name_));
  WriteOptions options;
  options.version = version_;
  options.ids = fit_.ids();
  PILUM_ASSIGN_OR_RETURN(file_, FileWriter::Make(std::move(sink), fit_.schema(), options));
  return Status::OK();
}

// A file of 2.0 has no NULL structs.
bool ColumnFile::MayBeNull(const arrow::Field& field) const {
  return field.nullable() && (version_ != FileVersion::kV2_0 || !arrow::is_nested(field.type()->id()));
}

Result<std::shared_ptr<arrow::Array>> ColumnFile::Blanks(const arrow::Field& field, int64_t n) const {
  if (MayBeNull(field)) return arrow::MakeArrayOfNull(field.type(), n);
  std::unique_ptr<arrow::ArrayBuilder> builder;
  PILUM_RETURN_NOT_OK(arrow::MakeBuilder(arrow::default_memory_pool(), field.type(), &builder));
  PILUM_RETURN_NOT_OK(builder->AppendEmptyValues(n));
  return builder->Finish();
}

Result<std::shared_ptr<arrow::Array>> ColumnFile::Spread(const arrow::Field& field,
                                                         std::shared_ptr<arrow::Array> values,
                                                         const arrow::Array& places, int64_t blank) const {
  values = Storage(std::move(values));
  if (blank >= 0) {
    PILUM_ASSIGN_OR_RETURN(auto empty, Blanks(*field.WithType(values->type()), 1));
    PILUM_ASSIGN_OR_RETURN(values, arrow::Concatenate({values, empty}));
  }
  PILUM_ASSIGN_OR_RETURN(const arrow::Datum taken,
                         arrow::compute::Take(values, places.data(), arrow::compute::TakeOptions::NoBoundsCheck()));
  return taken.make_array();
}

// `live`: the values of the live rows among those from at_ to `end`.
Status ColumnFile::WritePiece(const std::shared_ptr<arrow::RecordBatch>& live, uint64_t end) {
  if (static_cast<uint64_t>(live->num_rows()) == end - at_) {
    at_ = end;
    return file_->Write(*live);
  }
  // Where each row's value is: NULL or `blank`, one behind the values, for a deleted one.
  const int64_t blank = live->num_rows();
  const RowSet rows = live_.Slice(at_, end);
  arrow::Int64Builder with_nulls, with_blanks;
  int64_t next = 0;
  uint64_t row = 0;
  for (const auto& range : rows.ranges()) {
    PILUM_RETURN_NOT_OK(with_nulls.AppendNulls(static_cast<int64_t>(range.begin - row)));
    for (; row < range.begin; ++row) PILUM_RETURN_NOT_OK(with_blanks.Append(blank));
    for (; row < range.end; ++row, ++next) {
      PILUM_RETURN_NOT_OK(with_nulls.Append(next));
      PILUM_RETURN_NOT_OK(with_blanks.Append(next));
    }
  }
  PILUM_RETURN_NOT_OK(with_nulls.AppendNulls(static_cast<int64_t>(end - at_ - row)));
  for (; row < end - at_; ++row) PILUM_RETURN_NOT_OK(with_blanks.Append(blank));
  PILUM_ASSIGN_OR_RETURN(const auto nulls, with_nulls.Finish());
  PILUM_ASSIGN_OR_RETURN(const auto blanks, with_blanks.Finish());
  arrow::ArrayVector columns;
  arrow::FieldVector fields;
  for (int i = 0; i < live->num_columns(); ++i) {
    const auto& field = *fit_.schema()->field(i);
    const bool null = MayBeNull(field);
    PILUM_ASSIGN_OR_RETURN(auto spread, Spread(field, live->column(i), null ? *nulls : *blanks, null ? -1 : blank));
    fields.push_back(arrow::field(field.name(), spread->type()));
    columns.push_back(std::move(spread));
  }
  const auto n = static_cast<int64_t>(end - at_);
  at_ = end;
  return file_->Write(*arrow::RecordBatch::Make(arrow::schema(std::move(fields)), n, std::move(columns)));
}

Status ColumnFile::Write(const arrow::RecordBatch& batch) {
  const auto n = static_cast<uint64_t>(batch.num_rows());
  if (n > live_left_) return UsageError("{} values for the {} rows that are left of a fragment", n, live_left_);
  PILUM_RETURN_NOT_OK(Begin());
  PILUM_ASSIGN_OR_RETURN(const auto fitted, fit_.Fit(batch));
  live_left_ -= n;
  for (uint64_t from = 0; from < n;) {
    while (live_.ranges()[range_].end <= at_) ++range_;
    const RowRange range = live_.ranges()[range_];
    if (range.begin > at_ + kPiece) {
      PILUM_RETURN_NOT_OK(WriteBlanks(range.begin));
      continue;
    }
    // A long run is written as it is; short ones together, with what is deleted between them.
    const uint64_t most = range.begin == at_ && range.end - at_ >= kPiece ? range.end - at_ : kPiece;
    const uint64_t end = std::min(at_ + most, rows_);
    uint64_t take = live_.Slice(at_, end).size(), stop = end;
    if (take > n - from) {
      take = n - from;
      stop = at_ + live_.Slice(at_, end).SliceByRank(take - 1, 1).ranges()[0].end;
    }
    PILUM_RETURN_NOT_OK(WritePiece(fitted->Slice(static_cast<int64_t>(from), static_cast<int64_t>(take)), stop));
    from += take;
  }
  return Status::OK();
}

Status ColumnFile::WriteBlanks(uint64_t end) {
  while (at_ < end) {
    const auto n = static_cast<int64_t>(std::min(end - at_, kPiece));
    arrow::ArrayVector columns;
    for (const auto& field : fit_.schema()->fields()) {
      PILUM_ASSIGN_OR_RETURN(columns.emplace_back(), Blanks(*field, n));
    }
    PILUM_RETURN_NOT_OK(file_->Write(*arrow::RecordBatch::Make(fit_.schema(), n, std::move(columns))));
    at_ += static_cast<uint64_t>(n);
  }
  return Status::OK();
}

Result<wire::DataFile> ColumnFile::Finish(std::string* path) {
  if (live_left_ > 0) return UsageError("{} rows of a fragment have no values", live_left_);
  PILUM_RETURN_NOT_OK(Begin());
  PILUM_RETURN_NOT_OK(WriteBlanks(rows_));
  PILUM_ASSIGN_OR_RETURN([[maybe_unused]] const uint64_t rows, file_->Finish());
  finished_ = true;
  *path = "data/" + name_;
  wire::DataFile out;
  out.set_path(name_);
  out.set_file_size_bytes(file_->bytes_written());
  file_.reset();
  PILUM_RETURN_NOT_OK(SetColumns(*fit_.schema(), *fit_.ids(), version_, &out));
  return out;
}

}  // namespace pilum
