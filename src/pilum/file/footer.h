// The container of a Lance file: footer, tables, schema, column metadata, read from the tail and validated. Called by
// file_reader.cc. Format: docs/formats/lance_file.md, "Container".
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pilum/base/context.h"
#include "pilum/encoding/descriptor.h"
#include "pilum/file/column_wire.h"
#include "pilum/file/checksums.h"
#include "pilum/file/schema_wire.h"
#include "pilum/io/byte_source.h"

namespace pilum {

class FileShape;  // file/projection.h

struct FileMetadata {
  FileVersion version = FileVersion::kV2_2;
  FileSchema schema;                             // of a known one the rows alone
  std::shared_ptr<const FileShape> known_shape;  // null: the schema was parsed
  std::string schema_message;                    // of a parsed one, to know it by; empty: it cannot be
  std::vector<std::vector<StoredPage>> columns;  // pages of each column, in row order
  std::vector<ByteRange> global_buffers;         // 0 is the schema; without the checksums
  uint64_t column_metadata_bytes = 0;
  std::unique_ptr<Checksums> checksums;  // null: the file has none, or verifying is off
};

// One request for the last bytes (ReadCost::tail: 64 KiB of a local file); a second for what lies before them (a third only where the table of global buffers
// itself does). Every range in the result lies within the file, and from 2.1 on every buffer begins on a 64-byte
// boundary. Where the file has checksums, the metadata agree with theirs. Errors name the file.
//
// kNo: of the schema in the file only the number of rows is looked at.
enum class SchemaWanted { kYes, kNo };
Result<FileMetadata> ReadFileMetadata(const ByteSource& source, SchemaWanted wanted, ReadContext& ctx);

}  // namespace pilum
