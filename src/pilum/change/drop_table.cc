#include "pilum/change/drop_table.h"

namespace pilum {

Status DropTable(const std::string& uri, const StoreOptions& storage, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto store, ObjectStore::Open(uri, storage));
  const auto table = Table::Open(uri, {}, storage, ctx);
  PILUM_ASSIGN_OR_RETURN(const auto objects, store->List("", ctx));
  if (!table.ok() && KindOf(table.status()) == ErrorKind::kNotFound && objects.empty()) return table.status();
  if (!table.ok()) {
    return UsageError("{}: no table opens there, so nothing was removed: {}", uri, table.status().message());
  }
  for (const bool manifests : {false, true}) {
    for (const ObjectInfo& object : objects) {
      if (object.path.starts_with("_versions/") != manifests) continue;
      PILUM_RETURN_NOT_OK(ctx.Check());
      PILUM_RETURN_NOT_OK(store->Remove(object.path));
    }
  }
  return Status::OK();
}

}  // namespace pilum
