#include "pilum/table/manifest_names.h"

#include <algorithm>
#include <charconv>

namespace pilum {
namespace {

constexpr std::string_view kFolder = "_versions/", kSuffix = ".manifest";
constexpr size_t kV2Digits = 20;

// All of `digits`, which has no sign and no leading zero unless `padded`.
std::optional<uint64_t> ParseNumber(std::string_view digits, bool padded) {
  if (digits.empty() || (!padded && digits.size() > 1 && digits[0] == '0')) return std::nullopt;
  uint64_t v = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, v);
  if (error != std::errc() || at != end) return std::nullopt;
  return v;
}

}  // namespace

std::optional<ManifestName> ParseManifestName(std::string_view name) {
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  if (name.starts_with('d')) {
    const auto version = ParseNumber(name.substr(1), false);
    if (!version || (*version & kDetachedBit) == 0) return std::nullopt;
    return ManifestName{*version, ManifestScheme::kDetached};
  }
  const bool v2 = name.size() == kV2Digits;
  const auto number = ParseNumber(name, v2);
  if (!number) return std::nullopt;
  return v2 ? ManifestName{UINT64_MAX - *number, ManifestScheme::kV2} : ManifestName{*number, ManifestScheme::kV1};
}

std::string FormatManifestName(const ManifestName& name) {
  switch (name.scheme) {
    case ManifestScheme::kV1: return fmt::format("{}.manifest", name.version);
    case ManifestScheme::kDetached: return fmt::format("d{}.manifest", name.version);
    default: return fmt::format("{:020}.manifest", UINT64_MAX - name.version);
  }
}

std::string ManifestPath(const ManifestName& name) { return std::string(kFolder) + FormatManifestName(name); }

Result<ListedVersions> ListVersionsUnsorted(const ReadOnlyStore& table, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const auto paths, table.ListPaths(std::string(kFolder), ctx));
  return VersionsAmong(paths);
}

ListedVersions VersionsAmong(const std::vector<std::string>& paths) {
  ListedVersions out;
  bool any[2] = {false, false};
  for (const std::string& path : paths) {
    const auto name = ParseManifestName(std::string_view(path).substr(kFolder.size()));
    if (!name) continue;
    const bool detached = name->scheme == ManifestScheme::kDetached;
    if (!detached) any[name->scheme == ManifestScheme::kV2] = true;
    (detached ? out.detached : out.attached).push_back({*name});
  }
  out.mixed = any[0] && any[1];
  return out;
}

void SortVersions(std::vector<ListedVersion>* versions) {
  std::stable_sort(versions->begin(), versions->end(),
                   [](const ListedVersion& a, const ListedVersion& b) { return a.name.version < b.name.version; });
}

Result<ListedVersions> ListVersions(const ReadOnlyStore& table, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto out, ListVersionsUnsorted(table, ctx));
  SortVersions(&out.attached);
  SortVersions(&out.detached);
  return out;
}

}  // namespace pilum
