// UPDATE: new values in some columns of the rows for which a predicate is TRUE. Called by cli and python.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pilum/change/change.h"
#include "pilum/query/query.h"

namespace pilum {

struct UpdateOptions : ChangeOptions {
  std::string data_version;  // of the new files; empty: the table's
};

struct UpdatedRows {
  uint64_t version = 0;
  uint64_t rows = 0;
};

// `values`: column -> SQL over the row as it was, cast to the column's type. `predicate`: empty is all rows. The rows move to
// new fragments, with their ids where the table's are stable. Where others changed the same rows meanwhile it is done again on
// theirs; a version is made even where no row matches, as pylance does. kUsage names a column that is not there, lies in a
// struct, or may not be NULL and would be; kQuery where a text is wrong. Memory: a batch, and one file's pages.
Result<UpdatedRows> UpdateRows(WritableTable table, const std::vector<std::pair<std::string, std::string>>& values,
                               const std::string& predicate, const UpdateOptions& options, ReadContext& ctx,
                               const Params& params = {});

}  // namespace pilum
