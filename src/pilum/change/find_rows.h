// Which rows of a version a predicate is TRUE for, by fragment and by their places in it. Called by operations that change
// rows. Nothing is read of columns that the predicate does not name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pilum/query/query.h"
#include "pilum/table/commit/rebase.h"
#include "pilum/table/table.h"

namespace pilum {

// Rows that are deleted are not among them. kQuery where the text is wrong. An empty predicate: all rows. `fragments`: of
// these alone.
Result<TakenRows> FindRows(const Table& table, const std::string& predicate, ReadContext& ctx,
                           const Params& params = {}, const std::optional<std::vector<uint64_t>>& fragments = {});

}  // namespace pilum
