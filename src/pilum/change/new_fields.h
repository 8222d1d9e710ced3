// Which fields a table has once columns are added to it or cast, and which of them go to the new data files. Pure. Called by
// operations on columns.
#pragma once

#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/file/schema_wire.h"
#include "pilum/table/commit/schema_fields.h"

namespace pilum {

struct NewFields {
  WireFields all;   // of the table, from now on
  FileSchema file;  // of the new files, with the table's ids; structs hold what is new in them alone
};

// `columns` behind those of `fields`, fields of a struct behind those that it has. Ids from `next_id` on, in the order of
// the new schema; the file has the order of `columns`. `into_structs`: may structs that are there get fields?
// kUsage, in pylance's words, where one exists already or a name cannot be.
Result<NewFields> AddFields(const WireFields& fields, const arrow::Schema& columns, int32_t next_id, bool into_structs);

// `chosen`: indices in `fields`; with all that is below them, and the structs above them.
Result<FileSchema> PartOfFields(const WireFields& fields, const std::vector<int>& chosen);

// No field forbids NULLs that is new or allowed them before.
bool AllowsNullsAsBefore(const WireFields& before, const WireFields& now);

// kUsage: a name comes twice in the same struct.
Status CheckNames(const WireFields& fields);

}  // namespace pilum
