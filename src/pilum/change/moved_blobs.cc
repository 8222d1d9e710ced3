#include "pilum/change/moved_blobs.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/change/blob_columns.h"

namespace pilum {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

constexpr uint64_t kPieceBytes = 16 << 20;

const arrow::Field* BlobFieldOf(const TableContext& table, const arrow::Field& column) {
  const int at = table.schema->declared()->GetFieldIndex(column.name());
  const arrow::Field* field = at < 0 ? nullptr : table.schema->declared()->field(at).get();
  return field && HasBlobV2(*field) ? field : nullptr;
}

bool IsHere(const BlobPlace& place) { return place.kind != BlobPlace::Kind::kExternal; }

// The bytes that are read for these rows.
Result<uint64_t> BytesOf(const TableContext& table, const arrow::RecordBatch& described) {
  uint64_t out = 0;
  const BlobMapping count = [&](const BlobColumn&, const arrow::Array& rows,
                                const LiveValues* live) -> Result<ArrayPtr> {
    PILUM_ASSIGN_OR_RETURN(const auto places, BlobPlacesOf(rows));
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] && IsHere(*places[i])) out += std::min(places[i]->size, uint64_t{1} << 40);
    }
    return arrow::MakeArray(rows.data());
  };
  for (int i = 0; i < described.num_columns(); ++i) {
    const arrow::Field* field = BlobFieldOf(table, *described.schema()->field(i));
    if (field) PILUM_RETURN_NOT_OK(MapBlobs(*field, described.column(i), count).status());
  }
  return out;
}

// One value, in the buffer that it was read into.
ArrayPtr OneValue(BufferPtr bytes) {
  const int64_t ends[] = {0, bytes->size()};
  arrow::TypedBufferBuilder<int64_t> offsets;
  (void)offsets.Append(ends, 2);
  return std::make_shared<arrow::LargeBinaryArray>(1, offsets.Finish().ValueOrDie(), std::move(bytes));
}

}  // namespace

Result<TableContext> ContextToMove(const Table& table) {
  TableContext out = table.context();
  PILUM_ASSIGN_OR_RETURN(out.schema, TableSchema::Make(out.manifest->schema, BlobHandling::kBytes));
  return out;
}

Status MovedBlobs::Each(const arrow::RecordBatch& batch, ReadContext& ctx, const TakePiece& take) {
  const auto& fields = batch.schema()->fields();
  if (std::none_of(fields.begin(), fields.end(), [&](const auto& f) { return BlobFieldOf(table_, *f); })) {
    return take(0, batch);
  }
  for (int64_t at = 0; at < batch.num_rows();) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    int64_t rows = batch.num_rows() - at;
    for (; rows > 1; rows /= 2) {
      PILUM_ASSIGN_OR_RETURN(const uint64_t bytes, BytesOf(table_, *batch.Slice(at, rows)));
      if (bytes <= kPieceBytes) break;
    }
    PILUM_ASSIGN_OR_RETURN(const auto given, Given(*batch.Slice(at, rows), ctx));
    PILUM_RETURN_NOT_OK(take(at, *given));
    at += rows;
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> MovedBlobs::Given(const arrow::RecordBatch& described, ReadContext& ctx) {
  const BlobMapping each = [&](const BlobColumn& column, const arrow::Array& rows, const LiveValues* live) {
    return Values(column, rows, live, ctx);
  };
  arrow::ArrayVector columns = described.columns();
  arrow::FieldVector fields = described.schema()->fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    const arrow::Field* field = BlobFieldOf(table_, *fields[i]);
    if (!field) continue;
    PILUM_ASSIGN_OR_RETURN(columns[i], MapBlobs(*field, columns[i], each));
    fields[i] = field->WithType(columns[i]->type());
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), described.num_rows(), std::move(columns));
}

Result<ArrayPtr> MovedBlobs::Values(const BlobColumn& column, const arrow::Array& descriptions, const LiveValues* live,
                                    ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const auto places, BlobPlacesOf(descriptions));
  PILUM_ASSIGN_OR_RETURN(const BlobFiles* files, FilesOf(column.path));
  arrow::TypedBufferBuilder<bool> valid, here;
  arrow::StringBuilder uris;
  arrow::UInt64Builder positions, sizes;
  for (size_t i = 0; i < places.size(); ++i) {
    const bool counts = places[i] && IsLive(descriptions, live, static_cast<int64_t>(i));
    const bool elsewhere = counts && !IsHere(*places[i]);
    const bool part = elsewhere && places[i]->size > 0;
    PILUM_RETURN_NOT_OK(valid.Append(counts));
    PILUM_RETURN_NOT_OK(here.Append(counts && !elsewhere));
    std::string uri;
    if (elsewhere) {
      PILUM_ASSIGN_OR_RETURN(uri, UriOf(*places[i]));
    }
    PILUM_RETURN_NOT_OK(elsewhere ? uris.Append(uri) : uris.AppendNull());
    PILUM_RETURN_NOT_OK(part ? positions.Append(places[i]->position) : positions.AppendNull());
    PILUM_RETURN_NOT_OK(part ? sizes.Append(places[i]->size) : sizes.AppendNull());
  }
  ArrayPtr data;
  if (places.size() == 1 && here.false_count() == 0) {
    PILUM_ASSIGN_OR_RETURN(const auto blob, files->Open(*places[0], ctx));
    PILUM_ASSIGN_OR_RETURN(BufferPtr bytes, blob->Read({0, blob->size()}, ctx));
    data = OneValue(std::move(bytes));
  } else {
    const auto& rows = static_cast<const arrow::StructArray&>(descriptions);
    arrow::ArrayVector members;
    for (int i = 0; i < rows.num_fields(); ++i) members.push_back(rows.field(i));
    PILUM_ASSIGN_OR_RETURN(auto bitmap, here.Finish());
    PILUM_ASSIGN_OR_RETURN(data, files->ReadAll(arrow::StructArray(rows.type(), rows.length(), members, bitmap), ctx));
  }
  arrow::ArrayVector members{std::move(data)};
  for (arrow::ArrayBuilder* b : std::initializer_list<arrow::ArrayBuilder*>{&uris, &positions, &sizes}) {
    PILUM_ASSIGN_OR_RETURN(members.emplace_back(), b->Finish());
  }
  PILUM_ASSIGN_OR_RETURN(auto bitmap, valid.Finish());
  static const auto type =
      arrow::struct_({arrow::field("data", arrow::large_binary()), arrow::field("uri", arrow::utf8()),
                      arrow::field("position", arrow::uint64()), arrow::field("size", arrow::uint64())});
  return std::make_shared<arrow::StructArray>(type, descriptions.length(), std::move(members), std::move(bitmap));
}

Result<std::string> MovedBlobs::UriOf(const BlobPlace& place) const {
  if (place.id == 0) return place.uri;
  for (const BasePath& base : table_.manifest->base_paths) {
    if (base.id == place.id) return base.path + (base.path.ends_with('/') ? "" : "/") + place.uri;
  }
  return Corrupt(table_.files->uri(), "manifest",
                 fmt::format("a blob {} lies below base path {}, and there is none", place.uri, place.id));
}

Result<const BlobFiles*> MovedBlobs::FilesOf(const FieldPath& column) {
  auto& files = files_[column];
  if (!files) {
    PILUM_ASSIGN_OR_RETURN(files, BlobFilesOf(table_, fragment_, column));
  }
  return files.get();
}

}  // namespace pilum
