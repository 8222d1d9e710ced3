#include "pilum/change/merge_source.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/compute/api.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/change/external_uris.h"
#include "pilum/change/map_blobs.h"
#include "pilum/file/batch_bytes.h"
#include "pilum/file/file_reader.h"
#include "pilum/file/take_stream.h"

namespace pilum {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{32} << 20;
constexpr size_t kPieceRows = 4096;

uint64_t BytesOf(const arrow::RecordBatch& batch) {
  uint64_t out = 0;
  for (const auto& column : batch.columns()) out += SliceBytes(*column->data(), 0, column->length());
  return out;
}

// What the rows have of the table: so that columns which they lack are no matter, whatever those may be.
Result<FileSchema> SharedSchema(const FileSchema& table, const arrow::Schema& rows) {
  FileSchema out;
  arrow::FieldVector fields;
  for (int i = 0; i < table.schema->num_fields(); ++i) {
    if (rows.GetFieldIndex(table.schema->field(i)->name()) < 0) continue;
    fields.push_back(table.schema->field(i));
    out.ids.children.push_back(table.ids.children[static_cast<size_t>(i)]);
  }
  out.schema = arrow::schema(std::move(fields), table.schema->metadata());
  return out;
}

// New URIs lie below a base path; those of rows that stay may lie anywhere.
Status CheckExternal(const arrow::RecordBatch& rows, const arrow::Schema& schema, const ExternalUris& uris) {
  const BlobMapping check = [&](const BlobColumn& column, const arrow::Array& array,
                                const LiveValues* live) -> Result<std::shared_ptr<arrow::Array>> {
    const auto* values =
        array.type_id() == arrow::Type::STRUCT ? &static_cast<const arrow::StructArray&>(array) : nullptr;
    const auto uri = values ? values->GetFieldByName("uri") : nullptr;
    for (int64_t i = 0; uri && uri->type_id() == arrow::Type::STRING && i < array.length(); ++i) {
      if (!IsLive(array, live, i) || uri->IsNull(i)) continue;
      const auto place = uris.Resolve(static_cast<const arrow::StringArray&>(*uri).GetString(i));
      if (!place.ok()) return WithContext(fmt::format("column '{}'", column.name), place.status());
    }
    return arrow::MakeArray(array.data());
  };
  for (const auto& field : schema.fields()) {
    if (HasBlobV2(*field)) PILUM_RETURN_NOT_OK(MapBlobs(*field, rows.GetColumnByName(field->name()), check).status());
  }
  return Status::OK();
}

}  // namespace

MergeSource::~MergeSource() {
  files_.clear();
  if (spilled_ && !handed_over_) RemoveWritten(store_.get(), spilled_->written);
}

Status MergeSource::AddKeys(const arrow::RecordBatch& batch, const std::vector<std::string>& keys) {
  arrow::ArrayVector columns;
  for (const auto& key : keys) columns.push_back(batch.GetColumnByName(key));
  return keys_.Add(columns, batch.num_rows());
}

Result<std::unique_ptr<MergeSource>> MergeSource::Collect(std::shared_ptr<ObjectStore> store, const FileSchema& table,
                                                          const std::vector<std::string>& keys,
                                                          arrow::RecordBatchReader& rows, const Options& options,
                                                          ReadContext& ctx) {
  std::unique_ptr<MergeSource> out(new MergeSource(std::move(store)));
  PILUM_ASSIGN_OR_RETURN(const FileSchema shared, SharedSchema(table, *rows.schema()));
  PILUM_ASSIGN_OR_RETURN(out->fit_, FitRows::Make(shared, *rows.schema()));
  for (const auto& key : keys) {
    if (out->schema()->GetFieldIndex(key) < 0) {
      return UsageError("the rows to merge lack the key column '{}'; they have {}", key,
                        fmt::join(rows.schema()->field_names(), ", "));
    }
  }
  const ExternalUris uris(options.files.blobs.bases, false);
  const bool blobs = HasBlobV2(*out->schema());  // files give no bytes back: held
  std::optional<FragmentWriter> writer;
  uint64_t bytes = 0, num_rows = 0;
  for (;;) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    PILUM_ASSIGN_OR_RETURN(auto batch, rows.Next());
    if (!batch) break;
    if (batch->num_rows() == 0) continue;
    PILUM_ASSIGN_OR_RETURN(auto fitted, out->fit_->Fit(*batch));
    PILUM_RETURN_NOT_OK(CheckExternal(*fitted, *out->schema(), uris));
    PILUM_RETURN_NOT_OK(out->AddKeys(*fitted, keys));
    bytes += BytesOf(*fitted);
    if (!writer && !blobs && bytes > options.held_bytes) {
      writer.emplace(out->store_, out->schema(), out->fit_->ids(), options.files);
      for (const auto& held : out->held_) PILUM_RETURN_NOT_OK(writer->Write(*held));
      out->held_.clear();
    }
    if (writer) {
      PILUM_RETURN_NOT_OK(writer->Write(*fitted));
    } else {
      out->held_.push_back(std::move(fitted));
      out->first_.push_back(num_rows);
    }
    num_rows += static_cast<uint64_t>(batch->num_rows());
  }
  if (writer) {
    PILUM_ASSIGN_OR_RETURN(out->spilled_, writer->Finish());
    PILUM_RETURN_NOT_OK(out->OpenFiles(ctx));
  }
  out->first_.push_back(num_rows);
  const uint64_t row_bytes = bytes / std::max<uint64_t>(num_rows, 1) + 1;
  out->piece_rows_ = std::clamp<size_t>(kPieceBytes / row_bytes, 1, kPieceRows);
  return out;
}

Status MergeSource::OpenFiles(ReadContext& ctx) {
  first_.clear();
  uint64_t first = 0;
  for (const std::string& path : spilled_->written) {
    PILUM_ASSIGN_OR_RETURN(auto source, store_->OpenSource(path, ctx));
    PILUM_ASSIGN_OR_RETURN(auto file, FileReader::Open(std::move(source), ctx));
    first_.push_back(first);
    first += file->num_rows();
    files_.push_back(std::move(file));
  }
  return Status::OK();
}

Status MergeSource::Read(ReadContext& ctx,
                         const std::function<Status(uint64_t, const arrow::RecordBatch&)>& take) const {
  for (size_t i = 0; i < held_.size(); ++i) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    PILUM_RETURN_NOT_OK(take(first_[i], *held_[i]));
  }
  BatchLimits limits;
  limits.bytes = kPieceBytes;
  for (size_t i = 0; i < files_.size(); ++i) {
    PILUM_ASSIGN_OR_RETURN(auto stream, files_[i]->Read(std::nullopt, RowSet::All(files_[i]->num_rows()), limits, ctx));
    uint64_t first = first_[i];
    for (;;) {
      PILUM_RETURN_NOT_OK(ctx.Check());
      PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
      if (!batch) break;
      PILUM_RETURN_NOT_OK(take(first, *batch));
      first += static_cast<uint64_t>(batch->num_rows());
    }
  }
  return Status::OK();
}

// Rows of several batches: each batch's at once, then put in the order that was asked for.
Result<std::shared_ptr<arrow::RecordBatch>> MergeSource::TakeHeld(const std::vector<std::string>& columns,
                                                                  std::span<const uint32_t> rows) const {
  std::map<size_t, std::vector<size_t>> by_batch;  // positions in `rows`
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto after = std::upper_bound(first_.begin(), first_.end(), rows[i]);
    by_batch[static_cast<size_t>(after - first_.begin()) - 1].push_back(i);
  }
  std::vector<int64_t> order(rows.size());
  std::vector<arrow::ArrayVector> pieces(columns.size());
  int64_t at = 0;
  for (const auto& [batch, positions] : by_batch) {
    arrow::Int64Builder inside;
    for (const size_t i : positions) {
      PILUM_RETURN_NOT_OK(inside.Append(static_cast<int64_t>(rows[i] - first_[batch])));
      order[i] = at++;
    }
    PILUM_ASSIGN_OR_RETURN(auto indices, inside.Finish());
    for (size_t c = 0; c < columns.size(); ++c) {
      PILUM_ASSIGN_OR_RETURN(arrow::Datum taken,
                             arrow::compute::Take(held_[batch]->GetColumnByName(columns[c]), indices));
      pieces[c].push_back(taken.make_array());
    }
  }
  arrow::Int64Builder builder;
  PILUM_RETURN_NOT_OK(builder.AppendValues(order));
  PILUM_ASSIGN_OR_RETURN(auto indices, builder.Finish());
  arrow::ArrayVector arrays;
  arrow::FieldVector fields;
  for (size_t c = 0; c < columns.size(); ++c) {
    fields.push_back(schema()->GetFieldByName(columns[c]));
    if (pieces[c].size() == 1) {
      arrays.push_back(std::move(pieces[c][0]));
      continue;
    }
    PILUM_ASSIGN_OR_RETURN(auto all, arrow::Concatenate(pieces[c]));
    PILUM_ASSIGN_OR_RETURN(arrow::Datum taken, arrow::compute::Take(all, indices));
    arrays.push_back(taken.make_array());
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), static_cast<int64_t>(rows.size()),
                                  std::move(arrays));
}

Status MergeSource::Take(const std::vector<std::string>& columns, std::span<const uint32_t> rows, ReadContext& ctx,
                         const std::function<Status(size_t, const arrow::RecordBatch&)>& take) const {
  if (!spilled_) {
    for (size_t at = 0; at < rows.size(); at += piece_rows_) {
      PILUM_RETURN_NOT_OK(ctx.Check());
      const size_t n = std::min(piece_rows_, rows.size() - at);
      PILUM_ASSIGN_OR_RETURN(auto batch, TakeHeld(columns, rows.subspan(at, n)));
      PILUM_RETURN_NOT_OK(take(at, *batch));
    }
    return Status::OK();
  }
  std::vector<FieldPath> paths;
  for (const auto& name : columns) paths.push_back({{name}});
  // Verified, they are copied and not mapped: all of a large file would count as memory in the end.
  ReadContext copies = ctx;
  copies.verify = Verify::kAll;
  // Runs of rows that lie in one file.
  for (size_t at = 0; at < rows.size();) {
    const auto after = std::upper_bound(first_.begin(), first_.end(), rows[at]);
    const size_t file = static_cast<size_t>(after - first_.begin()) - 1;
    std::vector<uint64_t> inside;
    for (; at + inside.size() < rows.size(); inside.push_back(rows[at + inside.size()] - first_[file])) {
      const uint32_t row = rows[at + inside.size()];
      if (row < first_[file] || row >= first_[file + 1]) break;
    }
    TakeStream stream(*files_[file], paths, inside, kPieceBytes, copies);
    for (;;) {
      PILUM_RETURN_NOT_OK(ctx.Check());
      PILUM_ASSIGN_OR_RETURN(auto batch, stream.Next());
      if (!batch) break;
      PILUM_RETURN_NOT_OK(take(at, *batch));
      at += static_cast<size_t>(batch->num_rows());
    }
  }
  return Status::OK();
}

}  // namespace pilum
