#include "pilum/change/migrate_names.h"

#include <algorithm>

#include <arrow/buffer.h>

#include "pilum/table/manifest_names.h"

namespace pilum {
namespace {

Result<std::string> Read(const ObjectStore& store, const std::string& path, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto source, store.OpenSource(path, ctx));
  PILUM_ASSIGN_OR_RETURN(auto bytes, source->ReadRange({0, source->size()}, ctx));
  return bytes->ToString();
}

Status Rename(ObjectStore* store, uint64_t version, ReadContext& ctx) {
  const std::string from = ManifestPath({version, ManifestScheme::kV1}),
                    to = ManifestPath({version, ManifestScheme::kV2});
  PILUM_ASSIGN_OR_RETURN(const std::string bytes, Read(*store, from, ctx));
  PILUM_ASSIGN_OR_RETURN(const bool put, store->PutIfAbsent(to, bytes));
  if (!put) {
    PILUM_ASSIGN_OR_RETURN(const std::string there, Read(*store, to, ctx));
    if (there != bytes) {
      return Corrupt(store->uri(), to,
                     fmt::format("version {} is there under two names, and another one in {}", version, from));
    }
  }
  return store->Remove(from);
}

}  // namespace

Result<uint64_t> MigrateManifestNames(ObjectStore* branch, ReadContext& ctx) {
  uint64_t done = 0;
  for (bool any = true; any;) {
    any = false;
    PILUM_ASSIGN_OR_RETURN(const auto names, branch->ListPaths("_versions/", ctx));
    std::vector<uint64_t> versions;
    for (const std::string& path : names) {
      const auto name = ParseManifestName(std::string_view(path).substr(path.rfind('/') + 1));
      if (name && name->scheme == ManifestScheme::kV1) versions.push_back(name->version);
    }
    std::sort(versions.begin(), versions.end());
    for (const uint64_t version : versions) {
      PILUM_RETURN_NOT_OK(ctx.Check());
      PILUM_RETURN_NOT_OK(Rename(branch, version, ctx));
      any = true;
      ++done;
    }
  }
  return done;
}

}  // namespace pilum
