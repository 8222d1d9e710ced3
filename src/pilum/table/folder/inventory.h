// What lies in a table's folder: every object, and what it is. Called by references.cc, inspect and cli. One listing; reads no
// object. Format: docs/formats/table.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pilum/io/read_only_store.h"

namespace pilum {

enum class ObjectKind {
  kManifest,
  kTransaction,
  kData,
  kBlob,  // beside a data file: data/<its stem>/*.blob
  kDeletions,
  kIndex,
  kTag,
  kBranch,
  kHint,       // says which version is the newest; not believed
  kTemporary,  // of a write that is under way, or that never ended
  kStray,      // nothing that Lance would have put there
};
inline constexpr ObjectKind kObjectKinds[] = {ObjectKind::kManifest,  ObjectKind::kTransaction, ObjectKind::kData,
                                              ObjectKind::kBlob,      ObjectKind::kDeletions,   ObjectKind::kIndex,
                                              ObjectKind::kTag,       ObjectKind::kBranch,      ObjectKind::kHint,
                                              ObjectKind::kTemporary, ObjectKind::kStray};
std::string_view ObjectKindName(ObjectKind kind);  // "data file"
std::string_view ObjectKindKey(ObjectKind kind);   // "data": in JSON

struct TableObject {
  std::string path;  // below the table's root
  uint64_t size = 0;
  StoreTime written{};
  ObjectKind kind = ObjectKind::kStray;
  std::string branch;                     // whose folder it lies in; empty: main
  std::string note;                       // of temporaries and strays: what it is
  std::string unfinished;                 // of what ReadOnlyStore::ListUnfinished gave: its path there
  std::string_view name() const;          // the last part of the path
  std::string_view below_branch() const;  // the path without tree/<branch>/
};

// By its name alone.
TableObject ClassifyObject(const ObjectInfo& object);

struct Inventory {
  std::vector<TableObject> objects;  // by path
  // The place in `objects`, or nullopt.
  std::optional<uint32_t> Find(std::string_view path) const;
  // [first, end) of those whose path starts so.
  std::pair<uint32_t, uint32_t> Below(std::string_view prefix) const;
};
// All branches' too. kNotFound where the folder holds nothing.
Result<Inventory> ListInventory(const ReadOnlyStore& root, ReadContext& ctx);

struct KindTotals {
  ObjectKind kind{};
  uint64_t count = 0, bytes = 0, median = 0, largest = 0;
  std::string largest_path;
};
// Of the kinds that there are, in the order of kObjectKinds.
std::vector<KindTotals> TotalsByKind(const Inventory& inventory);

}  // namespace pilum
