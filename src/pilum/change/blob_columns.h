// Which columns of a table are blobs of kind lance.blob.v2, and what stands in their place in its data files. Called by
// fragment_writer.cc, blob_writer.cc and what takes rows from outside. Format: docs/formats/table.md, "Blobs".
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"
#include "pilum/encoding/descriptor.h"
#include "pilum/file/schema_wire.h"

namespace pilum {

bool IsBlobV2(const arrow::Field& field);
// At any depth?
bool HasBlobV2(const arrow::Field& field);
bool HasBlobV2(const arrow::Schema& schema);

// Bytes that are marked lance-encoding:blob, whatever it says: blobs of the first kind in files up to 2.1, and what pylance
// 14 makes lance.blob.v2 of in later ones. At any depth.
bool HasMarkedBytes(const arrow::Field& field);
// With lance.blob.v2 in their place, of data and uri; their other metadata stays.
std::shared_ptr<arrow::Field> MarkedAsBlobV2(const std::shared_ptr<arrow::Field>& field);
std::shared_ptr<arrow::Schema> MarkedAsBlobV2(const arrow::Schema& schema);
// The same of values: `array` belongs to `blobs`, which HasBlobV2; bytes in the place of blobs become such.
Result<std::shared_ptr<arrow::Array>> BytesAsBlobV2(const arrow::Field& blobs,
                                                    const std::shared_ptr<arrow::Array>& array);

// From how many bytes on a value lies elsewhere than in the data file. Metadata of the field says so, else these.
struct BlobThresholds {
  uint64_t most_inline = 64 << 10;   // of a value in the data file
  uint64_t most_packed = 4 << 20;    // of one in a file with others; checked first
  uint64_t most_together = 1 << 30;  // of such a file
};
// kUsage names what is no number.
Result<BlobThresholds> BlobThresholdsOf(const arrow::Field& blob);

// kUsage: files of this version hold none; a threshold is no number. kUnsupported: inside a map or a fixed-size list.
Status CheckBlobColumns(const arrow::Schema& schema, FileVersion version);

// The columns as data files have them: descriptions in the place of blobs, all else as it is.
std::shared_ptr<arrow::Schema> WithDescriptions(const arrow::Schema& schema);
// Their ids: those that make up a description have none.
FieldIds IdsWithDescriptions(const arrow::Schema& schema, const FieldIds& ids);

}  // namespace pilum
