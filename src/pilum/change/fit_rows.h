// Rows from outside as a table wants them: columns by name, in the table's order, those that are missing left out, no NULL
// where none may be. Called by write_table.cc and by operations that insert. Immutable, thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/file/schema_wire.h"

namespace pilum {

class FitRows {
 public:
  // `table`: the schema of the table; `input`: of the rows. kUsage, in pylance's words, where columns are unknown, have
  // another type, or are missing although they may not be NULL.
  static Result<FitRows> Make(const FileSchema& table, const arrow::Schema& input);
  // Rows of a new table, whose schema is `table`: all columns, nothing missing.
  static Result<FitRows> MakeForNew(const FileSchema& table);

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }  // what is written
  const std::shared_ptr<const FieldIds>& ids() const { return ids_; }
  // No copy, but of JSON, which becomes what is stored. kUsage names a column that has a NULL and may not.
  Result<std::shared_ptr<arrow::RecordBatch>> Fit(const arrow::RecordBatch& batch) const;

 private:
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<const FieldIds> ids_;
};

}  // namespace pilum
