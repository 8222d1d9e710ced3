#include "pilum/change/columns.h"

#include <set>

#include <arrow/type.h>

#include "pilum/change/field_lookup.h"

namespace pilum {
namespace {

Status CheckNames(const WireFields& fields) {
  std::set<std::pair<int32_t, std::string>> names;
  for (const auto& f : fields) {
    if (!names.emplace(f.parent_id(), f.name()).second) return UsageError("two columns would be named '{}'", f.name());
  }
  return Status::OK();
}

Result<Committed> Project(const ChangeBase& base, const WireFields& fields, const ChangeOptions& options,
                          ReadContext& ctx) {
  wire::Transaction t;
  *t.mutable_project()->mutable_schema() = fields;
  t.mutable_project()->set_preserves_nullability(true);
  return CommitChange(base, std::move(t), {}, std::nullopt, options, ctx);
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

Result<Committed> AlterColumns(WritableTable table, const std::vector<ColumnAlteration>& alterations,
                               const ChangeOptions& options, ReadContext& ctx) {
  return Redo(std::move(table), options, ctx, [&](const ChangeBase& base) -> Result<Committed> {
    const WireFields& before = base.stored->manifest.fields();
    WireFields fields = before;
    for (const ColumnAlteration& a : alterations) {
      PILUM_ASSIGN_OR_RETURN(const int at, FindField(before, a.path));
      if (a.name) fields[at].set_name(*a.name);
      if (a.nullable && !*a.nullable && before[at].nullable()) {
        return Unsupported("column '{}' cannot be made non-nullable: it may hold NULLs", a.path);
      }
      if (a.nullable) fields[at].set_nullable(*a.nullable);
    }
    PILUM_RETURN_NOT_OK(CheckNames(fields));
    return Project(base, fields, options, ctx);
  });
}

Result<Committed> AddNullColumns(WritableTable table, const arrow::Schema& columns, const ChangeOptions& options,
                                 ReadContext& ctx) {
  return Redo(std::move(table), options, ctx, [&](const ChangeBase& base) -> Result<Committed> {
    const auto& m = base.stored->manifest;
    PILUM_ASSIGN_OR_RETURN(const WireFields added, FieldsOf(columns, NextFieldId(m)));
    for (const auto& f : added) {
      if (f.parent_id() < 0 && !f.nullable()) {
        return UsageError("column '{}' may not hold NULLs, and would hold nothing else", f.name());
      }
    }
    wire::Transaction t;
    auto* op = t.mutable_merge();
    *op->mutable_fragments() = m.fragments();
    *op->mutable_schema() = m.fields();
    op->mutable_schema()->MergeFrom(added);
    PILUM_RETURN_NOT_OK(CheckNames(op->schema()));
    op->set_preserves_nullability(true);
    return CommitChange(base, std::move(t), {}, std::nullopt, options, ctx);
  });
}

}  // namespace pilum
