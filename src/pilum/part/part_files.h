// Names and places of a dataset's objects, and what identifies a part (docs/formats/part_store.md). Used inside part/
// only.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/index/sidecar.h"
#include "pilum/io/disk_cache.h"
#include "pilum/io/object_store.h"

namespace pilum {

class PartCache;

// One listed part.
struct PartFile {
  std::string path;  // in the store
  std::string name;  // without folder and ".lance"
  uint64_t size = 0;
  StoreTime modified{};
  bool merged = false;

  // The 64 hex digits that its bytes hash to by its name (HASH in parts/, PLAN-HASH in merged/). Empty: a foreign name.
  std::string_view content_hash() const;
  // The plan that it is the output of, by its name; nullopt: none.
  std::optional<uint64_t> plan() const;
};

// What the names of a part's sidecars end in, after the part's.
struct SidecarSuffix {
  static constexpr std::string_view kIndex = ".lance.idx", kHeader = ".lance.idxh", kStats = ".lance.stats",
                                    kTerms = ".lance.terms";
};

// A dataset's place in a store: all paths start with `prefix` (empty, or ending in '/').
struct DatasetFiles {
  std::shared_ptr<ObjectStore> store;
  std::string prefix;
  std::string uri;  // for messages
  // What this handle knows of immutable objects already; null: sidecars are read themselves, bundles are not looked at.
  std::shared_ptr<PartCache> cache;

  std::shared_ptr<DiskCache> disk;  // null: none

  DatasetFiles Uncached() const { return {store, prefix, uri, nullptr, nullptr}; }
  // An object that is named by its content, of this size by its listing: through the disk cache, where there is one and the
  // store is remote.
  Result<std::shared_ptr<const ByteSource>> OpenContent(const std::string& path, uint64_t size, ReadContext& ctx) const;
  // What the disk cache knows an object by.
  std::string CacheKey(const std::string& path) const { return store->uri() + "/" + path; }
  bool has_disk() const { return disk && store->cost().remote; }
  std::string PartPath(const std::string& name) const { return prefix + "parts/" + name + ".lance"; }
  std::string MergedPath(const std::string& name) const { return prefix + "merged/" + name + ".lance"; }
  std::string PlanPath(uint64_t number) const { return prefix + fmt::format("plans/{:08}", number); }
  std::string BundlePath(const std::string& name) const { return prefix + "bundles/" + name + ".bundle"; }
  std::string IndexPath(const std::string& name) const { return SidePath(name, SidecarSuffix::kIndex); }
  std::string StatsPath(const std::string& name) const { return SidePath(name, SidecarSuffix::kStats); }
  std::string TermsPath(const std::string& name) const { return SidePath(name, SidecarSuffix::kTerms); }
  std::string HeaderPath(const std::string& name) const { return SidePath(name, SidecarSuffix::kHeader); }
  // Every part of parts/ and merged/, hidden or not, ordered by name. A name that is in both is listed once. parts/ is
  // listed first: what sweep takes from it meanwhile has its merged part in the second listing (docs/adr/0015-plans.md).
  Result<std::vector<PartFile>> ListParts(ReadContext& ctx) const;
  // The two of them, each by name, and both as one.
  Result<std::vector<PartFile>> ListPuts(ReadContext& ctx) const;
  Result<std::vector<PartFile>> ListMerged(ReadContext& ctx) const;
  static std::vector<PartFile> Join(std::vector<PartFile> puts, std::vector<PartFile> merged);
  // How many objects to read at once where each is little work.
  int parallel(const ReadContext& ctx) const;

  struct Sidecar {
    std::string path;
    SidecarKind kind;
  };
  // Those that a part has (.terms: that it may have), in the order in which they are published. The one that says what built
  // them is the last.
  std::array<Sidecar, 4> Sidecars(const std::string& name) const;
  Status NoDataset() const;  // kNotFound: what an empty listing means

 private:
  std::string SidePath(const std::string& name, std::string_view suffix) const {
    return fmt::format("{}side/{}{}", prefix, name, suffix);
  }
};

// 64 lower-case hex digits?
bool IsContentName(std::string_view name);
// The first half of 64 such digits.
Hash128 IdentityOf(std::string_view content_hash);
// The source_part_hash of a sidecar of this part. Reads the tail of a part with a foreign name.
Result<Hash128> PartIdentity(const DatasetFiles& files, const PartFile& part, ReadContext& ctx);

}  // namespace pilum
