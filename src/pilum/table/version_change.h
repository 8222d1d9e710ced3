// What differs between two versions of a table, told from their manifests alone. Called by history.cc, cli and python.
// Pure. Format: docs/formats/table.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pilum/table/indices.h"
#include "pilum/table/manifest.h"

namespace pilum {

struct FieldChange {
  enum class Kind { kAdded, kDropped, kRenamed, kRetyped, kNullable };
  Kind kind = Kind::kAdded;
  int32_t id = 0;
  std::string name;    // dotted; after the change, of a dropped one before it
  std::string before;  // kRenamed: its name; kRetyped: its type
  std::string after;   // kRetyped, kAdded: its type; kNullable: "nullable" or "not null"
};

// Keys whose value differs: what it was and is; nullopt: not there.
using MapChange = std::map<std::string, std::pair<std::optional<std::string>, std::optional<std::string>>>;

struct VersionChange {
  // Fragments by id. Two of one id that share no data file and have different numbers of rows are two.
  std::vector<uint64_t> added, removed;
  uint64_t added_rows = 0;    // without deleted ones, of `added`
  uint64_t removed_rows = 0;  // the same of `removed`
  // Of fragments in both: those with other deletion files, and how many rows more (or less) are deleted.
  std::vector<uint64_t> deleted_in;
  int64_t deleted_rows = 0;
  std::vector<uint64_t> files_in;  // those with other data files
  // Files that only one of them refers to. Their places are those of the manifest they are of.
  std::vector<DataFile> new_files, dropped_files;
  std::vector<std::pair<uint64_t, DeletionFile>> new_deletions;  // with their fragment
  std::vector<FieldChange> fields;
  MapChange config, table_metadata, schema_metadata;
  std::vector<TableIndex> new_indices, dropped_indices;  // segments, by UUID
  std::vector<std::string> new_bases;                    // paths
  int64_t reserved = 0;                                  // fragment ids by which the highest grew beyond those in use
  bool empty() const;                                    // nothing of all this
};

struct VersionFacts {
  const Manifest& manifest;
  const std::vector<TableIndex>& indices;
};
VersionChange CompareVersions(const VersionFacts& before, const VersionFacts& after);

}  // namespace pilum
