// JSON columns between the form that rows from outside and SQL have, text, and the one that tables store, JSONB. Called by
// fit_rows.cc, expressions.cc and merge_plan.cc. Format: docs/formats/table.md, "JSON".
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/context.h"

namespace pilum {

// Texts (of any string type, or arrow.json over one) as JSONB; what is JSONB already stays. kUsage names `column` and the row
// whose text is no JSON.
Result<std::shared_ptr<arrow::Array>> JsonToStored(const std::shared_ptr<arrow::Array>& array,
                                                   const std::string& column);
// Rows as files hold them with the JSON columns that are `wanted` as text: what SQL is over.
Result<std::shared_ptr<arrow::RecordBatch>> WithJsonText(const arrow::RecordBatch& batch,
                                                         const std::function<bool(const std::string&)>& wanted,
                                                         ReadContext& ctx);
// The fields of such rows, all JSON as text.
std::vector<std::shared_ptr<arrow::Field>> FieldsWithJsonText(const arrow::Schema& stored);

}  // namespace pilum
