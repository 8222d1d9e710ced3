#include "pilum/table/commit/schema_fields.h"

#include <set>

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/encoding/shape.h"
#include "pilum/table/column_forms.h"
#include "pilum/table/manifest.h"

namespace pilum {
namespace {

uint32_t NumberIn(const wire::Field& field, const char* key) {
  const auto at = field.metadata().find(key);
  return at == field.metadata().end() ? 0 : static_cast<uint32_t>(std::strtoul(at->second.c_str(), nullptr, 10));
}

void SetTableFacts(wire::Field* field) {
  if (field->logical_type().starts_with("dict:")) field->mutable_dictionary();
  const uint32_t primary = NumberIn(*field, "lance-schema:unenforced-primary-key:position");
  field->set_unenforced_primary_key_position(primary);
  if (primary > 0) field->set_unenforced_primary_key(true);
  const uint32_t clustering = NumberIn(*field, "lance-schema:unenforced-clustering-key:position");
  field->set_unenforced_clustering_key_position(clustering);
}

// Every field that a 2.0 file has a column for: structs and lists too, but not what is packed into one.
void AddEveryField(const arrow::Field& field, const FieldIds& ids, std::vector<int32_t>* out) {
  out->push_back(ids.id);
  if (IsPackedStruct(field)) return;
  for (size_t i = 0; i < ids.children.size(); ++i) {
    AddEveryField(*field.type()->field(static_cast<int>(i)), ids.children[i], out);
  }
}

Result<int32_t> IdOf(const LeafColumn& leaf, const FieldIds& root) {
  const FieldIds* at = &root.children[static_cast<size_t>(leaf.top_level)];
  for (const ShapeLayer& layer : leaf.layers) {
    const auto child = static_cast<size_t>(layer.kind == ShapeLayerKind::kStruct ? layer.child : 0);
    if (child >= at->children.size()) return UsageError("column '{}' lacks field ids", leaf.name);
    at = &at->children[child];
  }
  return at->id;
}

}  // namespace

Result<WireFields> FieldsOf(const arrow::Schema& schema, int32_t first_id) {
  std::set<std::string> names;
  for (const auto& f : schema.fields()) {
    if (!names.insert(f->name()).second) return UsageError("Duplicate field name \"{}\" in schema", f->name());
  }
  arrow::FieldVector stored;
  for (const auto& f : schema.fields()) stored.push_back(StoredFormOf(f));
  PILUM_ASSIGN_OR_RETURN(const std::string bytes,
                         SerializeFileDescriptor(arrow::Schema(std::move(stored), schema.metadata()), 0));
  wire::FileDescriptor descriptor;
  PILUM_RETURN_NOT_OK(ParseWire(bytes, "schema", &descriptor));
  WireFields out = descriptor.schema().fields();
  for (auto& field : out) {
    field.set_id(field.id() + first_id);
    if (field.parent_id() >= 0) field.set_parent_id(field.parent_id() + first_id);
    SetTableFacts(&field);
  }
  return out;
}

google::protobuf::Map<std::string, std::string> MetadataMap(const arrow::Schema& schema) {
  google::protobuf::Map<std::string, std::string> out;
  const auto& metadata = schema.metadata();
  for (int64_t i = 0; metadata && i < metadata->size(); ++i) out[metadata->key(i)] = metadata->value(i);
  return out;
}

Status SetColumns(const arrow::Schema& schema, const FieldIds& ids, FileVersion version, wire::DataFile* file) {
  std::vector<int32_t> held;
  if (version == FileVersion::kV2_0) {
    for (int i = 0; i < schema.num_fields(); ++i) {
      AddEveryField(*schema.field(i), ids.children[static_cast<size_t>(i)], &held);
    }
  } else {
    PILUM_ASSIGN_OR_RETURN(auto leaves, LeafColumnsOf(schema));
    for (const LeafColumn& leaf : leaves) {
      PILUM_ASSIGN_OR_RETURN(held.emplace_back(), IdOf(leaf, ids));
    }
  }
  for (size_t i = 0; i < held.size(); ++i) {
    file->add_fields(held[i]);
    file->add_column_indices(static_cast<int32_t>(i));
  }
  file->set_file_major_version(2);
  file->set_file_minor_version(version == FileVersion::kV2_0 ? 0 : version == FileVersion::kV2_1 ? 1 : 2);
  return Status::OK();
}

void TakeFields(const wire::DataFile& file, wire::DataFragment* fragment) {
  const std::set<int32_t> held(file.fields().begin(), file.fields().end());
  for (auto& old : *fragment->mutable_files()) {
    for (int32_t& id : *old.mutable_fields()) {
      if (held.contains(id)) id = DataFile::kTombstone;
    }
  }
}

}  // namespace pilum
