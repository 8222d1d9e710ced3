// Operations on what stands beside the rows: config, metadata, base paths, the list of indices.
#include <algorithm>

#include "pilum/table/commit/applying.h"

namespace pilum {
namespace {

template <typename Map>
void ApplyMap(const wire::Transaction::UpdateMap& update, Map* map) {
  if (update.replace()) map->clear();
  for (const auto& entry : update.entries()) {
    if (entry.has_value()) {
      (*map)[entry.key()] = entry.value();
    } else {
      map->erase(entry.key());
    }
  }
}

}  // namespace

void ApplyFieldMetadata(const wire::Transaction::UpdateMap& update, wire::Field* field) {
  ApplyMap(update, field->mutable_metadata());
  const auto& metadata = field->metadata();
  const auto text = [&](const char* key) { return metadata.contains(key) ? metadata.at(key) : std::string(); };
  field->set_unenforced_primary_key(text("lance-schema:unenforced-primary-key") == "true");
}

Status ApplyUpdateConfig(const wire::Transaction::UpdateConfig& op, Applying* next) {
  auto& m = next->manifest;
  for (const auto& [key, value] : op.old_upsert_values()) (*m.mutable_config())[key] = value;
  for (const auto& key : op.old_delete_keys()) m.mutable_config()->erase(key);
  if (op.has_config_updates()) ApplyMap(op.config_updates(), m.mutable_config());
  if (op.has_table_metadata_updates()) ApplyMap(op.table_metadata_updates(), m.mutable_table_metadata());
  if (op.has_schema_metadata_updates()) ApplyMap(op.schema_metadata_updates(), m.mutable_schema_metadata());
  for (const auto& [id, update] : op.field_metadata_updates()) {
    const auto field = std::find_if(m.mutable_fields()->begin(), m.mutable_fields()->end(),
                                    [&, wanted = id](const auto& f) { return f.id() == wanted; });
    if (field == m.mutable_fields()->end()) {
      return MakeError(ErrorKind::kConflict, fmt::format("there is no field with id {}", id));
    }
    ApplyFieldMetadata(update, &*field);
  }
  return Status::OK();
}

Status ApplyUpdateBases(const wire::Transaction::UpdateBases& op, Applying* next) {
  auto* bases = next->manifest.mutable_base_paths();
  for (const auto& added : op.new_bases()) {
    uint32_t most = 0;
    for (const auto& base : *bases) {
      most = std::max(most, base.id());
      if (base.path() == added.path() || (added.has_name() && base.name() == added.name())) {
        return MakeError(ErrorKind::kConflict, fmt::format("there is a base path {} ('{}') already: {}", base.id(),
                                                           base.name(), base.path()));
      }
    }
    auto* base = bases->Add();
    *base = added;
    if (base->id() == 0) base->set_id(most + 1);
  }
  return Status::OK();
}

Status ApplyCreateIndex(const wire::Transaction::CreateIndex& op, Applying* next) {
  auto* indices = next->indices.mutable_indices();
  const auto replaced = [&](const wire::IndexMetadata& old) {
    return std::any_of(op.new_indices().begin(), op.new_indices().end(),
                       [&](const auto& index) { return index.uuid().uuid() == old.uuid().uuid(); }) ||
           std::any_of(op.removed_indices().begin(), op.removed_indices().end(),
                       [&](const auto& index) { return index.uuid().uuid() == old.uuid().uuid(); });
  };
  indices->erase(std::remove_if(indices->begin(), indices->end(), replaced), indices->end());
  indices->MergeFrom(op.new_indices());
  return Status::OK();
}

}  // namespace pilum
