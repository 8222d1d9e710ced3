#include "pilum/index/schema_key.h"

#include <algorithm>

#include <arrow/extension_type.h>
#include <arrow/type.h>

#include "pilum/base/bytes.h"
#include "pilum/base/hash.h"

namespace pilum {
namespace {

void AppendText(std::string_view text, std::string* out) {
  AppendLE<uint32_t>(out, static_cast<uint32_t>(text.size()));
  out->append(text);
}

void AppendField(const arrow::Field& field, std::string* out);

void AppendType(const arrow::DataType& type, std::string* out) {
  using arrow::Type;
  // A file keeps an extension type as its storage and in the field's metadata; Arrow makes the type of it where it can.
  if (type.id() == Type::EXTENSION) {
    return AppendType(*static_cast<const arrow::ExtensionType&>(type).storage_type(), out);
  }
  AppendText(type.name(), out);  // e.g. "timestamp"; what makes two of a name differ follows
  switch (type.id()) {
    case Type::TIMESTAMP: {
      const auto& t = static_cast<const arrow::TimestampType&>(type);
      AppendLE<uint8_t>(out, static_cast<uint8_t>(t.unit()));
      AppendText(t.timezone(), out);
      break;
    }
    case Type::TIME32:
    case Type::TIME64:
      AppendLE<uint8_t>(out, static_cast<uint8_t>(static_cast<const arrow::TimeType&>(type).unit()));
      break;
    case Type::DURATION:
      AppendLE<uint8_t>(out, static_cast<uint8_t>(static_cast<const arrow::DurationType&>(type).unit()));
      break;
    case Type::DECIMAL32:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
    case Type::DECIMAL256:
      AppendLE<int32_t>(out, static_cast<const arrow::DecimalType&>(type).precision());
      AppendLE<int32_t>(out, static_cast<const arrow::DecimalType&>(type).scale());
      break;
    case Type::FIXED_SIZE_BINARY:
      AppendLE<int32_t>(out, static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width());
      break;
    case Type::FIXED_SIZE_LIST:
      AppendLE<int32_t>(out, static_cast<const arrow::FixedSizeListType&>(type).list_size());
      break;
    case Type::DICTIONARY:
      AppendType(*static_cast<const arrow::DictionaryType&>(type).index_type(), out);
      AppendType(*static_cast<const arrow::DictionaryType&>(type).value_type(), out);
      break;
    default: break;
  }
  AppendLE<uint32_t>(out, static_cast<uint32_t>(type.num_fields()));
  for (const auto& child : type.fields()) AppendField(*child, out);
}

void AppendField(const arrow::Field& field, std::string* out) {
  AppendText(field.name(), out);
  AppendType(*field.type(), out);
}

}  // namespace

std::string SchemaDescriptor(const arrow::Schema& schema) {
  std::string out;
  for (const auto& field : schema.fields()) AppendField(*field, &out);
  return out;
}

Hash128 SchemaDescriptorHash(const arrow::Schema& schema) {
  const Hash256 full = Blake3Of(SchemaDescriptor(schema));
  Hash128 out;
  std::copy_n(full.begin(), 16, out.begin());
  return out;
}

}  // namespace pilum
