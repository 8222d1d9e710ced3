#include <arrow/type.h>

#include "pilum/source/field_path.h"
#include "pilum/source/snapshot.h"

namespace pilum {

Result<std::optional<ColumnStats>> FoldStats(const Snapshot& snapshot, const FieldPath& column, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto field, FieldAt(*snapshot.schema(), column));
  ColumnStats all = ColumnStats::Make(*field->type());
  for (const auto& unit : snapshot.units()) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    PILUM_ASSIGN_OR_RETURN(auto stats, unit->Stats(column, ctx));
    if (!stats) return std::optional<ColumnStats>();
    const Status merged = all.Merge(*stats);
    if (KindOf(merged) == ErrorKind::kUsage) return std::optional<ColumnStats>();  // of unlike kinds
    PILUM_RETURN_NOT_OK(merged);
  }
  return std::optional<ColumnStats>(std::move(all));
}

}  // namespace pilum
