// Columns in another type: their values are written anew, under new ids, in place of the old. Called by columns.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/change/columns.h"
#include "pilum/change/write_columns.h"

namespace pilum {

// kUsage, in pylance's words: these types are not of one kind (whole numbers, floats, times, texts, bytes, decimals, or lists
// of one). A value that the new type does not hold is an error when it is written.
Status CheckCast(const std::string& path, const arrow::DataType& from, const arrow::DataType& to);

// `array` in the type `to`. Structs keep what is NULL; their fields are matched by place.
Result<std::shared_ptr<arrow::Array>> CastColumn(const std::shared_ptr<arrow::Array>& array,
                                                 const std::shared_ptr<arrow::DataType>& to);

// Alterations of which one has a type at least; names and nullability come with them.
Result<Committed> CastColumns(WritableTable table, const std::vector<ColumnAlteration>& alterations,
                              const ChangeOptions& options, ReadContext& ctx);

// kUsage, in pylance's words: a column that is to forbid NULLs has some, or a name comes twice. The types are left for
// CastColumns. (columns.cc)
Result<WireFields> AlterFields(const ChangeBase& base, const std::vector<ColumnAlteration>& alterations,
                               ReadContext& ctx);

}  // namespace pilum
