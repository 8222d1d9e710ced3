#include "pilum/change/blob_columns.h"

#include <algorithm>
#include <charconv>

#include <arrow/array.h>
#include <arrow/compute/cast.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/base/validity.h"
#include "pilum/change/map_blobs.h"
#include "pilum/table/column_forms.h"

namespace pilum {
namespace {

constexpr const char* kMark = "lance-encoding:blob";
constexpr size_t kDescriptionFields = 5;  // kind, position, size, blob_id, blob_uri

// What users give of a blob, at least.
std::shared_ptr<arrow::DataType> GivenType() {
  return arrow::struct_({arrow::field("data", arrow::large_binary()), arrow::field("uri", arrow::utf8())});
}

Status ReadThreshold(const arrow::Field& blob, const char* name, bool may_be_zero, uint64_t* out) {
  const std::string key = fmt::format("lance-encoding:blob-{}-size-threshold", name);
  const auto text = blob.metadata()->Get(key);
  if (!text.ok()) return Status::OK();
  const char* end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, *out);
  if (read.ec == std::errc() && read.ptr == end && (*out > 0 || may_be_zero)) return Status::OK();
  return UsageError("column '{}': its metadata {} is '{}'; it is a number of bytes{}", blob.name(), key, *text,
                    may_be_zero ? "" : ", above 0");
}

Status Check(const arrow::Field& field, const std::string& path) {
  if (IsBlobV2(field)) return BlobThresholdsOf(field).status();
  if (!HasBlobV2(field)) return Status::OK();
  const auto id = field.type()->id();
  if (id == arrow::Type::MAP || id == arrow::Type::FIXED_SIZE_LIST) {
    return Unsupported("column '{}': blobs inside {}; they may stand alone, in structs and in lists", path,
                       id == arrow::Type::MAP ? "a map" : "a fixed-size list");
  }
  for (const auto& child : field.type()->fields()) PILUM_RETURN_NOT_OK(Check(*child, path + "." + child->name()));
  return Status::OK();
}

FieldIds Described(const arrow::Field& field, const FieldIds& ids) {
  if (IsBlobV2(field)) return {ids.id, std::vector<FieldIds>(kDescriptionFields)};
  FieldIds out{ids.id, {}};
  const auto n = std::min(ids.children.size(), static_cast<size_t>(field.type()->num_fields()));
  for (size_t i = 0; i < n; ++i) {
    out.children.push_back(Described(*field.type()->field(static_cast<int>(i)), ids.children[i]));
  }
  return out;
}

}  // namespace

bool IsBlobV2(const arrow::Field& field) {
  if (field.type()->id() == arrow::Type::EXTENSION)
    return static_cast<const arrow::ExtensionType&>(*field.type()).extension_name() == "lance.blob.v2";
  return field.type()->id() == arrow::Type::STRUCT && IsBlobColumn(field);
}

bool HasBlobV2(const arrow::Field& field) {
  const auto& below = field.type()->fields();
  return IsBlobV2(field) || std::any_of(below.begin(), below.end(), [](const auto& f) { return HasBlobV2(*f); });
}

bool HasBlobV2(const arrow::Schema& schema) {
  return std::any_of(schema.fields().begin(), schema.fields().end(), [](const auto& f) { return HasBlobV2(*f); });
}

bool HasMarkedBytes(const arrow::Field& field) {
  const auto id = field.type()->id();
  if (id == arrow::Type::BINARY || id == arrow::Type::LARGE_BINARY) {
    return field.metadata() && field.metadata()->Contains(kMark);
  }
  const auto& below = field.type()->fields();
  return std::any_of(below.begin(), below.end(), [](const auto& f) { return HasMarkedBytes(*f); });
}

std::shared_ptr<arrow::Field> MarkedAsBlobV2(const std::shared_ptr<arrow::Field>& field) {
  if (!HasMarkedBytes(*field)) return field;
  if (!arrow::is_nested(field->type()->id())) {
    auto metadata = field->metadata()->Copy();
    (void)metadata->Delete(kMark);
    (void)metadata->Set("ARROW:extension:name", "lance.blob.v2");
    return arrow::field(field->name(), GivenType(), field->nullable(), std::move(metadata));
  }
  const auto id = field->type()->id();  // in others they stay of the first kind, as no blobs of the second may be there
  if (id != arrow::Type::STRUCT && id != arrow::Type::LIST && id != arrow::Type::LARGE_LIST) return field;
  arrow::FieldVector children;
  for (const auto& child : field->type()->fields()) children.push_back(MarkedAsBlobV2(child));
  return WithChildren(*field, std::move(children));
}

std::shared_ptr<arrow::Schema> MarkedAsBlobV2(const arrow::Schema& schema) {
  arrow::FieldVector fields;
  for (const auto& field : schema.fields()) fields.push_back(MarkedAsBlobV2(field));
  return arrow::schema(std::move(fields), schema.metadata());
}

Result<std::shared_ptr<arrow::Array>> BytesAsBlobV2(const arrow::Field& blobs,
                                                    const std::shared_ptr<arrow::Array>& array) {
  const BlobMapping each = [](const BlobColumn&, const arrow::Array& values,
                              const LiveValues*) -> Result<std::shared_ptr<arrow::Array>> {
    auto bytes = arrow::MakeArray(values.data());
    if (bytes->type_id() == arrow::Type::BINARY) {
      PILUM_ASSIGN_OR_RETURN(bytes, arrow::compute::Cast(*bytes, arrow::large_binary()));
    }
    if (bytes->type_id() != arrow::Type::LARGE_BINARY) return bytes;
    PILUM_ASSIGN_OR_RETURN(auto uris, arrow::MakeArrayOfNull(arrow::utf8(), bytes->length()));
    PILUM_ASSIGN_OR_RETURN(auto valid, ValidityFromZero(*bytes, arrow::default_memory_pool()));
    const int64_t nulls = bytes->null_count(), rows = bytes->length();
    return std::make_shared<arrow::StructArray>(
        GivenType(), rows, arrow::ArrayVector{std::move(bytes), std::move(uris)}, std::move(valid), nulls);
  };
  return MapBlobs(blobs, array, each);
}

Result<BlobThresholds> BlobThresholdsOf(const arrow::Field& blob) {
  BlobThresholds out;
  if (!blob.metadata()) return out;
  PILUM_RETURN_NOT_OK(ReadThreshold(blob, "inline", true, &out.most_inline));
  PILUM_RETURN_NOT_OK(ReadThreshold(blob, "dedicated", false, &out.most_packed));
  PILUM_RETURN_NOT_OK(ReadThreshold(blob, "pack-file", false, &out.most_together));
  return out;
}

Status CheckBlobColumns(const arrow::Schema& schema, FileVersion version) {
  for (const auto& field : schema.fields()) {
    if (!HasBlobV2(*field)) continue;
    if (version < FileVersion::kV2_2) {
      return UsageError("column '{}': Blob v2 requires file version >= 2.2, and the data files are of {}",
                        field->name(), VersionName(version));
    }
    PILUM_RETURN_NOT_OK(Check(*field, field->name()));
  }
  return Status::OK();
}

std::shared_ptr<arrow::Schema> WithDescriptions(const arrow::Schema& schema) {
  arrow::FieldVector fields;
  // Blobs of the first kind are written from their bytes.
  for (const auto& field : schema.fields()) {
    fields.push_back(HasBlobV2(*field) ? FormsOf(field, BlobHandling::kBytes).stored : field);
  }
  return arrow::schema(std::move(fields), schema.metadata());
}

FieldIds IdsWithDescriptions(const arrow::Schema& schema, const FieldIds& ids) {
  FieldIds out{ids.id, {}};
  for (int i = 0; i < schema.num_fields(); ++i) {
    out.children.push_back(Described(*schema.field(i), ids.children[static_cast<size_t>(i)]));
  }
  return out;
}

}  // namespace pilum
