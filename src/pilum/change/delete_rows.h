// DELETE: rows for which a predicate is TRUE. Called by cli and python.
#pragma once

#include <string>

#include "pilum/change/change.h"
#include "pilum/query/query.h"

namespace pilum {

struct DeletedRows {
  uint64_t version = 0;
  uint64_t rows = 0;
};

// On `table`'s version; where others changed the same rows meanwhile, on theirs. A version is made even where no row
// matches, as pylance does. kQuery where the text is wrong.
Result<DeletedRows> DeleteRows(WritableTable table, const std::string& predicate, const ChangeOptions& options,
                               ReadContext& ctx, const Params& params = {});

}  // namespace pilum
