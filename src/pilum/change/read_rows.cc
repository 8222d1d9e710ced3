#include "pilum/change/read_rows.h"

#include <set>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/change/moved_blobs.h"
#include "pilum/table/fragment.h"

namespace pilum {

Result<TakenRows> LiveRows(const Table& table, const std::vector<uint64_t>& fragments, ReadContext& ctx) {
  TakenRows out;
  std::set<uint64_t> missing(fragments.begin(), fragments.end());
  for (const Fragment& f : table.manifest().fragments) {
    if (missing.erase(f.id) == 0) continue;
    PILUM_ASSIGN_OR_RETURN(auto fragment, PhysicalFragment::Make(table.context(), f, ctx));
    PILUM_ASSIGN_OR_RETURN(const RowSet deleted, fragment->ReadDeletions(ctx));
    out[f.id] = deleted.Complement(fragment->num_rows());
  }
  if (missing.empty()) return out;
  return NotFoundError("{}: version {} has no fragment {}", table.uri(), table.manifest().version, *missing.begin());
}

Status ReadRows(const Table& table, const TakenRows& rows, const std::vector<FieldPath>& columns,
                const BatchLimits& limits, ReadContext& ctx, const TakeBatch& take) {
  PILUM_ASSIGN_OR_RETURN(const TableContext context, ContextToMove(table));
  for (const Fragment& f : table.manifest().fragments) {
    const auto at = rows.find(f.id);
    if (at == rows.end() || at->second.empty()) continue;
    PILUM_ASSIGN_OR_RETURN(auto fragment, PhysicalFragment::Make(context, f, ctx));
    MovedBlobs blobs(context, f);
    PILUM_ASSIGN_OR_RETURN(auto stream, fragment->Read(columns, at->second, limits, ctx));
    for (;;) {
      PILUM_RETURN_NOT_OK(ctx.Check());
      PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
      if (!batch) break;
      const auto piece = [&](int64_t at, const arrow::RecordBatch& rows) {
        if (rows.num_rows() == batch->num_rows()) return take(f.id, stream->rows(), rows);
        const auto places =
            stream->rows().SliceByRank(static_cast<uint64_t>(at), static_cast<uint64_t>(rows.num_rows()));
        return take(f.id, places, rows);
      };
      PILUM_RETURN_NOT_OK(blobs.Each(*batch, ctx, piece));
    }
  }
  return Status::OK();
}

std::vector<FieldPath> AllColumns(const Table& table) {
  std::vector<FieldPath> out;
  for (const auto& f : table.schema()->fields()) out.push_back({{f->name()}});
  return out;
}

}  // namespace pilum
