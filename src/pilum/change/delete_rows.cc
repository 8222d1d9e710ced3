#include "pilum/change/delete_rows.h"

#include "pilum/change/find_rows.h"
#include "pilum/change/fragment_writer.h"
#include "pilum/change/take_away.h"

namespace pilum {

Result<DeletedRows> DeleteRows(WritableTable table, const std::string& predicate, const ChangeOptions& options,
                               ReadContext& ctx, const Params& params) {
  if (predicate.empty()) return UsageError("{}: delete needs a predicate; 'true' deletes all rows", table.table->uri());
  DeletedRows out;
  const auto once = [&](const ChangeBase& base) -> Result<Committed> {
    PILUM_ASSIGN_OR_RETURN(TakenRows rows, FindRows(*base.table, predicate, ctx, params));
    PILUM_ASSIGN_OR_RETURN(TakenAway taken, TakeAway(base, rows, ctx));
    out.rows = taken.rows;
    wire::Transaction t;
    auto* op = t.mutable_delete_();
    *op->mutable_updated_fragments() = taken.updated;
    for (const uint64_t id : taken.gone) op->add_deleted_fragment_ids(id);
    op->set_predicate(predicate);
    auto committed = CommitChange(base, std::move(t), taken.written, std::move(rows), options, ctx);
    if (!committed.ok() && MadeNoVersion(committed.status())) RemoveWritten(base.store.get(), taken.written);
    return committed;
  };
  PILUM_ASSIGN_OR_RETURN(const Committed committed, Redo(std::move(table), options, ctx, once));
  out.version = committed.version;
  return out;
}

}  // namespace pilum
