#include "pilum/table/newest_listed.h"

#include <algorithm>

namespace pilum {
namespace {

constexpr const char* kFolder = "_versions";

NewestListed NewestOf(const std::vector<std::string>& paths) {
  NewestListed out;
  bool any[2] = {false, false};
  for (const std::string& path : paths) {
    const auto name = ParseManifestName(std::string_view(path).substr(std::string_view(kFolder).size() + 1));
    if (!name || name->scheme == ManifestScheme::kDetached) continue;
    any[name->scheme == ManifestScheme::kV2] = true;
    if (!out.version || out.version->name.version < name->version) out.version = ListedVersion{*name};
  }
  out.mixed = any[0] && any[1];
  return out;
}

}  // namespace

std::optional<ListedVersion> NewestKept::Find(const std::string& uri, const FolderStamp& stamp) const {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return std::nullopt;
  for (const Entry& e : entries_) {
    if (e.stamp == stamp && e.uri == uri) return e.version;
  }
  return std::nullopt;
}

void NewestKept::Keep(const std::string& uri, const FolderStamp& stamp, const ListedVersion& version) {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  auto at = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.uri == uri; });
  if (at == entries_.end() && entries_.size() < kMostTables) {
    entries_.push_back({uri, stamp, version});
    return;
  }
  if (at == entries_.end()) {
    at = entries_.begin() + static_cast<std::ptrdiff_t>(oldest_);
    oldest_ = (oldest_ + 1) % kMostTables;
  }
  *at = {uri, stamp, version};
}

Result<NewestListed> FindNewestListed(const ReadOnlyStore& table, ReadContext& ctx) {
  static NewestKept& kept = *new NewestKept;  // of all threads, and at the process's end too
  PILUM_RETURN_NOT_OK(ctx.Check());
  if (const auto stamp = StampOf(table, kFolder)) {
    if (auto version = kept.Find(table.uri(), *stamp)) return NewestListed{*version};
  }
  std::optional<FolderStamp> stamp;
  PILUM_ASSIGN_OR_RETURN(const auto paths, ListStamped(table, kFolder, &stamp, ctx));
  const NewestListed newest = NewestOf(paths);
  if (stamp && newest.version && !newest.mixed) kept.Keep(table.uri(), *stamp, *newest.version);
  return newest;
}

}  // namespace pilum
