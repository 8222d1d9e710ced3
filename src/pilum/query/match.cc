#include "pilum/query/match.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "pilum/query/narrow.h"
#include "pilum/query/prune.h"
#include "pilum/query/recheck.h"
#include "pilum/source/field_path.h"

namespace pilum {
namespace {

RowSet TruePositions(const arrow::BooleanArray& answer) {
  RowSet out;
  for (int64_t i = 0; i < answer.length(); ++i) {
    if (answer.IsValid(i) && answer.Value(i)) out.Append(static_cast<uint64_t>(i), static_cast<uint64_t>(i) + 1);
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<const BoundPredicate>> BindWhere(std::string_view sql, const Snapshot& snapshot,
                                                        const Params& params) {
  PILUM_ASSIGN_OR_RETURN(BoundQuery query, BindQuery(sql, snapshot, params));
  if (!query.bare_predicate || !query.where || query.limit || query.offset > 0 || query.tail) {
    return QueryError("'{}' is not a predicate alone; write what rows are meant, as after WHERE", sql);
  }
  return query.where;
}

Result<RowSet> MatchingRows(const BoundPredicate& where, const Unit& unit, bool use_index, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const bool may, MayMatch(where.root(), unit, use_index, ctx));
  if (!may) return RowSet();
  PILUM_ASSIGN_OR_RETURN(const Candidates candidates, Narrow(where.root(), unit, use_index, ctx));
  const RowSet unsure = candidates.possible.Minus(candidates.certain);
  RowSet found;
  if (unsure.empty()) return candidates.certain;
  PILUM_ASSIGN_OR_RETURN(auto stream, unit.Read(MinimalPaths(where.columns()), unsure, {}, ctx));
  while (true) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
    if (!batch) break;
    PILUM_ASSIGN_OR_RETURN(auto answer, where.Evaluate(*batch, ctx));
    const RowSet rows = PositionsToRows(TruePositions(*answer), stream->rows());
    for (const RowRange& r : rows.ranges()) found.Append(r.begin, r.end);
  }
  return candidates.certain.Union(found);
}

}  // namespace pilum
