#include "pilum/table/blobs.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/type.h>

#include "pilum/source/field_path.h"

namespace pilum {
namespace {

template <typename Array>
const Array* Child(const arrow::StructArray& s, const char* name) {
  const auto field = s.GetFieldByName(name);
  return field && field->type_id() == Array::TypeClass::type_id ? static_cast<const Array*>(field.get()) : nullptr;
}

}  // namespace

std::string BlobFolder(const std::string& data_file) { return data_file.substr(0, data_file.rfind('.')) + "/"; }

// The lowest bit comes first.
std::string BlobFileName(uint32_t id) {
  std::string out(32, '0');
  for (size_t bit = 0; bit < 32; ++bit) {
    if ((id >> bit & 1) != 0) out[bit] = '1';
  }
  return out + ".blob";
}

Result<std::vector<std::optional<BlobPlace>>> BlobPlacesOf(const arrow::Array& array) {
  std::vector<std::optional<BlobPlace>> out(static_cast<size_t>(array.length()));
  const auto* s = array.type_id() == arrow::Type::STRUCT ? static_cast<const arrow::StructArray*>(&array) : nullptr;
  const auto* position = s ? Child<arrow::UInt64Array>(*s, "position") : nullptr;
  const auto* size = s ? Child<arrow::UInt64Array>(*s, "size") : nullptr;
  if (!position || !size) return Status::Invalid("not descriptions of blobs: ", array.type()->ToString());
  const auto* kind = Child<arrow::UInt8Array>(*s, "kind");
  const auto* id = Child<arrow::UInt32Array>(*s, "blob_id");
  const auto* uri = Child<arrow::StringArray>(*s, "blob_uri");
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i)) continue;
    BlobPlace& place = out[static_cast<size_t>(i)].emplace();
    place.position = position->Value(i);
    place.size = size->Value(i);
    if (!kind || !id || !uri) continue;
    if (kind->Value(i) > static_cast<uint8_t>(BlobPlace::Kind::kExternal)) {
      return Unsupported("a blob of kind {}, which is not known to this Pilum", kind->Value(i));
    }
    place.kind = static_cast<BlobPlace::Kind>(kind->Value(i));
    place.id = id->Value(i);
    place.uri = uri->GetString(i);
  }
  return out;
}

Result<BufferPtr> Blob::Read(ByteRange range, ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(auto buffers, ReadMany({range}, ctx));
  return buffers[0];
}

Result<std::vector<BufferPtr>> Blob::ReadMany(const std::vector<ByteRange>& ranges, ReadContext& ctx) const {
  std::vector<ByteRange> wanted;
  std::vector<BufferPtr> out(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    const ByteRange& r = ranges[i];
    if (r.size > range_.size || r.offset > range_.size - r.size) {
      return UsageError("bytes {} to {} of a blob of {} bytes", r.offset, r.offset + r.size, range_.size);
    }
    if (r.size > 0) wanted.push_back({range_.offset + r.offset, r.size});
  }
  std::vector<BufferPtr> read;
  if (!wanted.empty()) {
    PILUM_ASSIGN_OR_RETURN(read, source_->ReadRanges(wanted, ctx));
  }
  size_t next = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    out[i] = ranges[i].size > 0 ? read[next++] : std::make_shared<arrow::Buffer>(nullptr, 0);
  }
  return out;
}

Result<std::shared_ptr<const ByteSource>> BlobFiles::SourceOf(const BlobPlace& place, ReadContext& ctx) const {
  using Kind = BlobPlace::Kind;
  if (place.kind == Kind::kInline) return files_->OpenData(file_, ctx);
  if (place.kind == Kind::kExternal) return files_->OpenExternal(place.uri, place.id, ctx);
  return files_->OpenBeside(file_, BlobFileName(place.id), ctx);
}

Result<BlobFiles::Located> BlobFiles::Locate(const BlobPlace& place, ReadContext& ctx) const {
  const bool external = place.kind == BlobPlace::Kind::kExternal;
  if (place.size == 0 && !external) return Located{nullptr, {}};
  std::shared_ptr<const ByteSource> source;
  {
    std::lock_guard lock(mutex_);
    const bool here = place.kind == BlobPlace::Kind::kInline;
    auto& held = opened_[{here ? 0 : external ? 2 : 1, here ? 0 : place.id, external ? place.uri : std::string()}];
    if (!held) {
      PILUM_ASSIGN_OR_RETURN(held, SourceOf(place, ctx));
    }
    source = held;
  }
  ByteRange range{place.position, place.size};
  if (external && range.size == 0) {
    if (range.offset > source->size()) range.offset = source->size();
    range.size = source->size() - range.offset;
  }
  if (range.size > source->size() || range.offset > source->size() - range.size) {
    return Corrupt(source->name(), fmt::format("offset {}", range.offset),
                   fmt::format("it has {} bytes, and a blob of {} is said to lie there", source->size(), range.size));
  }
  return Located{std::move(source), range};
}

Result<std::shared_ptr<const Blob>> BlobFiles::Open(const BlobPlace& place, ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(Located at, Locate(place, ctx));
  return std::make_shared<const Blob>(std::move(at.source), at.range);
}

Result<std::shared_ptr<arrow::Array>> BlobFiles::ReadAll(const arrow::Array& descriptions, ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(const auto places, BlobPlacesOf(descriptions));
  struct Wanted {
    std::vector<size_t> rows;
    std::vector<ByteRange> ranges;
  };
  std::map<std::shared_ptr<const ByteSource>, Wanted> by_source;
  std::vector<BufferPtr> bytes(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    if (!places[i]) continue;
    PILUM_ASSIGN_OR_RETURN(const Located at, Locate(*places[i], ctx));
    if (at.range.size == 0) continue;
    Wanted& wanted = by_source[at.source];
    wanted.rows.push_back(i);
    wanted.ranges.push_back(at.range);
  }
  for (const auto& [source, wanted] : by_source) {
    PILUM_ASSIGN_OR_RETURN(auto read, source->ReadRanges(wanted.ranges, ctx));
    for (size_t k = 0; k < read.size(); ++k) bytes[wanted.rows[k]] = std::move(read[k]);
  }
  arrow::LargeBinaryBuilder out(ctx.memory_pool());
  for (size_t i = 0; i < places.size(); ++i) {
    if (!places[i]) {
      PILUM_RETURN_NOT_OK(out.AppendNull());
    } else if (!bytes[i]) {
      PILUM_RETURN_NOT_OK(out.Append(std::string_view()));
    } else {
      PILUM_RETURN_NOT_OK(out.Append(bytes[i]->data(), bytes[i]->size()));
      bytes[i] = nullptr;
    }
  }
  return out.Finish();
}

Result<std::shared_ptr<const BlobFiles>> BlobFilesOf(const TableContext& table, const Fragment& fragment,
                                                     const FieldPath& column) {
  for (const DataFile& file : fragment.files) {
    PILUM_ASSIGN_OR_RETURN(auto view, table.schema->ViewOf(file));
    if (FieldAt(*view->schema, column).ok()) return std::make_shared<const BlobFiles>(table.files, file);
  }
  return NotFoundError("{} fragment {}: no data file holds column '{}'", table.files->uri(), fragment.id,
                       column.ToString());
}

}  // namespace pilum
