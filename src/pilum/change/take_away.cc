#include "pilum/change/take_away.h"

#include "pilum/change/fragment_writer.h"
#include "pilum/table/commit/put_deletions.h"
#include "pilum/table/fragment.h"

namespace pilum {
namespace {

Status Put(const ChangeBase& base, const TakenRows& taken, ReadContext& ctx, TakenAway* to) {
  TakenAway& out = *to;
  const TableContext context = base.table->context();
  for (int i = 0; i < base.stored->manifest.fragments_size(); ++i) {
    const auto& stored = base.stored->manifest.fragments(i);
    const auto at = taken.find(stored.id());
    if (at == taken.end() || at->second.empty()) continue;
    const Fragment& fragment = context.manifest->fragments[static_cast<size_t>(i)];
    PILUM_ASSIGN_OR_RETURN(auto opened, PhysicalFragment::Make(context, fragment, ctx));
    PILUM_ASSIGN_OR_RETURN(const RowSet before, opened->ReadDeletions(ctx));
    const RowSet all = before.Union(at->second);
    out.rows += all.size() - before.size();
    if (all.size() == opened->num_rows()) {
      out.gone.push_back(stored.id());
      continue;
    }
    auto* updated = out.updated.Add();
    *updated = stored;
    updated->set_physical_rows(opened->num_rows());
    PILUM_RETURN_NOT_OK(PutDeletions(all, base.stored->version(), base.store.get(), updated, &out.written));
  }
  return Status::OK();
}

}  // namespace

Result<TakenAway> TakeAway(const ChangeBase& base, const TakenRows& taken, ReadContext& ctx) {
  TakenAway out;
  const Status st = Put(base, taken, ctx, &out);
  if (st.ok()) return out;
  RemoveWritten(base.store.get(), out.written);
  return st;
}

}  // namespace pilum
