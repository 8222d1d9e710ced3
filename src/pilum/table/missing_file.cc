#include "pilum/table/missing_file.h"

#include <algorithm>

#include "pilum/table/blobs.h"
#include "pilum/table/find_version.h"

namespace pilum {
namespace {

// Of a file that lies beside a data file ("data/STEM/NAME"), the folder.
bool Names(const Fragment& fragment, const std::string& path) {
  if (fragment.deletions && !fragment.deletions->base_id && fragment.deletions->Path(fragment.id) == path) return true;
  return std::any_of(fragment.files.begin(), fragment.files.end(), [&](const DataFile& file) {
    if (file.base_id) return false;
    const std::string data = "data/" + file.path;
    return data == path || path.starts_with(BlobFolder(data));
  });
}

// One that cannot be read is of no help.
bool Helps(const std::string& path, const ReadOnlyStore& table, const ListedVersion& listed, ReadContext& ctx) {
  const auto manifest = ReadListed(table, listed, ctx);
  if (!manifest.ok()) return false;
  const auto& fragments = (*manifest)->fragments;
  return std::none_of(fragments.begin(), fragments.end(), [&](const Fragment& f) { return Names(f, path); });
}

}  // namespace

Status WithVersionWithout(const std::string& path, const ReadOnlyStore& table, uint64_t version, const Status& missing,
                          ReadContext& ctx) {
  const auto listed = ListVersions(table, ctx);
  if (!listed.ok() || listed->attached.empty()) return missing;
  const auto& versions = listed->attached;
  const auto says = [&](const std::string& what) {
    return MakeError(KindOf(missing), fmt::format("{}; {}", missing.message(), what));
  };
  const uint64_t newest = versions.back().name.version;
  if (newest > version && Helps(path, table, versions.back(), ctx)) {
    return says(fmt::format("version {} does not need it: was version {} cleaned up meanwhile? Open the newest again",
                            newest, version));
  }
  // Once a file came it stayed, as far as anybody can tell from here: those without it come first.
  const auto older = std::lower_bound(versions.begin(), versions.end(), version,
                                      [](const ListedVersion& v, uint64_t than) { return v.name.version < than; });
  const auto first_with =
      std::partition_point(versions.begin(), older, [&](const ListedVersion& v) { return Helps(path, table, v, ctx); });
  if (first_with == versions.begin()) return missing;
  return says(fmt::format("version {} does not need it: ask for that one", (first_with - 1)->name.version));
}

}  // namespace pilum
