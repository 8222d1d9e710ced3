// Columns from outside, by a key: each row of the table gets those of the row that has its key. Called by cli and python.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/change/write_columns.h"

namespace pilum {

// Rows from outside, held in memory, to be found by one column. NULL finds NULL; of several rows with one key the last counts.
// Immutable, thread-safe.
class JoinedRows {
 public:
  // kUsage: there is no such column, or keys cannot be of its type.
  static Result<std::shared_ptr<const JoinedRows>> Read(arrow::RecordBatchReader& rows, const std::string& key,
                                                        ReadContext& ctx);
  ~JoinedRows();

  // Without the key.
  const arrow::RecordBatch& columns() const;
  // Which row each of `keys` finds; NULL: none. kUsage: they are of another type.
  Result<std::shared_ptr<arrow::Array>> Find(const std::shared_ptr<arrow::Array>& keys) const;

 private:
  struct Index;
  explicit JoinedRows(std::unique_ptr<const Index> index);
  const std::unique_ptr<const Index> index_;
};

// NULL where nothing is found. `left_on`: a column, _rowid or _rowaddr.
std::unique_ptr<ColumnValues> ValuesByKey(std::shared_ptr<const JoinedRows> rows, std::string left_on);
// The table's own value where nothing is found; places of those found are added to `found`, ascending.
std::unique_ptr<ColumnValues> ValuesByKeyOrOwn(std::shared_ptr<const JoinedRows> rows, std::string left_on,
                                               std::vector<uint64_t>* found);

// All columns of `rows` but `right_on` are added. kUsage, in pylance's words, where one is there already, or a key column is
// not.
Result<Committed> JoinColumns(WritableTable table, arrow::RecordBatchReader& rows, const std::string& left_on,
                              const std::string& right_on, const ChangeOptions& options, ReadContext& ctx);
Status CheckJoin(const Table& table, const arrow::Schema& rows, const std::string& left_on,
                 const std::string& right_on);

}  // namespace pilum
