#include "pilum/change/blob_writer.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/change/map_blobs.h"
#include "pilum/io/object_store.h"
#include "pilum/table/column_forms.h"

namespace pilum {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

constexpr uint64_t kPiece = 8 << 20;  // of what is copied from elsewhere

// A value, here or elsewhere.
struct Payload {
  std::string_view here;
  std::shared_ptr<const ByteSource> there;
  ByteRange range;  // of it
  uint64_t size() const { return there ? range.size : here.size(); }
};

Status Copy(const Payload& from, ByteSink* to, ReadContext& ctx) {
  if (!from.there) return to->Write(from.here.data(), from.here.size());
  for (uint64_t at = 0; at < from.range.size; at += kPiece) {
    const ByteRange piece{from.range.offset + at, std::min(kPiece, from.range.size - at)};
    PILUM_ASSIGN_OR_RETURN(const BufferPtr bytes, from.there->ReadRange(piece, ctx));
    PILUM_RETURN_NOT_OK(to->Write(bytes->data(), piece.size));
  }
  return Status::OK();
}

// The rows of one blob column, as users write them.
struct Logical {
  const arrow::StructArray* rows = nullptr;
  std::shared_ptr<arrow::LargeBinaryArray> data;
  std::shared_ptr<arrow::StringArray> uri;
  std::shared_ptr<arrow::UInt64Array> position, size;  // null: in no row
};

template <typename Array>
std::shared_ptr<Array> Member(const arrow::StructArray& rows, const char* name) {
  const auto field = rows.GetFieldByName(name);
  if (!field || field->type_id() != Array::TypeClass::type_id) return nullptr;
  return std::static_pointer_cast<Array>(field);
}

Result<Logical> LogicalOf(const arrow::Array& array, const std::string& path) {
  Logical out;
  if (array.type_id() == arrow::Type::STRUCT) {
    out.rows = static_cast<const arrow::StructArray*>(&array);
    out.data = Member<arrow::LargeBinaryArray>(*out.rows, "data");
    out.uri = Member<arrow::StringArray>(*out.rows, "uri");
    out.position = Member<arrow::UInt64Array>(*out.rows, "position");
    out.size = Member<arrow::UInt64Array>(*out.rows, "size");
    const int members = out.position && out.size ? 4 : 2;
    if (out.data && out.uri && out.rows->num_fields() == members) return out;
  }
  return UsageError(
      "Blob v2 field '{}' has the layout {}; what is written has data: large_binary and uri: string, and may have "
      "position and size: uint64, as blob_array makes it. Rows that a scan gave have descriptions: take_blobs and "
      "blob_handling=\"all_binary\" give the bytes",
      path, array.type()->ToString());
}

// Descriptions, one a row.
class Descriptions {
 public:
  void Null() { Add(std::nullopt); }
  void Add(const std::optional<BlobPlace>& place) {
    const BlobPlace& p = place ? *place : kNone;
    status_ &= valid_.Append(place.has_value());
    status_ &= kinds_.Append(static_cast<uint8_t>(p.kind));
    status_ &= positions_.Append(p.position);
    status_ &= sizes_.Append(p.size);
    status_ &= ids_.Append(p.id);
    status_ &= uris_.Append(p.uri);
  }
  Result<ArrayPtr> Finish(const std::shared_ptr<arrow::DataType>& type) {
    PILUM_RETURN_NOT_OK(status_);
    const int64_t rows = valid_.length();
    const int64_t nulls = valid_.false_count();
    PILUM_ASSIGN_OR_RETURN(auto valid, valid_.Finish());
    arrow::ArrayVector members;
    for (arrow::ArrayBuilder* b :
         std::initializer_list<arrow::ArrayBuilder*>{&kinds_, &positions_, &sizes_, &ids_, &uris_}) {
      PILUM_ASSIGN_OR_RETURN(members.emplace_back(), b->Finish());
    }
    return std::make_shared<arrow::StructArray>(type, rows, std::move(members), nulls > 0 ? valid : nullptr, nulls);
  }

 private:
  static const BlobPlace kNone;
  Status status_;
  arrow::TypedBufferBuilder<bool> valid_;
  arrow::UInt8Builder kinds_;
  arrow::UInt64Builder positions_, sizes_;
  arrow::UInt32Builder ids_;
  arrow::StringBuilder uris_;
};
const BlobPlace Descriptions::kNone;

}  // namespace

class BlobWriter::Impl {
 public:
  Impl(std::shared_ptr<arrow::Schema> schema, const BlobOptions& options, FileWriter* file, Beside beside)
      : schema_(std::move(schema)),
        described_(WithDescriptions(*schema_)),
        options_(options),
        uris_(options.bases, options.outside),
        file_(file),
        beside_(std::move(beside)) {}

  Result<std::shared_ptr<arrow::RecordBatch>> Describe(const arrow::RecordBatch& batch) {
    const BlobMapping each = [this](const BlobColumn& column, const arrow::Array& array, const LiveValues* live) {
      return Values(column, array, live);
    };
    arrow::ArrayVector columns = batch.columns();
    arrow::FieldVector fields = batch.schema()->fields();
    for (int i = 0; i < schema_->num_fields(); ++i) {
      const arrow::Field& field = *schema_->field(i);
      if (!HasBlobV2(field)) continue;
      const int at = batch.schema()->GetFieldIndex(field.name());
      if (at < 0) return UsageError("a batch lacks column '{}'", field.name());
      auto& column = columns[static_cast<size_t>(at)];
      PILUM_ASSIGN_OR_RETURN(column, MapBlobs(field, column, each));
      fields[static_cast<size_t>(at)] = described_->field(i);
    }
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch.num_rows(), std::move(columns));
  }

  Status Finish() {
    if (!pack_) return Status::OK();
    const Status closed = pack_->Close();
    pack_.reset();
    return closed;
  }

 private:
  Result<ArrayPtr> Values(const BlobColumn& column, const arrow::Array& array, const LiveValues* live) {
    PILUM_ASSIGN_OR_RETURN(const BlobThresholds limits, BlobThresholdsOf(column.field));
    PILUM_ASSIGN_OR_RETURN(const Logical values, LogicalOf(array, column.name));
    Descriptions out;
    for (int64_t i = 0; i < array.length(); ++i) {
      if (!IsLive(array, live, i)) {
        out.Null();
        continue;
      }
      auto place = One(values, i, limits);
      if (!place.ok()) return WithContext(fmt::format("Blob v2 field '{}' row {}", column.name, i), place.status());
      out.Add(*place);
    }
    const auto field = arrow::field(column.field.name(), column.field.type(), true, column.field.metadata());
    return out.Finish(FormsOf(field, BlobHandling::kBytes).stored->type());
  }

  Result<BlobPlace> One(const Logical& values, int64_t i, const BlobThresholds& limits) {
    const bool has_data = values.data->IsValid(i), has_uri = values.uri->IsValid(i);
    const bool has_position = values.position && values.position->IsValid(i);
    const bool has_size = values.size && values.size->IsValid(i);
    if (has_position != has_size) return UsageError("it must set both `position` and `size`, or neither");
    if (has_position && !has_uri) return UsageError("it sets `position` and `size` but `uri` is null");
    if (has_data == has_uri) return UsageError("it must set exactly one of `data` and `uri`");
    if (has_size && values.size->Value(i) == 0)
      return UsageError("its external range `size` must be greater than zero");
    if (has_data) return Put({values.data->GetView(i), nullptr, {}}, limits);
    const std::string uri = values.uri->GetString(i);
    std::optional<ByteRange> range;
    if (has_size) range = ByteRange{values.position->Value(i), values.size->Value(i)};
    if (options_.ingest) {
      PILUM_ASSIGN_OR_RETURN(const Payload there, Elsewhere(uri, range));
      return Put(there, limits);
    }
    PILUM_ASSIGN_OR_RETURN(auto at, uris_.Resolve(uri));
    const ByteRange part = range.value_or(ByteRange{0, 0});
    return BlobPlace{BlobPlace::Kind::kExternal, part.offset, part.size, at.base, std::move(at.path)};
  }

  Result<Payload> Elsewhere(const std::string& uri, const std::optional<ByteRange>& range) {
    PILUM_ASSIGN_OR_RETURN(auto source,
                           OpenFileOrObject(uri, ctx_, IsRemoteUri(uri) ? options_.storage : StoreOptions()));
    const ByteRange part = range.value_or(ByteRange{0, source->size()});
    if (part.size > source->size() || part.offset > source->size() - part.size) {
      return UsageError("{} has {} bytes, and {} from {} on are to be taken", uri, source->size(), part.size,
                        part.offset);
    }
    return Payload{{}, std::move(source), part};
  }

  Result<BlobPlace> Put(const Payload& value, const BlobThresholds& limits) {
    using Kind = BlobPlace::Kind;
    const uint64_t size = value.size();
    if (size > limits.most_packed) {
      PILUM_ASSIGN_OR_RETURN(auto sink, beside_(BlobFileName(next_id_)));
      PILUM_RETURN_NOT_OK(Copy(value, sink.get(), ctx_));
      PILUM_RETURN_NOT_OK(sink->Close());
      return BlobPlace{Kind::kDedicated, 0, size, next_id_++, {}};
    }
    if (size > limits.most_inline) return Pack(value, options_.most_together.value_or(limits.most_together));
    BufferPtr read;
    std::string_view bytes = value.here;
    if (value.there && size > 0) {
      PILUM_ASSIGN_OR_RETURN(read, value.there->ReadRange(value.range, ctx_));
      bytes = {reinterpret_cast<const char*>(read->data()), size};
    }
    PILUM_ASSIGN_OR_RETURN(const uint64_t at, file_->WritePayload(bytes));
    return BlobPlace{Kind::kInline, at, size, 0, {}};
  }

  // Into the file that several share; columns with the same limit share it too.
  Result<BlobPlace> Pack(const Payload& value, uint64_t most) {
    const bool fits = pack_ && pack_most_ == most && pack_->position() + value.size() <= most;
    if (!fits) {
      PILUM_RETURN_NOT_OK(Finish());
      PILUM_ASSIGN_OR_RETURN(pack_, beside_(BlobFileName(next_id_)));
      pack_id_ = next_id_++;
      pack_most_ = most;
    }
    const uint64_t at = pack_->position();
    PILUM_RETURN_NOT_OK(Copy(value, pack_.get(), ctx_));
    return BlobPlace{BlobPlace::Kind::kPacked, at, value.size(), pack_id_, {}};
  }

  const std::shared_ptr<arrow::Schema> schema_, described_;
  const BlobOptions options_;
  const ExternalUris uris_;
  FileWriter* const file_;
  const Beside beside_;
  ReadContext ctx_;  // of what lies elsewhere
  uint32_t next_id_ = 1;
  std::unique_ptr<ByteSink> pack_;
  uint32_t pack_id_ = 0;
  uint64_t pack_most_ = 0;
};

BlobWriter::BlobWriter(std::shared_ptr<arrow::Schema> schema, const BlobOptions& options, FileWriter* file,
                       Beside beside)
    : impl_(std::make_unique<Impl>(std::move(schema), options, file, std::move(beside))) {}
BlobWriter::~BlobWriter() = default;

Result<std::shared_ptr<arrow::RecordBatch>> BlobWriter::Describe(const arrow::RecordBatch& batch) {
  return impl_->Describe(batch);
}
Status BlobWriter::Finish() { return impl_->Finish(); }

}  // namespace pilum
