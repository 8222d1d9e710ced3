// Columns of a table dropped, renamed, allowed to be NULL or not, cast, or added as NULLs. But for a cast the schema alone
// changes, and no file is written. Called by cli and python.
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
  std::shared_ptr<arrow::DataType> type = nullptr;  // null: as it is
};

// kNotFound names a column that is not there; kUsage where none would be left, a name would come twice, a column
// that has NULLs is to forbid them, or a cast makes no sense or loses values.
Result<Committed> DropColumns(WritableTable table, const std::vector<std::string>& paths, const ChangeOptions& options,
                              ReadContext& ctx);
Result<Committed> AlterColumns(WritableTable table, const std::vector<ColumnAlteration>& alterations,
                               const ChangeOptions& options, ReadContext& ctx);
// `columns` must all be nullable.
Result<Committed> AddNullColumns(WritableTable table, const arrow::Schema& columns, const ChangeOptions& options,
                                 ReadContext& ctx);

}  // namespace pilum
