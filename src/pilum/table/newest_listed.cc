#include "pilum/table/newest_listed.h"

namespace pilum {
namespace {

constexpr const char* kFolder = "_versions";

NewestListed NewestOf(const std::vector<std::string>& paths) {
  const ListedVersions all = VersionsAmong(paths);
  NewestListed out{.mixed = all.mixed};
  for (const ListedVersion& one : all.attached) {
    if (!out.version || out.version->name.version < one.name.version) out.version = one;
  }
  return out;
}

}  // namespace

std::optional<ListedVersion> NewestKept::Find(const std::string& uri, const FolderStamp& stamp) const {
  const auto kept = kept_.Find(uri);
  return kept && kept->stamp == stamp ? std::optional(kept->version) : std::nullopt;
}

void NewestKept::Keep(const std::string& uri, const FolderStamp& stamp, const ListedVersion& version) {
  kept_.Keep(uri, {stamp, version});
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
