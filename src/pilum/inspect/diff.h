// What is different between two versions of a table. Called by cli. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pilum/table/indices.h"
#include "pilum/table/table.h"

namespace pilum {

enum class Change { kAdded, kRemoved, kChanged };
std::string_view ChangeName(Change change);  // "added"

// A field, a config key, an index: what it was, what it is.
struct ItemChange {
  Change change{};
  std::string name;
  std::string before, after;  // as text; empty where it was not, is not
};

struct FragmentChange {
  Change change{};
  uint64_t id = 0;
  uint64_t rows = 0;         // live ones; of a removed one, as it was
  int64_t deleted_rows = 0;  // more than before
  uint64_t files_added = 0, files_removed = 0;
  uint64_t bytes_added = 0, bytes_removed = 0;  // of its data files
  std::string what;                             // "5 rows deleted, 1 file added"
};

struct TableDiff {
  TableTotals before, after;
  std::vector<ItemChange> fields, config, metadata, schema_metadata, indices, other;
  std::vector<FragmentChange> fragments;
  uint64_t same_fragments = 0;
  uint64_t bytes_added = 0, bytes_removed = 0;  // of data files
  bool same() const;
};

struct VersionSide {
  const Manifest& manifest;
  const std::vector<TableIndex>& indices;
};
TableDiff DiffVersions(const VersionSide& before, const VersionSide& after);

}  // namespace pilum
