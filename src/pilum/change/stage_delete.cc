#include "pilum/change/stage_delete.h"

#include <algorithm>

#include "pilum/change/find_rows.h"
#include "pilum/change/fragment_writer.h"
#include "pilum/change/take_away.h"

namespace pilum {
namespace {

Result<const wire::DataFragment*> FragmentOf(const ChangeBase& base, uint64_t id) {
  if (const auto* found = FindFragment(base.stored->manifest, id)) return found;
  return NotFoundError("{}: version {} has no fragment {}", base.table->uri(), base.stored->version(), id);
}

Result<std::optional<wire::DataFragment>> Stage(const ChangeBase& base, const wire::DataFragment& fragment,
                                                const TakenRows& rows, bool sync, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(TakenAway taken, TakeAway(base, rows, ctx));
  if (!taken.gone.empty()) return std::optional<wire::DataFragment>();
  if (taken.rows == 0) {  // it wrote the same once more, or nothing
    RemoveWritten(base.store.get(), taken.written);
    return std::optional(fragment);
  }
  const Status synced = sync ? base.store->Sync(taken.written) : Status::OK();
  if (!synced.ok()) RemoveWritten(base.store.get(), taken.written);
  PILUM_RETURN_NOT_OK(synced);
  return std::optional(taken.updated[0]);
}

}  // namespace

Result<std::optional<wire::DataFragment>> StageDelete(const WritableTable& table, uint64_t fragment,
                                                      const std::string& predicate, const Params& params, bool sync,
                                                      ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const ChangeBase base, BeginChange(table, ctx));
  PILUM_ASSIGN_OR_RETURN(const auto* found, FragmentOf(base, fragment));
  if (predicate.empty()) return UsageError("{}: delete needs a predicate; 'true' deletes all rows", base.table->uri());
  PILUM_ASSIGN_OR_RETURN(const TakenRows rows,
                         FindRows(*base.table, predicate, ctx, params, std::vector<uint64_t>{fragment}));
  return Stage(base, *found, rows, sync, ctx);
}

Result<std::optional<wire::DataFragment>> StageDelete(const WritableTable& table, uint64_t fragment,
                                                      std::vector<uint64_t> rows, bool sync, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const ChangeBase base, BeginChange(table, ctx));
  PILUM_ASSIGN_OR_RETURN(const auto* found, FragmentOf(base, fragment));
  std::sort(rows.begin(), rows.end());
  if (!rows.empty() && rows.back() >= found->physical_rows()) {
    return UsageError("delete_rows offset {} is out of range for fragment {} with {} rows", rows.back(), fragment,
                      found->physical_rows());
  }
  return Stage(base, *found, {{fragment, RowSet::FromSorted(rows)}}, sync, ctx);
}

}  // namespace pilum
