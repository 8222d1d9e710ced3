// A legacy Lance file (0.1), to read, as a table's data file: groups of rows, in each a page a field. Called by
// table/fragment.cc. Immutable and thread-safe; a stream belongs to one thread. Format: docs/formats/legacy_file.md.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pilum/file/file_reader.h"
#include "pilum/file/schema_wire.h"

namespace pilum {

// Whose page is whose is told by field ids alone.
struct LegacyFields {
  std::shared_ptr<arrow::Schema> schema;  // what to read
  FieldIds ids;                           // of `schema`
  int32_t first_id = 0, last_id = 0;  // of all fields that the file was written with: its pages are for each between
};

struct LegacyPage {
  uint64_t position = 0, length = 0;  // bytes from the file's begin; values
};

class LegacyFile : public std::enable_shared_from_this<LegacyFile> {
 public:
  // Reads the tail and the table of pages. kCorrupt; kUnsupported for a file of another version.
  static Result<std::shared_ptr<const LegacyFile>> Open(std::shared_ptr<const ByteSource> source, LegacyFields fields,
                                                        ReadContext& ctx);

  const std::string& name() const { return source_->name(); }
  uint64_t num_rows() const { return group_rows_.back(); }
  // As FileReader::Read. A batch never spans two groups of rows. Values of fixed width are never NULL in such files, nor are
  // structs and lists; strings and binary values of no bytes are NULL where the field may be, as pylance has it.
  // kUnsupported for dictionaries and maps.
  Result<std::unique_ptr<BatchStream>> Read(const std::vector<FieldPath>& columns, const RowSet& rows,
                                            const BatchLimits& limits, const ReadContext& ctx) const;

 private:
  friend class LegacyStream;
  LegacyPage PageOf(int32_t field, size_t group) const;

  std::shared_ptr<const ByteSource> source_;
  LegacyFields fields_;
  std::vector<LeafColumn> leaves_;
  std::vector<uint64_t> group_rows_;  // first row of each group, and last the number of rows
  BufferPtr pages_;                   // i64 position and length, by field, then by group
};

}  // namespace pilum
