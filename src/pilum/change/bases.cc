#include "pilum/change/bases.h"

#include <algorithm>
#include <set>

namespace pilum {

Result<std::vector<BasePath>> NumberedBases(std::vector<BasePath> bases) {
  std::set<uint32_t> ids;
  std::set<std::string> paths, names;
  for (const BasePath& base : bases) {
    if (base.path.empty()) return UsageError("a base path is empty");
    if (!paths.insert(base.path).second) return UsageError("base path {} comes twice", base.path);
    if (!base.name.empty() && !names.insert(base.name).second)
      return UsageError("the name '{}' of base path {} comes twice", base.name, base.path);
    if (base.id != 0 && !ids.insert(base.id).second)
      return UsageError("the id {} of base path {} comes twice", base.id, base.path);
  }
  uint32_t next = 1;
  for (BasePath& base : bases) {
    while (base.id == 0 && ids.contains(next)) ++next;
    if (base.id == 0) ids.insert(base.id = next);
  }
  return bases;
}

wire::BasePath ToWire(const BasePath& base) {
  wire::BasePath out;
  out.set_id(base.id);
  out.set_path(base.path);
  out.set_is_dataset_root(base.is_dataset_root);
  if (!base.name.empty()) out.set_name(base.name);
  return out;
}

namespace {

std::string Listed(const std::vector<BasePath>& bases) {
  std::string out;
  for (const BasePath& base : bases) out += (out.empty() ? "" : ", ") + (base.name.empty() ? base.path : base.name);
  return out.empty() ? "none" : out;
}

Result<FileTarget> TargetOf(const BasePath& base, const StoreOptions& options) {
  PILUM_ASSIGN_OR_RETURN(auto store, ObjectStore::Open(base.path, IsRemoteUri(base.path) ? options : StoreOptions()));
  return FileTarget{base.id, std::move(store), base.is_dataset_root ? "data/" : ""};
}

}  // namespace

Result<std::vector<FileTarget>> TargetsOf(const BaseChoice& choice, const std::vector<BasePath>& bases,
                                          const StoreOptions& options) {
  std::vector<FileTarget> out;
  std::vector<BasePath> chosen;
  if (choice.all) {
    if (!choice.names.empty()) return UsageError("target_bases and target_all_bases do not go together");
    if (choice.own) out.emplace_back();
    if (bases.empty() && !choice.own) return UsageError("the table has no base paths that files could go to");
    chosen = bases;
    std::sort(chosen.begin(), chosen.end(), [](const BasePath& a, const BasePath& b) { return a.id < b.id; });
  }
  for (const std::string& wanted : choice.names) {
    auto found = std::find_if(bases.begin(), bases.end(), [&](const BasePath& b) { return b.name == wanted; });
    if (found == bases.end())
      found = std::find_if(bases.begin(), bases.end(), [&](const BasePath& b) { return b.path == wanted; });
    if (found == bases.end())
      return UsageError("Base reference '{}' not found in available bases: {}", wanted, Listed(bases));
    chosen.push_back(*found);
  }
  for (const BasePath& base : chosen) {
    PILUM_ASSIGN_OR_RETURN(out.emplace_back(), TargetOf(base, options));
  }
  return out;
}

Result<Committed> AddBases(const WritableTable& table, const std::vector<BasePath>& bases, const ChangeOptions& options,
                           ReadContext& ctx) {
  return Redo(table, options, ctx, [&](const ChangeBase& base) -> Result<Committed> {
    std::vector<BasePath> all = base.stored->read->base_paths;
    const size_t old = all.size();
    all.insert(all.end(), bases.begin(), bases.end());
    auto numbered = NumberedBases(std::move(all));
    if (!numbered.ok()) return UsageError("there is such a base path already: {}", numbered.status().message());
    wire::Transaction t;
    auto* added = t.mutable_update_bases()->mutable_new_bases();
    for (size_t i = old; i < numbered->size(); ++i) *added->Add() = ToWire((*numbered)[i]);
    return CommitChange(base, std::move(t), {}, std::nullopt, options, ctx);
  });
}

}  // namespace pilum
