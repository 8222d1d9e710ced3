// Which rows of a unit a predicate is TRUE for: prune, narrow, read its columns, recheck. For work that needs the rows'
// numbers rather than their values (store erase).
#pragma once

#include "pilum/query/query.h"
#include "pilum/source/snapshot.h"

namespace pilum {

// A predicate alone, bound to the snapshot's schema; kQuery for anything else.
Result<std::shared_ptr<const BoundPredicate>> BindWhere(std::string_view sql, const Snapshot& snapshot,
                                                        const Params& params);

Result<RowSet> MatchingRows(const BoundPredicate& where, const Unit& unit, bool use_index, ReadContext& ctx);

}  // namespace pilum
