#include "pilum/table/column_forms.h"

#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/encoding/shape.h"

namespace pilum {
namespace {

using FieldPtr = std::shared_ptr<arrow::Field>;

constexpr const char *kExtension = "ARROW:extension:name", *kExtensionMetadata = "ARROW:extension:metadata";

bool HasExtension(const arrow::Field& field, std::string_view name) {
  return field.metadata() && field.metadata()->Get(kExtension).ValueOr("") == name;
}

bool IsJson(const arrow::Field& field) {
  return field.type()->id() == arrow::Type::LARGE_BINARY && HasExtension(field, "lance.json");
}
bool IsBlobV2(const arrow::Field& field) {
  return field.type()->id() == arrow::Type::STRUCT && HasExtension(field, "lance.blob.v2");
}
bool IsBlobV1(const arrow::Field& field) {
  return field.type()->id() == arrow::Type::LARGE_BINARY && IsBlobField(field);
}

FieldPtr JsonText(const arrow::Field& field) {
  auto metadata = field.metadata()->Copy();
  (void)metadata->Set(kExtension, "arrow.json");
  return arrow::field(field.name(), arrow::utf8(), field.nullable(), std::move(metadata));
}

FieldPtr BlobDescription(const arrow::Field& field) {
  const auto fact = [](const char* name, std::shared_ptr<arrow::DataType> type) {
    return arrow::field(name, std::move(type), false);
  };
  return arrow::field(
      field.name(),
      arrow::struct_({fact("kind", arrow::uint8()), fact("position", arrow::uint64()), fact("size", arrow::uint64()),
                      fact("blob_id", arrow::uint32()), fact("blob_uri", arrow::utf8())}),
      field.nullable(), arrow::key_value_metadata({"lance-encoding:blob", "lance-encoding:packed"}, {"true", "true"}));
}

FieldPtr BlobBytes(const arrow::Field& field) {
  auto metadata = field.metadata()->Copy();
  (void)metadata->Delete(kExtension);
  return arrow::field(field.name(), arrow::large_binary(), field.nullable(), std::move(metadata));
}

}  // namespace

FieldPtr WithChildren(const arrow::Field& field, arrow::FieldVector children) {
  std::shared_ptr<arrow::DataType> type = field.type();
  switch (type->id()) {
    case arrow::Type::STRUCT: type = arrow::struct_(std::move(children)); break;
    case arrow::Type::LIST: type = arrow::list(std::move(children[0])); break;
    case arrow::Type::LARGE_LIST: type = arrow::large_list(std::move(children[0])); break;
    case arrow::Type::MAP:
      type = std::make_shared<arrow::MapType>(std::move(children[0]),
                                              static_cast<const arrow::MapType&>(*type).keys_sorted());
      break;
    default:
      type = arrow::fixed_size_list(std::move(children[0]),
                                    static_cast<const arrow::FixedSizeListType&>(*type).list_size());
  }
  return field.WithType(std::move(type));
}

FieldPtr StoredFormOf(const FieldPtr& field) {
  const bool is_extension = field->type()->id() == arrow::Type::EXTENSION;
  const bool is_json = is_extension
                           ? static_cast<const arrow::ExtensionType&>(*field->type()).extension_name() == "arrow.json"
                           : arrow::is_base_binary_like(field->type()->id()) && HasExtension(*field, "arrow.json");
  if (!is_json) return field;
  auto metadata = field->metadata() ? field->metadata()->Copy() : std::make_shared<arrow::KeyValueMetadata>();
  (void)metadata->Set(kExtension, "lance.json");
  if (!metadata->Contains(kExtensionMetadata)) metadata->Append(kExtensionMetadata, "");
  return arrow::field(field->name(), arrow::large_binary(), field->nullable(), std::move(metadata));
}

bool IsJsonField(const arrow::Field& stored) { return IsJson(stored); }

bool IsBlobColumn(const arrow::Field& declared) { return IsBlobV1(declared) || IsBlobV2(declared); }

ColumnForms FormsOf(const FieldPtr& field, BlobHandling blobs) {
  const bool bytes = blobs == BlobHandling::kBytes;
  if (IsJson(*field)) return {JsonText(*field), field, JsonText(*field)};
  if (IsBlobV2(*field)) {
    const FieldPtr description = BlobDescription(*field);
    return {field, description, bytes ? BlobBytes(*field) : description};
  }
  if (IsBlobV1(*field)) {
    const FieldPtr stored = bytes ? field : field->WithType(BlobPlaceType());
    return {field, stored, stored};
  }
  if (!arrow::is_nested(field->type()->id()) || field->type()->num_fields() == 0) return {field, field, field};
  arrow::FieldVector declared, stored, given;
  bool changed = false;
  for (const FieldPtr& child : field->type()->fields()) {
    ColumnForms forms = FormsOf(child, blobs);
    changed |= forms.declared != child || forms.stored != child || forms.given != child;
    declared.push_back(std::move(forms.declared));
    stored.push_back(std::move(forms.stored));
    given.push_back(std::move(forms.given));
  }
  if (!changed) return {field, field, field};
  return {WithChildren(*field, std::move(declared)), WithChildren(*field, std::move(stored)),
          WithChildren(*field, std::move(given))};
}

}  // namespace pilum
