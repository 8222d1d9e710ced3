// Which version needs which file: one listing, then each manifest of the table read once, one at a time; what is kept is
// a few numbers a version and, a file, the runs of versions that need it. Called by cleanup_plan.cc, inspect, change, cli.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pilum/table/folder/inventory.h"
#include "pilum/table/indices.h"
#include "pilum/table/table.h"

namespace pilum {

inline constexpr uint32_t kNoObject = UINT32_MAX;

// A version, which needs files.
struct Holder {
  std::string branch;  // empty: main
  uint64_t version = 0;
  bool detached = false;
  // Its manifest in the inventory; kNoObject: it appeared after the listing.
  uint32_t object = 0;
  Status status;  // not OK: why it cannot be read; then nothing below is known
  int64_t timestamp_ns = 0;
  std::string writer;
  TableTotals totals;
  std::vector<std::string> tags;      // at it
  std::vector<std::string> branches;  // that began at it
  // In this folder, with its manifest and transaction.
  uint64_t files = 0, bytes = 0;
  uint64_t new_files = 0, new_bytes = 0;  // that no version before it needs
  uint64_t outside_files = 0;             // below base paths that are not here
  std::string moved_from;                 // a base path that was this table's root once; empty: none
};

// Holders [first, last].
struct HolderRun {
  uint32_t first = 0, last = 0;
};
using HolderRuns = std::vector<HolderRun>;

// What a version needs and nobody has, or has otherwise.
struct WrongFile {
  std::string path;  // below the table's root; of an index its folder
  ObjectKind kind{};
  std::optional<uint64_t> size, said;  // none: it is missing
  HolderRuns holders;
};

struct References {
  Inventory inventory;
  std::map<std::string, TableTag> tags;
  std::map<std::string, TableBranch> branches;
  Status refs;  // not OK: tags or branches cannot be read
  // Main's ascending, then those of each branch, then the detached ones; then those that AddNewVersions found.
  std::vector<Holder> holders;
  std::vector<WrongFile> wrong;

  // By whom an object is needed. Side files of blobs go with their data file, files of an index with each other.
  const HolderRuns& HeldBy(uint32_t object) const { return held[leader[object]]; }
  bool IsHeld(uint32_t object) const { return !HeldBy(object).empty(); }
  bool IsHeldBy(uint32_t object, uint32_t holder) const;
  std::optional<uint32_t> FindHolder(const std::string& branch, uint64_t version) const;
  bool AnyUnreadable() const;

  bool IsPinned(uint32_t object) const { return pinned[leader[object]]; }

  std::vector<HolderRuns> held;  // by leader
  std::vector<uint32_t> leader;  // by object
  std::vector<bool> pinned;      // by leader: a clone that AddClone was told of needs it
};

// Called with each manifest that can be read, in the order of the holders; the inventory and the list of holders are whole
// by then.
using VisitManifest = std::function<Status(const References& so_far, uint32_t holder, const Manifest&,
                                           const std::vector<TableIndex>&, const ByteSource&)>;

// Damage is told in the result; an error where nothing can be told: no such folder, no network.
Result<References> CollectReferences(const ReadOnlyStore& root, const VisitManifest& visit, ReadContext& ctx);

// Tags, branches and versions once more, and the manifests of those that were not there; the inventory stays as it was.
Status AddNewVersions(const ReadOnlyStore& root, References* refs, ReadContext& ctx);

// Pins what the versions of a shallow clone, which lies elsewhere, need of this table: files of a base path that are here
// by their name. An error where one of them cannot be read.
Status AddClone(const ReadOnlyStore& clone, References* refs, ReadContext& ctx);

}  // namespace pilum
