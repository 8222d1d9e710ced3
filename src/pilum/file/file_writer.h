// Writing one Lance file, 2.0 to 2.2, streaming: memory is bounded by page size x columns. Called by part, cli, python.
// Not thread-safe. Same rows, same options: the same bytes, however batched.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/encoding/page_writer.h"
#include "pilum/io/byte_source.h"

namespace pilum {

struct FieldIds;

struct WriteOptions {
  FileVersion version = FileVersion::kV2_2;  // up to kV2_2; others kUnsupported
  uint64_t page_bytes = 8 << 20;             // Arrow bytes of a column after which its page is cut
  uint64_t page_rows = 0;                    // most rows of a page; 0: bytes alone count. Not of version 2.0
  WriteProfile profile = WriteProfile::kBalanced;
  bool checksums = true;                // docs/formats/checksums.md
  std::shared_ptr<const FieldIds> ids;  // of the schema's fields (schema_wire.h); null: depth first from 0
};

class FileWriter {
 public:
  // Checks every type of `schema` for this version now (kUnsupported naming the field), so that no row is lost later.
  static Result<std::unique_ptr<FileWriter>> Make(std::unique_ptr<ByteSink> sink, std::shared_ptr<arrow::Schema> schema,
                                                  const WriteOptions& options);
  virtual ~FileWriter() = default;  // without Finish: nothing appears
  // Columns are matched by name and must have the schema's types (views for strings are converted).
  virtual Status Write(const arrow::RecordBatch& batch) = 0;
  // Goes into the file where the writer stands; returns its index (from 1).
  virtual Result<uint32_t> AddGlobalBuffer(std::string_view bytes) = 0;
  // The same of what rows will point at (blobs): where in the file it begins. Nothing: where the writer stands.
  virtual Result<uint64_t> WritePayload(std::string_view bytes) = 0;
  virtual void AddSchemaMetadata(const std::string& key, const std::string& value) = 0;
  virtual uint64_t rows_written() const = 0;
  virtual uint64_t bytes_written() const = 0;   // so far, without what is still buffered
  virtual uint64_t buffered_bytes() const = 0;  // memory held
  virtual Result<uint64_t> Finish() = 0;        // rows; closes the sink
};

}  // namespace pilum
