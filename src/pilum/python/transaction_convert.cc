#include "pilum/python/transaction_convert.h"

#include <arrow/type.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "pilum/file/schema_wire.h"
#include "pilum/python/convert.h"
#include "pilum/python/run.h"
#include "pilum/python/transaction_parts.h"
#include "pilum/table/commit/apply.h"
#include "pilum/table/commit/schema_fields.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

using Op = wire::Transaction;

constexpr const char* kRewriteRows = "rewrite_rows";
constexpr const char* kRewriteColumns = "rewrite_columns";

// (pyarrow.Schema, fields as the manifest has them)
template <typename Fields, typename Metadata>
nb::object SchemaToPython(const Fields& fields, const Metadata& metadata) {
  wire::Schema message;
  *message.mutable_fields() = fields;
  if constexpr (!std::is_same_v<Metadata, std::nullptr_t>) *message.mutable_metadata() = metadata;
  const FileSchema schema = Unwrap(ParseSchemaMessage(SerializeWire(message)));
  nb::list out;
  for (const WireField& f : schema.fields) {
    nb::dict one;
    one["id"] = f.id;
    one["parent_id"] = f.parent_id;
    out.append(one);
  }
  return nb::make_tuple(ToPython(WithExtensionTypes(schema.schema)), out);
}

WireFields NumberedFields(const arrow::Schema& schema, const std::optional<std::vector<int32_t>>& ids) {
  WireFields fields = Unwrap(FieldsOf(schema));
  if (!ids) return fields;
  if (ids->size() < static_cast<size_t>(fields.size())) throw nb::value_error("a schema lacks ids of its fields");
  for (auto& f : fields) {
    f.set_id((*ids)[static_cast<size_t>(f.id())]);
    if (f.parent_id() >= 0) f.set_parent_id((*ids)[static_cast<size_t>(f.parent_id())]);
  }
  return fields;
}

// (pyarrow.Schema, ids of all its fields depth first, or None: from 0 on)
template <typename Message>
void SchemaFromPythonInto(nb::handle given, Message* op) {
  const auto schema = SchemaFromPython(given[0]);
  std::optional<std::vector<int32_t>> ids;
  if (!given[1].is_none()) ids = nb::cast<std::vector<int32_t>>(given[1]);
  *op->mutable_schema() = NumberedFields(*schema, ids);
  if constexpr (requires { op->mutable_schema_metadata(); }) *op->mutable_schema_metadata() = MetadataMap(*schema);
}

nb::object UpdatesToPython(bool has, const Op::UpdateMap& map) {
  if (!has) return nb::none();
  nb::dict updates;
  for (const auto& e : map.entries()) {
    updates[e.key().c_str()] = e.has_value() ? nb::cast(e.value()) : nb::object(nb::none());
  }
  return nb::make_tuple(updates, map.replace());
}

void UpdatesFromPython(nb::handle given, Op::UpdateMap* out) {
  for (const auto& [key, value] : nb::cast<std::map<std::string, std::optional<std::string>>>(given[0])) {
    auto* entry = out->add_entries();
    entry->set_key(key);
    if (value) entry->set_value(*value);
  }
  out->set_replace(nb::cast<bool>(given[1]));
}

// ---- one operation each way

nb::dict RewriteToPython(const Op::Rewrite& op) {
  nb::list groups, indices;
  for (const auto& g : op.groups()) {
    nb::dict one;
    one["old_fragments"] = FragmentsToPython(g.old_fragments());
    one["new_fragments"] = FragmentsToPython(g.new_fragments());
    groups.append(one);
  }
  if (op.groups_size() == 0 && op.old_fragments_size() > 0) {  // of writers before there were groups
    nb::dict one;
    one["old_fragments"] = FragmentsToPython(op.old_fragments());
    one["new_fragments"] = FragmentsToPython(op.new_fragments());
    groups.append(one);
  }
  for (const auto& i : op.rewritten_indices()) {
    nb::dict one;
    one["old_id"] = UuidToText(i.old_id());
    one["new_id"] = UuidToText(i.new_id());
    one["new_details_type_url"] = i.new_details().type_url();
    one["new_details_value"] = nb::bytes(i.new_details().value().data(), i.new_details().value().size());
    one["new_index_version"] = i.new_index_version();
    indices.append(one);
  }
  nb::dict out;
  out["groups"] = groups;
  out["rewritten_indices"] = indices;
  return out;
}

void RewriteFromPython(nb::handle given, Op::Rewrite* op) {
  for (nb::handle g : nb::iter(given["groups"])) {
    auto* group = op->add_groups();
    FragmentsFromPython(g["old_fragments"], group->mutable_old_fragments());
    FragmentsFromPython(g["new_fragments"], group->mutable_new_fragments());
  }
  for (nb::handle i : nb::iter(given["rewritten_indices"])) {
    auto* index = op->add_rewritten_indices();
    *index->mutable_old_id() = UuidFromText(nb::cast<std::string>(i["old_id"]));
    *index->mutable_new_id() = UuidFromText(nb::cast<std::string>(i["new_id"]));
    index->mutable_new_details()->set_type_url(nb::cast<std::string>(i["new_details_type_url"]));
    index->mutable_new_details()->set_value(BytesFromPython(i["new_details_value"]));
    index->set_new_index_version(nb::cast<uint32_t>(i["new_index_version"]));
  }
}

nb::dict UpdateToPython(const Op::Update& op) {
  nb::dict out;
  out["removed_fragment_ids"] = NumbersToPython(op.removed_fragment_ids());
  out["updated_fragments"] = FragmentsToPython(op.updated_fragments());
  out["new_fragments"] = FragmentsToPython(op.new_fragments());
  out["fields_modified"] = NumbersToPython(op.fields_modified());
  out["fields_for_preserving_frag_bitmap"] = NumbersToPython(op.fields_for_preserving_frag_bitmap());
  out["update_mode"] = op.update_mode() == 1 ? kRewriteColumns : kRewriteRows;
  nb::dict offsets;
  for (const auto& [id, bitmap] : op.updated_offsets()) offsets[nb::int_(id)] = nb::bytes(bitmap.data(), bitmap.size());
  out["updated_fragment_offsets"] = op.updated_offsets().empty() ? nb::object(nb::none()) : nb::object(offsets);
  return out;
}

void UpdateFromPython(nb::handle given, Op::Update* op) {
  NumbersFromPython(given["removed_fragment_ids"], op->mutable_removed_fragment_ids());
  FragmentsFromPython(given["updated_fragments"], op->mutable_updated_fragments());
  FragmentsFromPython(given["new_fragments"], op->mutable_new_fragments());
  NumbersFromPython(given["fields_modified"], op->mutable_fields_modified());
  NumbersFromPython(given["fields_for_preserving_frag_bitmap"], op->mutable_fields_for_preserving_frag_bitmap());
  if (nb::cast<std::string>(given["update_mode"]) == kRewriteColumns) op->set_update_mode(1);
  if (given["updated_fragment_offsets"].is_none()) return;
  for (auto [id, bitmap] : nb::cast<nb::dict>(given["updated_fragment_offsets"])) {
    (*op->mutable_updated_offsets())[nb::cast<uint64_t>(id)] = BytesFromPython(bitmap);
  }
}

nb::dict ConfigToPython(const Op::UpdateConfig& op) {
  nb::dict out, fields;
  out["config_updates"] = UpdatesToPython(op.has_config_updates(), op.config_updates());
  if (!op.has_config_updates() && (!op.old_upsert_values().empty() || op.old_delete_keys_size() > 0)) {
    Op::UpdateMap map;  // as writers before 1.0 put it
    for (const auto& [key, value] : op.old_upsert_values()) {
      auto* entry = map.add_entries();
      entry->set_key(key);
      entry->set_value(value);
    }
    for (const auto& key : op.old_delete_keys()) map.add_entries()->set_key(key);
    out["config_updates"] = UpdatesToPython(true, map);
  }
  out["table_metadata_updates"] = UpdatesToPython(op.has_table_metadata_updates(), op.table_metadata_updates());
  out["schema_metadata_updates"] = UpdatesToPython(op.has_schema_metadata_updates(), op.schema_metadata_updates());
  for (const auto& [id, map] : op.field_metadata_updates()) fields[nb::int_(id)] = UpdatesToPython(true, map);
  out["field_metadata_updates"] = op.field_metadata_updates().empty() ? nb::object(nb::none()) : nb::object(fields);
  return out;
}

void ConfigFromPython(nb::handle given, Op::UpdateConfig* op) {
  const auto put = [&](const char* name, auto get) {
    const nb::object map = given[name];
    if (!map.is_none()) UpdatesFromPython(map, get());
  };
  put("config_updates", [&] { return op->mutable_config_updates(); });
  put("table_metadata_updates", [&] { return op->mutable_table_metadata_updates(); });
  put("schema_metadata_updates", [&] { return op->mutable_schema_metadata_updates(); });
  if (given["field_metadata_updates"].is_none()) return;
  for (auto [id, map] : nb::cast<nb::dict>(given["field_metadata_updates"])) {
    UpdatesFromPython(map, &(*op->mutable_field_metadata_updates())[nb::cast<int32_t>(id)]);
  }
}

nb::dict CloneToPython(const Op::Clone& op) {
  nb::dict out;
  out["is_shallow"] = op.is_shallow();
  out["ref_name"] = op.has_ref_name() ? nb::cast(op.ref_name()) : nb::object(nb::none());
  out["ref_version"] = op.ref_version();
  out["ref_path"] = op.ref_path();
  out["branch_name"] = op.has_branch_name() ? nb::cast(op.branch_name()) : nb::object(nb::none());
  return out;
}

nb::dict OverwriteToPython(const Op::Overwrite& op) {
  nb::dict out;
  out["new_schema"] = SchemaToPython(op.schema(), op.schema_metadata());
  out["fragments"] = FragmentsToPython(op.fragments());
  out["initial_bases"] =
      op.initial_bases_size() == 0 ? nb::object(nb::none()) : nb::object(BasesToPython(op.initial_bases()));
  out["config_upsert_values"] =
      std::map<std::string, std::string>(op.config_upsert_values().begin(), op.config_upsert_values().end());
  return out;
}

nb::dict OperationToPython(const Op& t) {
  nb::dict out;
  switch (t.operation_case()) {
    case Op::kAppend: out["fragments"] = FragmentsToPython(t.append().fragments()); break;
    case Op::kDelete:
      out["updated_fragments"] = FragmentsToPython(t.delete_().updated_fragments());
      out["deleted_fragment_ids"] = NumbersToPython(t.delete_().deleted_fragment_ids());
      out["predicate"] = t.delete_().predicate();
      break;
    case Op::kOverwrite: return OverwriteToPython(t.overwrite());
    case Op::kCreateIndex:
      out["new_indices"] = IndicesToPython(t.create_index().new_indices());
      out["removed_indices"] = IndicesToPython(t.create_index().removed_indices());
      break;
    case Op::kRewrite: return RewriteToPython(t.rewrite());
    case Op::kMerge:
      out["fragments"] = FragmentsToPython(t.merge().fragments());
      out["schema"] = SchemaToPython(t.merge().schema(), t.merge().schema_metadata());
      out["preserves_nullability"] = t.merge().preserves_nullability();
      break;
    case Op::kRestore: out["version"] = t.restore().version(); break;
    case Op::kReserveFragments: out["num_fragments"] = t.reserve_fragments().num_fragments(); break;
    case Op::kUpdate: return UpdateToPython(t.update());
    case Op::kProject:
      out["schema"] = SchemaToPython(t.project().schema(), nullptr);
      out["preserves_nullability"] = t.project().preserves_nullability();
      break;
    case Op::kUpdateConfig: return ConfigToPython(t.update_config());
    case Op::kDataReplacement: out["replacements"] = ReplacementsToPython(t.data_replacement()); break;
    case Op::kClone: return CloneToPython(t.clone());
    case Op::kUpdateBases: out["new_bases"] = BasesToPython(t.update_bases().new_bases()); break;
    default: break;
  }
  return out;
}

void OverwriteFromPython(nb::handle given, Op::Overwrite* op) {
  SchemaFromPythonInto(given["new_schema"], op);
  FragmentsFromPython(given["fragments"], op->mutable_fragments());
  if (!given["initial_bases"].is_none()) BasesFromPython(given["initial_bases"], op->mutable_initial_bases());
  for (const auto& [key, value] : nb::cast<std::map<std::string, std::string>>(given["config_upsert_values"])) {
    (*op->mutable_config_upsert_values())[key] = value;
  }
}

void DeleteFromPython(nb::handle given, Op::Delete* op) {
  FragmentsFromPython(given["updated_fragments"], op->mutable_updated_fragments());
  NumbersFromPython(given["deleted_fragment_ids"], op->mutable_deleted_fragment_ids());
  op->set_predicate(nb::cast<std::string>(given["predicate"]));
}

void MergeFromPython(nb::handle given, Op::Merge* op) {
  FragmentsFromPython(given["fragments"], op->mutable_fragments());
  SchemaFromPythonInto(given["schema"], op);
  op->set_preserves_nullability(nb::cast<bool>(given["preserves_nullability"]));
}

void ProjectFromPython(nb::handle given, Op::Project* op) {
  SchemaFromPythonInto(given["schema"], op);
  op->set_preserves_nullability(nb::cast<bool>(given["preserves_nullability"]));
}

void CloneFromPython(nb::handle given, Op::Clone* op) {
  op->set_is_shallow(nb::cast<bool>(given["is_shallow"]));
  if (!given["ref_name"].is_none()) op->set_ref_name(nb::cast<std::string>(given["ref_name"]));
  op->set_ref_version(nb::cast<uint64_t>(given["ref_version"]));
  op->set_ref_path(nb::cast<std::string>(given["ref_path"]));
  if (!given["branch_name"].is_none()) op->set_branch_name(nb::cast<std::string>(given["branch_name"]));
}

void OperationFromPython(const std::string& kind, nb::handle given, Op* t) {
  if (kind == "Append") return FragmentsFromPython(given["fragments"], t->mutable_append()->mutable_fragments());
  if (kind == "Delete") return DeleteFromPython(given, t->mutable_delete_());
  if (kind == "Overwrite") return OverwriteFromPython(given, t->mutable_overwrite());
  if (kind == "Rewrite") return RewriteFromPython(given, t->mutable_rewrite());
  if (kind == "Merge") return MergeFromPython(given, t->mutable_merge());
  if (kind == "Restore") return t->mutable_restore()->set_version(nb::cast<uint64_t>(given["version"]));
  if (kind == "Update") return UpdateFromPython(given, t->mutable_update());
  if (kind == "Project") return ProjectFromPython(given, t->mutable_project());
  if (kind == "UpdateConfig") return ConfigFromPython(given, t->mutable_update_config());
  if (kind == "DataReplacement") return ReplacementsFromPython(given["replacements"], t->mutable_data_replacement());
  if (kind == "Clone") return CloneFromPython(given, t->mutable_clone());
  if (kind == "UpdateBases") return BasesFromPython(given["new_bases"], t->mutable_update_bases()->mutable_new_bases());
  if (kind == "ReserveFragments") {
    return t->mutable_reserve_fragments()->set_num_fragments(nb::cast<uint32_t>(given["num_fragments"]));
  }
  if (kind == "CreateIndex") {
    IndicesFromPython(given["new_indices"], t->mutable_create_index()->mutable_new_indices());
    return IndicesFromPython(given["removed_indices"], t->mutable_create_index()->mutable_removed_indices());
  }
  throw nb::value_error(("Unsupported operation: " + kind).c_str());
}

}  // namespace

nb::dict TransactionToPython(const wire::Transaction& t) {
  nb::dict out;
  out["read_version"] = t.read_version();
  out["uuid"] = t.uuid();
  out["tag"] = t.tag();
  const auto& properties = t.transaction_properties();
  out["properties"] = std::map<std::string, std::string>(properties.begin(), properties.end());
  out["kind"] = OperationName(t);
  out["operation"] = OperationToPython(t);
  return out;
}

void SchemaFieldsFromPython(nb::handle schema, const std::vector<int32_t>& ids, wire::Transaction::Project* out) {
  *out->mutable_schema() = NumberedFields(*SchemaFromPython(schema), ids);
}

wire::Transaction TransactionFromPython(nb::handle given) {
  wire::Transaction t;
  t.set_read_version(nb::cast<uint64_t>(given["read_version"]));
  t.set_uuid(nb::cast<std::string>(given["uuid"]));
  for (const auto& [key, value] : nb::cast<std::map<std::string, std::string>>(given["properties"])) {
    (*t.mutable_transaction_properties())[key] = value;
  }
  OperationFromPython(nb::cast<std::string>(given["kind"]), given["operation"], &t);
  return t;
}

}  // namespace pilum::python
