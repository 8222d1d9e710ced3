// Arrow schemas as the fields of a table, and which fields and columns a new data file has. Pure. Called by change.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/encoding/descriptor.h"
#include "pilum/file/schema_wire.h"
#include "pilum/table/commit/wire.h"

namespace pilum {

using WireFields = google::protobuf::RepeatedPtrField<wire::Field>;

// Depth first from `first_id`. kUnsupported names a type that no Lance file holds, kUsage a name that comes twice.
Result<WireFields> FieldsOf(const arrow::Schema& schema, int32_t first_id = 0);
google::protobuf::Map<std::string, std::string> MetadataMap(const arrow::Schema& schema);

// Which fields the columns of a file of `version` hold that has the columns of `schema`, whose ids are those: into `file`.
Status SetColumns(const arrow::Schema& schema, const FieldIds& ids, FileVersion version, wire::DataFile* file);

// The fields that `file` holds are no other file's of the fragment any more.
void TakeFields(const wire::DataFile& file, wire::DataFragment* fragment);

}  // namespace pilum
