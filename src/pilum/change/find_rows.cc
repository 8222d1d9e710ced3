#include "pilum/change/find_rows.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

namespace pilum {

Result<TakenRows> FindRows(const Table& table, const std::string& predicate, ReadContext& ctx, const Params& params,
                           const std::optional<std::vector<uint64_t>>& fragments) {
  if (table.schema()->GetFieldIndex("_rowaddr") >= 0) {
    return Unsupported("{}: it has a column named _rowaddr, which hides where its rows are; rename it first",
                       table.uri());
  }
  PILUM_ASSIGN_OR_RETURN(auto snapshot, table.OpenSnapshot({.fragments = fragments}, ctx));
  const std::string sql =
      fmt::format("SELECT _rowaddr FROM t{}", predicate.empty() ? "" : fmt::format(" WHERE ({}\n)", predicate));
  PILUM_ASSIGN_OR_RETURN(BoundQuery query, BindQuery(sql, *snapshot, params));
  PILUM_ASSIGN_OR_RETURN(auto result, RunQuery(snapshot, std::move(query), {}, ctx));
  std::map<uint64_t, std::vector<uint64_t>> found;
  for (;;) {
    PILUM_ASSIGN_OR_RETURN(auto batch, result->Next());
    if (!batch) break;
    const auto& addresses = static_cast<const arrow::UInt64Array&>(*batch->column(0));
    for (int64_t i = 0; i < addresses.length(); ++i) {
      found[addresses.Value(i) >> 32].push_back(addresses.Value(i) & UINT32_MAX);
    }
  }
  TakenRows out;
  for (auto& [fragment, rows] : found) {
    std::sort(rows.begin(), rows.end());
    out.emplace(fragment, RowSet::FromSorted(rows));
  }
  return out;
}

}  // namespace pilum
