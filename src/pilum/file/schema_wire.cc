#include "pilum/file/schema_wire.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "lance_file.pb.h"
#include "pilum/file/logical_type.h"
#include "pilum/file/quiet_protobuf.h"
#include "pilum/base/utf8.h"

namespace pilum {
namespace {

using FieldPtr = std::shared_ptr<arrow::Field>;
using MetadataPtr = std::shared_ptr<const arrow::KeyValueMetadata>;

constexpr int kMaxDepth = 100;      // levels of nesting; each is a level of recursion here and in Arrow
constexpr int kBlobV2Children = 5;  // kind, position, size, blob_id, blob_uri
constexpr int32_t kNoId = -1;

// ---- wire -> Arrow

MetadataPtr MetadataOf(const google::protobuf::Map<std::string, std::string>& map) {
  if (map.empty()) return nullptr;
  std::map<std::string, std::string> sorted(map.begin(), map.end());
  auto metadata = std::make_shared<arrow::KeyValueMetadata>();
  for (const auto& [key, value] : sorted) metadata->Append(key, value);
  return metadata;
}

struct Node {
  const wire::Field* field;
  int depth = 0;
  std::vector<int> children;
};

Status FieldError(const wire::Field& field, std::string_view what) {
  return MakeError(ErrorKind::kCorrupt, fmt::format("schema field '{}' (id {}): {}", field.name(), field.id(), what));
}

bool IsBlobV2(const wire::Field& field) {
  return field.logical_type() == "struct" && field.metadata().contains("lance-encoding:blob");
}

// The tree of the flat list. Returns the top-level nodes.
Result<std::vector<int>> BuildTree(const wire::Schema& schema, std::vector<Node>* nodes) {
  std::vector<int> top;
  std::unordered_map<int32_t, int> by_id;
  int adopting = -1, wanted = 0;  // a blob v2 struct takes the children that follow it, which carry no ids
  for (int i = 0; i < schema.fields_size(); ++i) {
    const wire::Field& field = schema.fields(i);
    nodes->push_back({&field});
    int parent = -1;
    if (field.id() == kNoId && field.parent_id() == kNoId && wanted > 0) {
      parent = adopting;
      --wanted;
    } else {
      wanted = 0;
      if (field.parent_id() != kNoId) {
        auto it = by_id.find(field.parent_id());
        if (it == by_id.end())
          return FieldError(field, fmt::format("its parent {} is not before it", field.parent_id()));
        parent = it->second;
      }
      if (field.id() != kNoId && !by_id.emplace(field.id(), i).second) return FieldError(field, "its id is used twice");
      if (IsBlobV2(field)) adopting = i, wanted = kBlobV2Children;
    }
    if (parent < 0) {
      top.push_back(i);
      continue;
    }
    (*nodes)[i].depth = (*nodes)[parent].depth + 1;
    if ((*nodes)[i].depth > kMaxDepth) return FieldError(field, "nested too deep");
    (*nodes)[parent].children.push_back(i);
  }
  return top;
}

class TreeReader {
 public:
  explicit TreeReader(const std::vector<Node>& nodes) : nodes_(nodes) {}

  Result<FieldPtr> Build(int i) const {
    const wire::Field& field = *nodes_[i].field;
    PILUM_ASSIGN_OR_RETURN(auto type, TypeOf(nodes_[i]));
    return arrow::field(field.name(), std::move(type), field.nullable(), MetadataOf(field.metadata()));
  }

 private:
  Result<std::shared_ptr<arrow::DataType>> TypeOf(const Node& node) const {
    const wire::Field& field = *node.field;
    const std::string& logical = field.logical_type();
    if (logical == "struct") {
      std::vector<FieldPtr> children;
      for (int c : node.children) {
        PILUM_ASSIGN_OR_RETURN(auto child, Build(c));
        children.push_back(std::move(child));
      }
      return arrow::struct_(std::move(children));
    }
    if (logical == "list" || logical == "list.struct") {
      PILUM_ASSIGN_OR_RETURN(auto child, OnlyChild(node));
      return arrow::list(std::move(child));
    }
    if (logical == "large_list" || logical == "large_list.struct") {
      PILUM_ASSIGN_OR_RETURN(auto child, OnlyChild(node));
      return arrow::large_list(std::move(child));
    }
    if (int32_t dimension = FixedSizeListOfStruct(logical)) {
      PILUM_ASSIGN_OR_RETURN(auto child, OnlyChild(node));
      if (child->type()->id() != arrow::Type::STRUCT) return FieldError(field, "its item is not a struct");
      return arrow::fixed_size_list(std::move(child), dimension);
    }
    if (logical == "map") return MapTypeOf(node);
    if (!node.children.empty()) return FieldError(field, fmt::format("type '{}' has child fields", logical));
    auto type = ParseLogicalType(logical);
    if (!type.ok()) return WithContext(fmt::format("schema field '{}'", field.name()), type.status());
    return type;
  }

  Result<FieldPtr> OnlyChild(const Node& node) const {
    if (node.children.size() != 1) {
      return FieldError(*node.field, fmt::format("type '{}' needs one child field, it has {}",
                                                 node.field->logical_type(), node.children.size()));
    }
    return Build(node.children[0]);
  }

  Result<std::shared_ptr<arrow::DataType>> MapTypeOf(const Node& node) const {
    PILUM_ASSIGN_OR_RETURN(auto entries, OnlyChild(node));
    if (entries->type()->id() != arrow::Type::STRUCT || entries->type()->num_fields() != 2) {
      return FieldError(*node.field, "map entries must be a struct of a key and a value");
    }
    auto key = entries->type()->field(0)->WithNullable(false);
    entries = entries->WithType(arrow::struct_({key, entries->type()->field(1)}))->WithNullable(false);
    return arrow::MapType::Make(std::move(entries), /*keys_sorted=*/false);
  }

  const std::vector<Node>& nodes_;
};

// ---- Arrow -> stored form -> wire

Status Refused(const std::string& path, std::string_view what) {
  return Unsupported("column '{}': {}, and no Lance file can hold that; cast or drop it", path, what);
}

MetadataPtr WithExtension(const arrow::ExtensionType& type, const MetadataPtr& metadata) {
  auto out = metadata ? metadata->Copy() : std::make_shared<arrow::KeyValueMetadata>();
  if (!out->Set(std::string(kExtensionName), type.extension_name()).ok()) return out;
  (void)out->Set(std::string(kExtensionMetadata), type.Serialize());
  return out;
}

Result<FieldPtr> Stored(const arrow::Field& field, const std::string& path, int depth);

Result<std::shared_ptr<arrow::DataType>> StoredFixedSizeList(const arrow::FixedSizeListType& type,
                                                             const std::string& path, int depth) {
  if (type.list_size() <= 0) return Refused(path, "a fixed-size list of size 0");
  PILUM_ASSIGN_OR_RETURN(auto item, Stored(*type.value_field(), path + "." + type.value_field()->name(), depth + 1));
  const auto& t = *item->type();
  if (t.id() == arrow::Type::STRUCT) return arrow::fixed_size_list(item, type.list_size());
  bool inner_struct = t.id() == arrow::Type::FIXED_SIZE_LIST && t.field(0)->type()->id() == arrow::Type::STRUCT;
  if (inner_struct ||
      (!arrow::is_fixed_width(t) && t.id() != arrow::Type::FIXED_SIZE_LIST && t.id() != arrow::Type::NA) ||
      t.id() == arrow::Type::DICTIONARY) {
    return Refused(path, fmt::format("a fixed-size list of {}", t.ToString()));
  }
  // The item's name, nullability and metadata are not stored, save that it is a bfloat16.
  MetadataPtr metadata;
  if (IsBfloat16(*item)) {
    metadata = arrow::key_value_metadata({std::string(kExtensionName), std::string(kExtensionMetadata)},
                                         {std::string(kBfloat16), ""});
  }
  return arrow::fixed_size_list(arrow::field("item", item->type(), true, metadata), type.list_size());
}

Result<std::shared_ptr<arrow::DataType>> StoredDictionary(const arrow::DictionaryType& type, const std::string& path) {
  auto value = type.value_type();
  if (value->id() == arrow::Type::STRING_VIEW) value = arrow::utf8();
  if (value->id() == arrow::Type::BINARY_VIEW) value = arrow::binary();
  auto logical = FormatLogicalType(*value);
  if (!logical.ok() || logical->find(':') != std::string::npos || value->id() == arrow::Type::NA) {
    return Refused(path, fmt::format("a dictionary of {}", value->ToString()));
  }
  return arrow::dictionary(type.index_type(), value, /*ordered=*/false);
}

Result<std::shared_ptr<arrow::DataType>> StoredType(const std::shared_ptr<arrow::DataType>& type,
                                                    const std::string& path, int depth) {
  auto child = [&](int i) { return Stored(*type->field(i), path + "." + type->field(i)->name(), depth + 1); };
  switch (type->id()) {
    case arrow::Type::STRING_VIEW: return arrow::utf8();
    case arrow::Type::BINARY_VIEW: return arrow::binary();
    case arrow::Type::DICTIONARY: return StoredDictionary(static_cast<const arrow::DictionaryType&>(*type), path);
    case arrow::Type::FIXED_SIZE_LIST:
      return StoredFixedSizeList(static_cast<const arrow::FixedSizeListType&>(*type), path, depth);
    case arrow::Type::LIST: {
      PILUM_ASSIGN_OR_RETURN(auto item, child(0));
      return arrow::list(item);
    }
    case arrow::Type::LARGE_LIST: {
      PILUM_ASSIGN_OR_RETURN(auto item, child(0));
      return arrow::large_list(item);
    }
    case arrow::Type::STRUCT: {
      std::vector<FieldPtr> children;
      for (int i = 0; i < type->num_fields(); ++i) {
        PILUM_ASSIGN_OR_RETURN(auto c, child(i));
        children.push_back(std::move(c));
      }
      return arrow::struct_(std::move(children));
    }
    case arrow::Type::MAP: {
      if (static_cast<const arrow::MapType&>(*type).keys_sorted()) return Refused(path, "a map with keys_sorted");
      PILUM_ASSIGN_OR_RETURN(auto entries, child(0));
      return arrow::MapType::Make(std::move(entries), /*keys_sorted=*/false);
    }
    default: {
      if (!FormatLogicalType(*type).ok()) return Refused(path, fmt::format("type {}", type->ToString()));
      return type;
    }
  }
}

Result<FieldPtr> Stored(const arrow::Field& field, const std::string& path, int depth) {
  if (!IsUtf8(field.name())) return Refused(path, "a name that is not UTF-8");
  if (depth > kMaxDepth) return Refused(path, "more than 100 levels of nesting");
  auto type = field.type();
  MetadataPtr metadata = field.metadata();
  while (type->id() == arrow::Type::EXTENSION) {
    const auto& extension = static_cast<const arrow::ExtensionType&>(*type);
    metadata = WithExtension(extension, metadata);
    type = extension.storage_type();
  }
  PILUM_ASSIGN_OR_RETURN(type, StoredType(type, path, depth));
  if (metadata && metadata->size() == 0) metadata = nullptr;
  return arrow::field(field.name(), std::move(type), field.nullable(), std::move(metadata));
}

enum EncodingHint { kHintNone = 0, kHintPlain = 1, kHintVarBinary = 2, kHintDictionary = 3 };

EncodingHint HintOf(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::STRUCT:
    case arrow::Type::NA: return kHintNone;
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY: return kHintVarBinary;
    case arrow::Type::DICTIONARY: return kHintDictionary;
    default: return kHintPlain;
  }
}

class TreeWriter {
 public:
  explicit TreeWriter(wire::Schema* schema) : schema_(schema) {}

  // `ids`: whose children are those of `fields`; null: they are counted.
  Status AddEach(const arrow::FieldVector& fields, int32_t parent, const FieldIds* ids) {
    if (ids && ids->children.size() < fields.size()) return UsageError("fields of the schema lack ids");
    for (size_t i = 0; i < fields.size(); ++i) {
      PILUM_RETURN_NOT_OK(Add(*fields[i], parent, ids ? &ids->children[i] : nullptr));
    }
    return Status::OK();
  }

 private:
  Status Add(const arrow::Field& field, int32_t parent, const FieldIds* ids) {
    PILUM_ASSIGN_OR_RETURN(std::string logical, LogicalTypeOf(field));
    wire::Field* out = schema_->add_fields();
    const int32_t id = ids ? ids->id : schema_->fields_size() - 1;
    out->set_name(field.name());
    out->set_id(id);
    out->set_parent_id(id == kNoId ? kNoId : parent);  // so are the members of a blob v2
    out->set_logical_type(logical);
    out->set_nullable(field.nullable());
    out->set_encoding(HintOf(*field.type()));
    if (const auto& metadata = field.metadata()) {
      for (int64_t i = 0; i < metadata->size(); ++i) (*out->mutable_metadata())[metadata->key(i)] = metadata->value(i);
      auto extension = metadata->Get(kExtensionName);
      if (extension.ok()) out->set_extension_name(*extension);
      out->set_unenforced_primary_key(metadata->Get("lance-schema:unenforced-primary-key").ValueOr("") == "true");
    }
    return AddChildren(*field.type(), id, ids);
  }

  static Result<std::string> LogicalTypeOf(const arrow::Field& field) {
    const auto& type = *field.type();
    switch (type.id()) {
      case arrow::Type::STRUCT: return "struct";
      case arrow::Type::MAP: return "map";
      case arrow::Type::LIST: return type.field(0)->type()->id() == arrow::Type::STRUCT ? "list.struct" : "list";
      case arrow::Type::LARGE_LIST:
        return type.field(0)->type()->id() == arrow::Type::STRUCT ? "large_list.struct" : "large_list";
      case arrow::Type::FIXED_SIZE_LIST:
        if (type.field(0)->type()->id() == arrow::Type::STRUCT) {
          return fmt::format("fixed_size_list:struct:{}",
                             static_cast<const arrow::FixedSizeListType&>(type).list_size());
        }
        return FormatLogicalType(type);
      case arrow::Type::LARGE_BINARY:
        if (field.metadata() && field.metadata()->Get(kExtensionName).ValueOr("") == kLanceJson) return "json";
        return "large_binary";
      default: return FormatLogicalType(type);
    }
  }

  Status AddChildren(const arrow::DataType& type, int32_t id, const FieldIds* ids) {
    switch (type.id()) {
      case arrow::Type::FIXED_SIZE_LIST:
        if (type.field(0)->type()->id() != arrow::Type::STRUCT) return Status::OK();
        [[fallthrough]];
      case arrow::Type::STRUCT:
      case arrow::Type::MAP:
      case arrow::Type::LIST:
      case arrow::Type::LARGE_LIST: return AddEach(type.fields(), id, ids);
      default: return Status::OK();
    }
  }

  wire::Schema* schema_;
};

}  // namespace

namespace {

FieldIds IdsOf(const std::vector<Node>& nodes, int i) {
  FieldIds ids{nodes[i].field->id(), {}};
  for (int c : nodes[i].children) ids.children.push_back(IdsOf(nodes, c));
  return ids;
}

Result<FileSchema> SchemaOf(const wire::Schema& schema) {
  FileSchema out;
  std::vector<Node> nodes;
  PILUM_ASSIGN_OR_RETURN(auto top, BuildTree(schema, &nodes));
  TreeReader reader(nodes);
  std::vector<FieldPtr> fields;
  for (int i : top) {
    PILUM_ASSIGN_OR_RETURN(auto field, reader.Build(i));
    fields.push_back(std::move(field));
    out.ids.children.push_back(IdsOf(nodes, i));
  }
  out.schema = arrow::schema(std::move(fields), MetadataOf(schema.metadata()));
  for (const auto& f : schema.fields()) {
    out.fields.push_back({f.name(), f.logical_type(), f.extension_name(), f.id(), f.parent_id(), f.nullable()});
  }
  return out;
}

template <typename Message>
Status Parse(std::string_view bytes, std::string_view what, Message* out) {
  QuietProtobuf();
  if (bytes.size() > INT32_MAX || !out->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return MakeError(ErrorKind::kCorrupt, fmt::format("schema: the {} message does not parse", what));
  }
  return Status::OK();
}

}  // namespace

Result<FileSchema> ParseFileDescriptor(std::string_view bytes) {
  google::protobuf::Arena arena;
  auto& descriptor = *google::protobuf::Arena::CreateMessage<wire::FileDescriptor>(&arena);
  PILUM_RETURN_NOT_OK(Parse(bytes, "file descriptor", &descriptor));
  PILUM_ASSIGN_OR_RETURN(FileSchema out, SchemaOf(descriptor.schema()));
  out.num_rows = descriptor.length();
  return out;
}

Result<FileSchema> ParseSchemaMessage(std::string_view bytes) {
  google::protobuf::Arena arena;
  auto& schema = *google::protobuf::Arena::CreateMessage<wire::Schema>(&arena);
  PILUM_RETURN_NOT_OK(Parse(bytes, "schema", &schema));
  return SchemaOf(schema);
}

Result<std::shared_ptr<arrow::Schema>> StoredSchema(const arrow::Schema& schema) {
  std::vector<FieldPtr> fields;
  for (const auto& field : schema.fields()) {
    PILUM_ASSIGN_OR_RETURN(auto stored, Stored(*field, field->name(), 0));
    fields.push_back(std::move(stored));
  }
  auto metadata = schema.metadata();
  if (metadata && metadata->size() == 0) metadata = nullptr;
  return arrow::schema(std::move(fields), std::move(metadata));
}

Result<std::string> SerializeFileDescriptor(const arrow::Schema& schema, uint64_t num_rows, const FieldIds* ids) {
  PILUM_ASSIGN_OR_RETURN(auto stored, StoredSchema(schema));
  wire::FileDescriptor descriptor;
  descriptor.set_length(num_rows);
  TreeWriter writer(descriptor.mutable_schema());
  PILUM_RETURN_NOT_OK(writer.AddEach(stored->fields(), kNoId, ids));
  if (const auto& metadata = stored->metadata()) {
    auto& map = *descriptor.mutable_schema()->mutable_metadata();
    for (int64_t i = 0; i < metadata->size(); ++i) map[metadata->key(i)] = metadata->value(i);
  }
  std::string out;
  google::protobuf::io::StringOutputStream stream(&out);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  if (!descriptor.SerializeToCodedStream(&coded)) {
    return UsageError("the schema cannot be stored: a name or a metadata key is not UTF-8, or it is over 2 GiB");
  }
  coded.Trim();
  return out;
}

}  // namespace pilum
