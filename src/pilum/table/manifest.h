// One version of a Lance table as its manifest tells it: plain structs, protobuf stays in manifest.cc. Called by the
// rooms of table. Immutable once read. Format: docs/formats/table.md, "Manifest".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/file/schema_wire.h"
#include "pilum/io/byte_source.h"

namespace pilum {

struct DataFile {
  static constexpr int32_t kTombstone = -2;  // a slot whose column another file has now
  std::string path;                          // below data/
  std::vector<int32_t> fields;               // ids; some may have left the schema
  std::vector<int32_t> column_indices;       // one a field; -1: no column of its own. Empty in legacy files
  uint32_t major = 0, minor = 0;             // 0.x: legacy
  uint64_t size = 0;                         // bytes; 0: not known
  std::optional<uint32_t> base_id;
  bool is_legacy() const { return major == 0 && minor <= 2; }
  std::string version() const;  // "2.1" as pylance calls it
};

struct DeletionFile {
  enum class Kind { kArrowArray, kBitmap };
  Kind kind = Kind::kArrowArray;
  uint64_t read_version = 0, id = 0;
  uint64_t num_deleted = 0;  // 0: not known
  std::optional<uint32_t> base_id;
  std::string Path(uint64_t fragment) const;  // below the table's root
};

// The bytes of a sequence, or where they lie.
struct SequenceBytes {
  enum class Where { kNone, kInline, kExternal, kSpilled };
  Where where = Where::kNone;
  std::string bytes;  // kInline
  std::string path;   // kExternal, below the table's root
  ByteRange range;
};

struct Fragment {
  uint64_t id = 0;
  std::vector<DataFile> files;
  std::optional<DeletionFile> deletions;
  uint64_t physical_rows = 0;  // with deleted ones; 0 in very old tables that have files: only those know
  SequenceBytes row_ids, created_at, last_updated_at;
};

struct BasePath {
  uint32_t id = 0;
  std::string name, path;
  bool is_dataset_root = false;
};

struct Manifest {
  uint64_t version = 0;
  FileSchema schema;  // with field ids
  std::vector<Fragment> fragments;
  std::map<std::string, std::string> config, table_metadata;
  std::vector<BasePath> base_paths;
  std::optional<std::string> branch;
  uint64_t reader_flags = 0, writer_flags = 0;
  std::optional<uint32_t> max_fragment_id;
  uint64_t next_row_id = 0;
  int64_t timestamp_ns = 0;         // since 1970, UTC
  std::string data_version;         // of new files: "2.2"; pylance's own names
  std::string writer;               // "lance 14.0.2"; may be empty
  std::string transaction_file;     // below _transactions/; may be empty
  std::optional<uint64_t> indices;  // where in the file the section lies
  std::optional<uint64_t> transaction;
  uint64_t file_size = 0;
  ByteRange section;    // the message in the file
  std::string message;  // as it was stored: a writer changes a copy of it, so that fields nobody here knows survive

  bool has_stable_row_ids() const;
  const Fragment* FindFragment(uint64_t id) const;  // null: there is none
  // Rows of fragments and of deletion files are as it says. Lance before it named itself as the writer (0.8) counted wrong.
  bool tells_row_counts() const { return !writer.empty(); }
};

// Reads the end of the file, and what of the manifest lies before it. kCorrupt, or kUnsupported where a reader flag is
// set that asks for what is not known here. Errors name the file.
Result<std::shared_ptr<const Manifest>> ReadManifest(const ByteSource& source, ReadContext& ctx);
// The message alone; errors do not name a file. (For ReadManifest and fuzzers.)
Result<Manifest> ParseManifest(std::string_view message);
// A section that a manifest points to: a length of 32 bits, then so many bytes. kCorrupt.
Result<std::string> ReadManifestSection(const ByteSource& source, uint64_t position, ReadContext& ctx);

}  // namespace pilum
