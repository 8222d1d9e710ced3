#include "pilum/change/moved_rows.h"

#include <algorithm>
#include <vector>

#include "pilum/table/commit/row_id_bytes.h"

namespace pilum {

Status CheckRowsMove(const Table& table) {
  if (table.schema()->GetFieldIndex("_rowid") < 0 && table.schema()->GetFieldIndex("_rowaddr") < 0) return Status::OK();
  return Unsupported("{}: it has a column named _rowid or _rowaddr, which hides where its rows are; rename it first",
                     table.uri());
}

void SetMovedIds(std::span<const uint64_t> ids, NewFragments* fragments) {
  for (auto& f : fragments->fragments) {
    const size_t n = std::min<size_t>(ids.size(), f.physical_rows());
    if (n == 0) return;
    f.set_inline_row_ids(SerializeRowIds({ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n)}));
    ids = ids.subspan(n);
  }
}

wire::Transaction MovedRows(const TakenAway& taken, const NewFragments& added, const std::vector<int32_t>& fields) {
  wire::Transaction t;
  auto* op = t.mutable_update();
  for (const uint64_t id : taken.gone) op->add_removed_fragment_ids(id);
  *op->mutable_updated_fragments() = taken.updated;
  *op->mutable_new_fragments() = added.fragments;
  for (const int32_t id : fields) op->add_fields_for_preserving_frag_bitmap(static_cast<uint32_t>(id));
  return t;
}

}  // namespace pilum
