#include "pilum/table/find_version.h"

#include <algorithm>
#include <array>

#include "pilum/table/newest_listed.h"

namespace pilum {
namespace {

constexpr int kOlderTried = 16;  // manifests read to find one that opens

Status NoTable(const ReadOnlyStore& table) {
  return NotFoundError("{}: there is no Lance table: no manifest in its _versions/", table.uri());
}

// "1 to 7", "1, 3, 4": which there are, for messages.
std::string VersionsText(const std::vector<ListedVersion>& listed) {
  std::string out;
  size_t given = 0;
  for (size_t i = 0; i < listed.size();) {
    size_t end = i + 1;
    while (end < listed.size() && listed[end].name.version == listed[end - 1].name.version + 1) ++end;
    if (++given > 8) return out + ", …";
    const uint64_t first = listed[i].name.version, last = listed[end - 1].name.version;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", first);
    if (last > first) out += fmt::format("{}{}", last == first + 1 ? ", " : " to ", last);
    i = end;
  }
  return out;
}

// What is wrong with `listed[at]`, and which older one is sound.
Status WithOlder(const ReadOnlyStore& table, const std::vector<ListedVersion>& listed, size_t at, const Status& wrong,
                 ReadContext& ctx) {
  if (!IsUnreadable(wrong)) return wrong;
  for (size_t i = at; i > 0 && at - i < kOlderTried; --i) {
    if (!ReadListed(table, listed[i - 1], ctx).ok()) continue;
    return MakeError(KindOf(wrong), fmt::format("{}; version {} still opens: ask for that one", wrong.message(),
                                                listed[i - 1].name.version));
  }
  return MakeError(KindOf(wrong),
                   wrong.message() + (at == 0 ? "; it is the only version" : "; nor do those before it"));
}

// In any order.
Result<std::vector<ListedVersion>> ListAttached(const ReadOnlyStore& table, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto listed, ListVersionsUnsorted(table, ctx));
  if (listed.attached.empty()) return NoTable(table);
  if (listed.mixed) {
    SortVersions(&listed.attached);
    return Corrupt(table.uri(), "_versions/",
                   fmt::format("manifests are named in both ways, as {} and as {}, so that it cannot be said which is "
                               "the newest; remove those that do not belong there, or ask for one of the versions {}",
                               FormatManifestName({1, ManifestScheme::kV1}),
                               FormatManifestName({1, ManifestScheme::kV2}), VersionsText(listed.attached)));
  }
  return std::move(listed.attached);
}

}  // namespace

bool IsUnreadable(const Status& st) {
  const ErrorKind kind = KindOf(st);
  return kind == ErrorKind::kCorrupt || kind == ErrorKind::kUnsupported || kind == ErrorKind::kNotFound;
}

Result<std::shared_ptr<const Manifest>> ReadListed(const ReadOnlyStore& table, const ListedVersion& listed,
                                                   ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto source, table.OpenSource(listed.path(), ctx));
  return ReadListed(*source, listed, ctx);
}

Result<std::shared_ptr<const Manifest>> ReadListed(const ByteSource& source, const ListedVersion& listed,
                                                   ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto manifest, ReadManifest(source, ctx));
  if (manifest->version != listed.name.version) {
    return Corrupt(
        source.name(), "",
        fmt::format("it is named as version {}, but says that it is {}", listed.name.version, manifest->version));
  }
  return manifest;
}

Result<FoundVersion> FindLatest(const ReadOnlyStore& table, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto found, FindNewestListed(table, ctx));
  if (!found.version) return NoTable(table);
  if (!found.mixed) {
    auto manifest = ReadListed(table, *found.version, ctx);
    if (manifest.ok()) return FoundVersion{*found.version, std::move(*manifest)};
    if (!IsUnreadable(manifest.status())) return manifest.status();
  }
  // What is wrong is told beside the others.
  PILUM_ASSIGN_OR_RETURN(auto listed, ListAttached(table, ctx));
  const ListedVersion newest = *std::max_element(
      listed.begin(), listed.end(), [](const auto& a, const auto& b) { return a.name.version < b.name.version; });
  auto manifest = ReadListed(table, newest, ctx);
  if (manifest.ok()) return FoundVersion{newest, std::move(*manifest)};
  SortVersions(&listed);
  return WithOlder(table, listed, listed.size() - 1, manifest.status(), ctx);
}

Result<FoundVersion> FindVersion(const ReadOnlyStore& table, uint64_t version, ReadContext& ctx) {
  using Schemes = std::vector<ManifestScheme>;
  const bool detached = (version & kDetachedBit) != 0;
  for (const ManifestScheme scheme :
       detached ? Schemes{ManifestScheme::kDetached} : Schemes{ManifestScheme::kV2, ManifestScheme::kV1}) {
    const ListedVersion named{{version, scheme}};
    auto manifest = ReadListed(table, named, ctx);
    if (manifest.ok()) return FoundVersion{named, std::move(*manifest)};
    if (KindOf(manifest.status()) != ErrorKind::kNotFound) return manifest.status();
  }
  PILUM_ASSIGN_OR_RETURN(auto listed, ListVersions(table, ctx));
  if (listed.attached.empty() && listed.detached.empty()) return NoTable(table);
  return NotFoundError("{}: there is no version {}; there are {}", table.uri(), version, VersionsText(listed.attached));
}

Result<FoundVersion> FindAsOf(const ReadOnlyStore& table, int64_t as_of_ns, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto listed, ListAttached(table, ctx));
  SortVersions(&listed);
  for (auto at = listed.rbegin(); at != listed.rend(); ++at) {
    PILUM_ASSIGN_OR_RETURN(auto manifest, ReadListed(table, *at, ctx));
    if (manifest->timestamp_ns <= as_of_ns) return FoundVersion{*at, std::move(manifest)};
  }
  return NotFoundError("{}: all its versions are younger than the time asked for", table.uri());
}

}  // namespace pilum
