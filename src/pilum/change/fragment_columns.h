// Columns of one fragment, written but not committed: what a process does of which another commits the transaction. Called by
// python. Files are durable once the transaction that names them is committed.
#pragma once

#include <string>
#include <vector>

#include "pilum/base/row_set.h"
#include "pilum/change/write_columns.h"

namespace pilum {

struct AddedFragment {
  wire::DataFragment fragment;  // with its new file
  WireFields schema;            // of the table, once it is committed (Merge)
};
Result<AddedFragment> AddFragmentColumns(const WritableTable& table, uint64_t fragment, ColumnValues& values,
                                         ReadContext& ctx);

struct UpdatedFragment {
  wire::DataFragment fragment;  // with the new file; what it holds is another file's no more (-2)
  std::vector<int32_t> fields;  // that have new values, for an Update of kind REWRITE_COLUMNS
  RowSet rows;                  // whose keys were found, by place
};
// Columns that `rows` have beside `right_on` get their values where the keys meet. kUsage, in pylance's words, where one is
// not in the table, or of another type.
Result<UpdatedFragment> UpdateFragmentColumns(const WritableTable& table, uint64_t fragment,
                                              arrow::RecordBatchReader& rows, const std::string& left_on,
                                              const std::string& right_on, ReadContext& ctx);

}  // namespace pilum
