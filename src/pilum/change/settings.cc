#include "pilum/change/settings.h"

#include "pilum/change/field_lookup.h"

namespace pilum {
namespace {

void SetUpdate(const MapChange& change, wire::Transaction::UpdateMap* out) {
  for (const auto& [key, value] : change.entries) {
    auto* entry = out->add_entries();
    entry->set_key(key);
    if (value) entry->set_value(*value);
  }
  out->set_replace(change.replace);
}

}  // namespace

Result<Committed> ChangeSettings(WritableTable table, const SettingsChange& change, const ChangeOptions& options,
                                 ReadContext& ctx) {
  return Redo(std::move(table), options, ctx, [&](const ChangeBase& base) -> Result<Committed> {
    wire::Transaction t;
    auto* op = t.mutable_update_config();
    if (change.config) SetUpdate(*change.config, op->mutable_config_updates());
    if (change.table_metadata) SetUpdate(*change.table_metadata, op->mutable_table_metadata_updates());
    if (change.schema_metadata) SetUpdate(*change.schema_metadata, op->mutable_schema_metadata_updates());
    for (const auto& [path, update] : change.field_metadata) {
      PILUM_ASSIGN_OR_RETURN(const int at, FindField(base.stored->manifest.fields(), path));
      SetUpdate(update, &(*op->mutable_field_metadata_updates())[base.stored->manifest.fields(at).id()]);
    }
    return CommitChange(base, std::move(t), {}, std::nullopt, options, ctx);
  });
}

}  // namespace pilum
