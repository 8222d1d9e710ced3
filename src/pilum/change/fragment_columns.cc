#include "pilum/change/fragment_columns.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/change/add_columns.h"
#include "pilum/change/field_lookup.h"
#include "pilum/change/join_columns.h"

namespace pilum {
namespace {

// Columns to get new values: those of the table by these names.
Result<FileSchema> UpdatedColumns(const ChangeBase& base, const arrow::Schema& rows, const std::string& right_on) {
  const WireFields& fields = base.stored->manifest.fields();
  std::vector<int> chosen;
  for (const auto& f : rows.fields()) {
    if (f->name() == right_on) continue;
    if (f->name() == "_rowid" || f->name() == "_rowaddr") {
      return UsageError("Column {} is a reversed metadata column and cannot be updated", f->name());
    }
    const auto own = base.table->schema()->GetFieldByName(f->name());
    if (!own) {
      return UsageError("Column {} in right side fragment does not exist in left side fragment", f->name());
    }
    if (!own->type()->Equals(*f->type())) {
      return UsageError("column '{}' is of type {} and is given as {}", f->name(), own->type()->ToString(),
                        f->type()->ToString());
    }
    PILUM_ASSIGN_OR_RETURN(chosen.emplace_back(), FindField(fields, f->name()));
  }
  if (chosen.empty()) return UsageError("the rows have no column beside the key '{}'", right_on);
  return PartOfFields(fields, chosen);
}

}  // namespace

Result<AddedFragment> AddFragmentColumns(const WritableTable& table, uint64_t fragment, ColumnValues& values,
                                         ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const ChangeBase base, BeginChange(table, ctx));
  PILUM_ASSIGN_OR_RETURN(const auto schema, values.Schema(*base.table, ctx));
  PILUM_ASSIGN_OR_RETURN(ColumnPlan plan, PlanAdded(base, *schema));
  PILUM_ASSIGN_OR_RETURN(WrittenFragment written, WriteFragmentColumns(base, fragment, plan.fields.file, values, ctx));
  return AddedFragment{std::move(written.fragment), std::move(plan.fields.all)};
}

Result<UpdatedFragment> UpdateFragmentColumns(const WritableTable& table, uint64_t fragment,
                                              arrow::RecordBatchReader& rows, const std::string& left_on,
                                              const std::string& right_on, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const ChangeBase base, BeginChange(table, ctx));
  if (base.table->schema()->GetFieldIndex(left_on) < 0 && left_on != "_rowid" && left_on != "_rowaddr") {
    return UsageError("Column {} does not exist in the left side fragment", left_on);
  }
  if (rows.schema()->GetFieldIndex(right_on) < 0) {
    return UsageError("Column {} does not exist in the right side fragment", right_on);
  }
  PILUM_ASSIGN_OR_RETURN(const FileSchema file, UpdatedColumns(base, *rows.schema(), right_on));
  PILUM_ASSIGN_OR_RETURN(const auto joined, JoinedRows::Read(rows, right_on, ctx));
  std::vector<uint64_t> found;
  const auto values = ValuesByKeyOrOwn(joined, left_on, &found);
  PILUM_ASSIGN_OR_RETURN(WrittenFragment written, WriteFragmentColumns(base, fragment, file, *values, ctx));
  UpdatedFragment out;
  const auto& ids = written.fragment.files(written.fragment.files_size() - 1).fields();
  out.fields.assign(ids.begin(), ids.end());
  out.fragment = std::move(written.fragment);
  out.rows = RowSet::FromSorted(found);
  return out;
}

}  // namespace pilum
