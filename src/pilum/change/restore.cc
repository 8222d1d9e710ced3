#include "pilum/change/restore.h"

namespace pilum {

Result<Committed> RestoreTable(WritableTable table, const ChangeOptions& options, ReadContext& ctx) {
  wire::Transaction t;
  t.mutable_restore()->set_version(table.table->manifest().version);
  // It is made for the newest version, whatever that is.
  PILUM_ASSIGN_OR_RETURN(table.table, table.table->Reopen(std::nullopt, ctx));
  return Redo(std::move(table), options, ctx,
              [&](const ChangeBase& base) { return CommitChange(base, t, {}, std::nullopt, options, ctx); });
}

}  // namespace pilum
