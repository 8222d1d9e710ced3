#include "pilum/change/columns.h"

#include <algorithm>
#include <set>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/change/add_columns.h"
#include "pilum/change/cast_columns.h"
#include "pilum/change/field_lookup.h"
#include "pilum/change/new_fields.h"

namespace pilum {
namespace {

Result<Committed> Project(const ChangeBase& base, const WireFields& fields, const ChangeOptions& options,
                          ReadContext& ctx) {
  wire::Transaction t;
  *t.mutable_project()->mutable_schema() = fields;
  t.mutable_project()->set_preserves_nullability(AllowsNullsAsBefore(base.stored->manifest.fields(), fields));
  return CommitChange(base, std::move(t), {}, std::nullopt, options, ctx);
}

// The values `column` names from step `step` on, below `array`; a list's items are looked at whole.
bool HasNull(const std::shared_ptr<arrow::Array>& array, const FieldPath& column, size_t step) {
  if (step == column.steps.size()) return array->null_count() > 0;
  if (array->type_id() != arrow::Type::STRUCT) return true;  // not looked into
  const auto& values = static_cast<const arrow::StructArray&>(*array);
  const auto child = values.GetFieldByName(column.steps[step]);
  if (array->null_count() == 0) return HasNull(child, column, step + 1);
  for (int64_t i = 0; i < array->length(); ++i) {
    if (values.IsValid(i) && HasNull(child->Slice(i, 1), column, step + 1)) return true;
  }
  return false;
}

// Of live rows; where a struct above is NULL there is no value to be NULL.
Status CheckHasNoNulls(const ChangeBase& base, const std::string& path, ReadContext& ctx) {
  const WireFields& fields = base.stored->manifest.fields();
  PILUM_ASSIGN_OR_RETURN(const int at, FindField(fields, path));
  PILUM_ASSIGN_OR_RETURN(const auto snapshot, base.table->OpenSnapshot({}, ctx));
  const FieldPath column = FieldPathOf(fields, at);
  for (const auto& unit : snapshot->units()) {
    PILUM_ASSIGN_OR_RETURN(auto stream, unit->Read({column}, RowSet::All(unit->num_rows()), {}, ctx));
    for (;;) {
      PILUM_ASSIGN_OR_RETURN(const auto batch, stream->Next());
      if (!batch) break;
      if (HasNull(batch->column(0), column, 1)) {
        return UsageError("Column \"{}\" contains NULL values and cannot be made non-nullable", path);
      }
    }
  }
  return Status::OK();
}

// A struct or list of which every field was dropped goes with them.
void AddEmptied(const WireFields& fields, std::set<int>* dropped) {
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < fields.size(); ++i) {
      if (dropped->contains(i)) continue;
      int children = 0, left = 0;
      for (int c = i + 1; c < fields.size(); ++c) {
        if (fields[c].parent_id() != fields[i].id()) continue;
        ++children;
        left += dropped->contains(c) ? 0 : 1;
      }
      if (children == 0 || left > 0) continue;
      dropped->insert(i);
      more = true;
    }
  }
}

}  // namespace

Result<Committed> DropColumns(WritableTable table, const std::vector<std::string>& paths, const ChangeOptions& options,
                              ReadContext& ctx) {
  return Redo(std::move(table), options, ctx, [&](const ChangeBase& base) -> Result<Committed> {
    const WireFields& fields = base.stored->manifest.fields();
    std::set<int> dropped;
    for (const std::string& path : paths) {
      PILUM_ASSIGN_OR_RETURN(const int at, FindField(fields, path));
      dropped.merge(FieldAndBelow(fields, at));
    }
    AddEmptied(fields, &dropped);
    if (static_cast<int>(dropped.size()) == fields.size()) {
      return UsageError("{}: no column would be left; a table has one at least", base.table->uri());
    }
    WireFields left;
    for (int i = 0; i < fields.size(); ++i) {
      if (!dropped.contains(i)) *left.Add() = fields[i];
    }
    return Project(base, left, options, ctx);
  });
}

Result<WireFields> AlterFields(const ChangeBase& base, const std::vector<ColumnAlteration>& alterations,
                               ReadContext& ctx) {
  const WireFields& before = base.stored->manifest.fields();
  WireFields fields = before;
  for (const ColumnAlteration& a : alterations) {
    PILUM_ASSIGN_OR_RETURN(const int at, FindField(before, a.path));
    if (a.name) fields[at].set_name(*a.name);
    if (a.nullable && !*a.nullable && before[at].nullable()) {
      PILUM_RETURN_NOT_OK(CheckHasNoNulls(base, a.path, ctx));
    }
    if (a.nullable) fields[at].set_nullable(*a.nullable);
  }
  PILUM_RETURN_NOT_OK(CheckNames(fields));
  return fields;
}

Result<Committed> AlterColumns(WritableTable table, const std::vector<ColumnAlteration>& alterations,
                               const ChangeOptions& options, ReadContext& ctx) {
  const bool casts =
      std::any_of(alterations.begin(), alterations.end(), [](const auto& a) { return a.type != nullptr; });
  if (casts) return CastColumns(std::move(table), alterations, options, ctx);
  return Redo(std::move(table), options, ctx, [&](const ChangeBase& base) -> Result<Committed> {
    PILUM_ASSIGN_OR_RETURN(const WireFields fields, AlterFields(base, alterations, ctx));
    return Project(base, fields, options, ctx);
  });
}

Result<Committed> AddNullColumns(WritableTable table, const arrow::Schema& columns, const ChangeOptions& options,
                                 ReadContext& ctx) {
  return Redo(std::move(table), options, ctx, [&](const ChangeBase& base) -> Result<Committed> {
    const auto& m = base.stored->manifest;
    for (const auto& f : columns.fields()) {
      if (!f->nullable()) return UsageError("column '{}' may not hold NULLs, and would hold nothing else", f->name());
    }
    PILUM_ASSIGN_OR_RETURN(const ColumnPlan plan, PlanAdded(base, columns));
    wire::Transaction t;
    auto* op = t.mutable_merge();
    *op->mutable_fragments() = m.fragments();
    *op->mutable_schema() = plan.fields.all;
    op->set_preserves_nullability(true);
    return CommitChange(base, std::move(t), {}, std::nullopt, options, ctx);
  });
}

}  // namespace pilum
