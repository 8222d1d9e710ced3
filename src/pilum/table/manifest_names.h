// How manifests are named, and which versions of a table there are. Called by table.cc and refs.cc. Pure but for
// ListVersions. Format: docs/formats/table.md, "Names".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/io/read_only_store.h"

namespace pilum {

enum class ManifestScheme {
  kV1,        // 7.manifest
  kV2,        // 18446744073709551608.manifest: counted down, so that listings give the newest first
  kDetached,  // d9223372036854775815.manifest: bit 63 of the version is set
};

inline constexpr uint64_t kDetachedBit = uint64_t{1} << 63;

struct ManifestName {
  uint64_t version = 0;
  ManifestScheme scheme = ManifestScheme::kV2;
  bool operator==(const ManifestName&) const = default;
};

// `name`: without folder. nullopt: not the name of a manifest (temporary, stray).
std::optional<ManifestName> ParseManifestName(std::string_view name);
std::string FormatManifestName(const ManifestName& name);
std::string ManifestPath(const ManifestName& name);  // below the table's root

struct ListedVersion {
  ManifestName name;
  uint64_t size = 0;  // bytes of the manifest, where it was read; a listing of names does not tell
  std::string path() const { return ManifestPath(name); }
};

struct ListedVersions {
  std::vector<ListedVersion> attached;  // one a version
  std::vector<ListedVersion> detached;
  bool mixed = false;  // V1 and V2 names beside each other: which is the newest cannot be said
};

// One listing of _versions/, ascending. A table that is not there lists nothing.
Result<ListedVersions> ListVersions(const ReadOnlyStore& table, ReadContext& ctx);
// The same in any order, and putting it in order.
Result<ListedVersions> ListVersionsUnsorted(const ReadOnlyStore& table, ReadContext& ctx);
ListedVersions VersionsAmong(const std::vector<std::string>& paths);  // of "_versions/NAME", in the order given
void SortVersions(std::vector<ListedVersion>* versions);

}  // namespace pilum
