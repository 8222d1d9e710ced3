// SQL expressions as columns to be stored: what SELECT gives, in the types and with the nullability that a table's new column
// has. Called by change.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/query/ast.h"
#include "pilum/query/query.h"

namespace pilum {

struct StoredExpression {
  std::string name;
  std::string sql;
};

// Over the rows of `snapshot`; the schema of the answer is out.tail->schema. Arithmetic over a column stays in the column's
// type where the other side is a number (a * 2 of an int32 is an int32), and what does not fit there is an error when it
// runs. kQuery: "NAME: at 7: …"; aggregates are refused.
Result<BoundQuery> BindStoredColumns(const std::vector<StoredExpression>& expressions, const Snapshot& snapshot,
                                     const Params& params);

// The type and nullability of one expression over `schema`, where `bound` is its type as SELECT has it. (stored_type.cc)
std::shared_ptr<arrow::Field> StoredField(const Expr& e, const arrow::Schema& schema,
                                          const std::shared_ptr<arrow::DataType>& bound);

// CAST(NULL AS type), and nothing else: the type; null: it is not that.
Result<std::shared_ptr<arrow::DataType>> TypeOfNulls(const std::string& sql);

}  // namespace pilum
