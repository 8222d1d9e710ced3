// SQL expressions over the columns of a table, each cast to the type that its result is stored as. Called by operations
// that compute values. Immutable, thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/query/query.h"

namespace pilum {

struct Assignment {
  std::string column;  // whose type the value gets; errors name it
  std::string sql;
  std::shared_ptr<arrow::DataType> type;
};

class Expressions {
 public:
  // `schema`: of the rows that they are over. kQuery where a text is wrong, or is no expression of one row.
  static Result<Expressions> Make(const arrow::Schema& schema, std::vector<Assignment> assignments,
                                  const Params& params = {});

  // What they need of the rows.
  const std::vector<FieldPath>& columns() const { return columns_; }
  // One array an assignment. `batch` holds the whole top-level columns that columns() lead into. kUsage where a value does
  // not fit its type: a number too large, a text that is no number.
  Result<arrow::ArrayVector> Evaluate(const arrow::RecordBatch& batch, ReadContext& ctx) const;

 private:
  struct Bound;
  std::vector<Assignment> assignments_;
  std::vector<FieldPath> columns_;
  std::shared_ptr<const Bound> bound_;
};

}  // namespace pilum
