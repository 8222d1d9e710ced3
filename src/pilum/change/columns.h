// Columns of a table dropped, renamed, allowed to be NULL, or added as NULLs: the schema alone changes, no file is
// written. Called by cli and python.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/change/change.h"

namespace pilum {

struct ColumnAlteration {
  std::string path;  // "a.b" for a field of a struct
  std::optional<std::string> name;
  std::optional<bool> nullable;
};

// kNotFound names a column that is not there; kUsage where none would be left, a name would come twice, or a column that
// may hold NULLs would not any more.
Result<Committed> DropColumns(WritableTable table, const std::vector<std::string>& paths, const ChangeOptions& options,
                              ReadContext& ctx);
Result<Committed> AlterColumns(WritableTable table, const std::vector<ColumnAlteration>& alterations,
                               const ChangeOptions& options, ReadContext& ctx);
// `columns` must all be nullable.
Result<Committed> AddNullColumns(WritableTable table, const arrow::Schema& columns, const ChangeOptions& options,
                                 ReadContext& ctx);

}  // namespace pilum
