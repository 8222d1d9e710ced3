// The indices of a version, as its manifest lists them: what they are of, which fragments they cover, their files. They
// are described here and not read. Plain structs; protobuf stays in indices.cc. Format: docs/formats/table.md, "Indices".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/row_set.h"
#include "pilum/table/manifest.h"

namespace pilum {

struct IndexFile {
  std::string path;   // below the index's folder
  uint64_t size = 0;  // bytes
};

// One segment. Several of one name are parts of one index, each of other fragments.
struct TableIndex {
  std::string uuid;  // hyphenated: its folder is _indices/<uuid>/
  std::string name;
  std::vector<int32_t> fields;      // ids
  uint64_t dataset_version = 0;     // that it was built from, first
  std::optional<RowSet> fragments;  // ids that it covers; some may be gone. nullopt: not known
  std::string details_url;          // "/lance.table.BTreeIndexDetails"; empty in very old tables
  std::string details;              // a message, as stored
  std::string kind;  // as pylance calls it: "BTree", "IVF_PQ"; "Vector" or "Unknown" where only files tell
  std::optional<int32_t> index_version;
  std::optional<uint64_t> created_at_ms;  // since 1970, UTC
  std::optional<uint32_t> base_id;
  std::vector<IndexFile> files;  // none in old tables: there may be some all the same

  std::optional<uint64_t> total_bytes() const;                     // of `files`; nullopt where they are not listed
  bool is_system() const { return name.starts_with("__lance_"); }  // kept by Lance itself, over no column
};

// kCorrupt. Errors name no file.
Result<std::vector<TableIndex>> ParseIndexSection(std::string_view message);
// That section of a manifest; none where it has none. Errors name the file.
Result<std::vector<TableIndex>> ReadIndexSection(const ByteSource& source, const Manifest& manifest, ReadContext& ctx);

// What of `index` covers fragments that `manifest` has; where compaction left a fragment-reuse index among `all`, those
// that took the place of fragments which it covered. nullopt: not known.
Result<std::optional<RowSet>> LiveCoverage(const TableIndex& index, const std::vector<TableIndex>& all,
                                           const Manifest& manifest);
// "e19626bc-e390-4e8d-bbab-370509d29863" of 16 bytes; empty where they are not 16.
std::string UuidText(std::string_view bytes);

}  // namespace pilum
