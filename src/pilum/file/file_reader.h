// Reading one Lance file, 2.0 to 2.2. Called by part, query, cli and python. A FileReader is immutable and
// thread-safe; a BatchStream belongs to one thread. Format: docs/formats/lance_file.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/context.h"
#include "pilum/base/row_set.h"
#include "pilum/encoding/descriptor.h"
#include "pilum/encoding/shape.h"
#include "pilum/io/byte_source.h"

namespace pilum {

class FileShape;  // file/projection.h

struct BatchLimits {
  uint64_t rows = 16384;  // most rows in a batch
  // Most Arrow bytes in a batch, as they would be in buffers of its own (batches are slices of what was decoded at
  // once, which several rows together keep within 32 MiB more than this). A row that is larger comes alone.
  uint64_t bytes = 64 << 20;
};

// Batches in ascending row order. Next gives nullptr at the end. After an error every further Next repeats it.
class BatchStream {
 public:
  virtual ~BatchStream() = default;
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
  // Row numbers of the batch that Next returned last.
  virtual const RowSet& rows() const = 0;
};

struct ColumnPageInfo {
  uint64_t first_row, rows, bytes;
  std::string layout;
  std::vector<ByteRange> buffers;  // in the file
};
struct ColumnInfo {
  std::string name;  // dotted leaf name
  std::string type;  // Arrow type of the leaf
  std::vector<ColumnPageInfo> pages;
  uint64_t bytes = 0;  // all page buffers (and blob payloads where known)
};

struct FileInfo {
  FileVersion version;
  uint64_t file_size = 0, num_rows = 0, num_columns = 0, num_global_buffers = 0;
  uint64_t schema_bytes = 0, column_metadata_bytes = 0;
  std::vector<ByteRange> global_buffers;  // in the file; 0 is the schema
  bool checksums = false;                 // it has some, and they are looked at (ReadContext::verify)
};

// A file seen through a schema of somebody else's, a table's: its columns under the fields that they are there. What the
// file calls them itself is not looked at.
struct FileView {
  std::shared_ptr<arrow::Schema> schema;
  // Of each column that `schema` has, depth first, its number in the file; no two the same. From 2.1 on those are its
  // leaf columns, in a file of 2.0 all its structs, lists and leaves.
  std::vector<uint32_t> columns;
  bool every_field = false;  // `columns` is as for 2.0
  // Of `schema`: what files seen through one view share. Null: each makes its own.
  std::shared_ptr<const FileShape> shape;
};

class FileReader : public std::enable_shared_from_this<FileReader> {
 public:
  // Reads the tail (one request of up to 64 KiB, or as ReadCost says; a second if the metadata is larger) and nothing else; validates
  // footer, tables, schema, and where each page lies. A page's layout is validated when the page is first read (or
  // Check looks at it). kUnsupported naming the version
  // for 2.3 and legacy; kCorrupt otherwise.
  static Result<std::shared_ptr<const FileReader>> Open(std::shared_ptr<const ByteSource> source, ReadContext& ctx);
  // The same of some columns of the file; kCorrupt too where it has none of such number, or of the other numbering.
  static Result<std::shared_ptr<const FileReader>> OpenView(std::shared_ptr<const ByteSource> source,
                                                            const FileView& view, ReadContext& ctx);
  virtual ~FileReader() = default;

  virtual const std::string& name() const = 0;
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  virtual uint64_t num_rows() const = 0;
  virtual const FileInfo& info() const = 0;
  virtual std::vector<ColumnInfo> Columns() const = 0;  // what `columns` shows; from the metadata alone
  virtual const std::vector<LeafColumn>& leaf_columns() const = 0;

  // `columns`: which fields, in this order (top-level order and duplicates kept as given; several paths into one
  // top-level field give one column with just those children, at the first one's place). nullopt: all. An unknown path
  // is kNotFound and lists near names. `rows`: ascending row numbers below num_rows(), else kUsage. `ctx` is copied:
  // its stats and stop must outlive the stream, its pool the reader too, whose pages keep what they share (dictionaries,
  // tables of chunks). The stream keeps the reader alive.
  virtual Result<std::unique_ptr<BatchStream>> Read(const std::optional<std::vector<FieldPath>>& columns,
                                                    const RowSet& rows, const BatchLimits& limits,
                                                    const ReadContext& ctx) const = 0;
  // The type a Read of these columns gives.
  virtual Result<std::shared_ptr<arrow::Schema>> ProjectedSchema(
      const std::optional<std::vector<FieldPath>>& columns) const = 0;

  // Rows in the caller's order, duplicates kept, as one batch: by address where the pages allow, without decoding what
  // lies around them. For few rows (kTakeRows); a large part of a file is read sooner with Read. kMemory where one array
  // cannot hold them, or where several rows would need more than about `most_bytes` beside what the context's pool
  // gives. Takes of any size within a budget: file/take_stream.h.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> TakeBatch(const std::optional<std::vector<FieldPath>>& columns,
                                                                std::span<const uint64_t> rows, const ReadContext& ctx,
                                                                uint64_t most_bytes = UINT64_MAX) const = 0;
  static constexpr uint64_t kTakeRows = 4096;
  static constexpr uint64_t kTakeBytes = 96 << 20;
  // Rows in the caller's order, duplicates kept, as one table of one chunk a column. The table aside, no more than
  // kTakeBytes are held.
  Result<std::shared_ptr<arrow::Table>> Take(const std::optional<std::vector<FieldPath>>& columns,
                                             const std::vector<uint64_t>& rows, const ReadContext& ctx) const;
  Result<std::shared_ptr<arrow::Table>> ReadTable(const std::optional<std::vector<FieldPath>>& columns,
                                                  const RowSet& rows, const ReadContext& ctx) const;
  // Global buffer i (0 is the schema).
  virtual Result<BufferPtr> ReadGlobalBuffer(uint32_t i, ReadContext& ctx) const = 0;
  // Verifies all checksums of the file where it has some, then reads and decodes every page that they do not condemn;
  // every fault found, each with its place and rows. Empty: the file is sound.
  virtual Result<std::vector<Status>> Check(ReadContext& ctx) const = 0;
};

}  // namespace pilum
