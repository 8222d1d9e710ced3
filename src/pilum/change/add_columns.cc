#include "pilum/change/add_columns.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/change/columns.h"
#include "pilum/change/field_lookup.h"

namespace pilum {
namespace {

// Each is NULL cast to a type: they need no files.
Result<std::shared_ptr<arrow::Schema>> OnlyNulls(const std::vector<StoredExpression>& expressions) {
  arrow::FieldVector fields;
  for (const auto& e : expressions) {
    const auto type = TypeOfNulls(e.sql);
    if (!type.ok() || !*type) return nullptr;  // what is wrong is said where it is bound
    fields.push_back(arrow::field(e.name, *type));
  }
  return fields.empty() ? nullptr : arrow::schema(std::move(fields));
}

}  // namespace

Result<ColumnPlan> PlanAdded(const ChangeBase& base, const arrow::Schema& columns) {
  const auto& m = base.stored->manifest;
  const std::string& version = m.data_format().version();
  ColumnPlan plan;
  PILUM_ASSIGN_OR_RETURN(plan.fields,
                         AddFields(m.fields(), columns, NextFieldId(m), version != "2.0" && version != "2.1"));
  plan.preserves_nullability = AllowsNullsAsBefore(m.fields(), plan.fields.all);
  return plan;
}

Result<Committed> AddColumns(WritableTable table, const std::vector<StoredExpression>& expressions,
                             const BatchLimits& limits, const ChangeOptions& options, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const auto nulls, OnlyNulls(expressions));
  if (nulls) return AddNullColumns(std::move(table), *nulls, options, ctx);
  return AddColumns(std::move(table), *ValuesOfSql(expressions, limits), options, ctx);
}

Result<Committed> AddColumns(WritableTable table, arrow::RecordBatchReader& reader, const ChangeOptions& options,
                             ReadContext& ctx) {
  return AddColumns(std::move(table), *ValuesOfReader(&reader), options, ctx);
}

Result<Committed> AddColumns(WritableTable table, ColumnValues& values, const ChangeOptions& options,
                             ReadContext& ctx) {
  const PlanColumns plan = [&](const ChangeBase& base) -> Result<ColumnPlan> {
    PILUM_ASSIGN_OR_RETURN(const auto schema, values.Schema(*base.table, ctx));
    return PlanAdded(base, *schema);
  };
  return WriteColumns(std::move(table), plan, values, options, ctx);
}

}  // namespace pilum
