#include "pilum/query/select/stored_columns.h"

#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/query/binder.h"
#include "pilum/query/select/select.h"
#include "pilum/source/field_path.h"

namespace pilum {
namespace {

// A value in another type; what does not fit is an error.
class StoredValue : public ValueExpr {
 public:
  StoredValue(ValuePtr value, std::shared_ptr<arrow::DataType> type)
      : ValueExpr(std::move(type)), value_(std::move(value)) {}
  std::string ToString() const override { return value_->ToString(); }
  double cost() const override { return value_->cost() + 1; }
  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto array, EvalPlain(*value_, in));
    auto options = arrow::compute::CastOptions::Safe(type());
    options.allow_float_truncate = true;  // a quotient of whole numbers never has a fraction; floats only round
    auto cast = arrow::compute::Cast(*array, type(), options);
    if (cast.ok()) return cast;
    return QueryError("{}: a value does not fit {}: {}", ToString(), type()->ToString(), cast.status().message());
  }

 private:
  const ValuePtr value_;
};

// Of a column's metadata what says how its values are read; a key or a comment is not copied.
std::shared_ptr<const arrow::KeyValueMetadata> ExtensionOf(const arrow::Field& field) {
  auto out = std::make_shared<arrow::KeyValueMetadata>();
  for (int64_t i = 0; field.metadata() && i < field.metadata()->size(); ++i) {
    const std::string& key = field.metadata()->key(i);
    if (key.starts_with("ARROW:extension:")) out->Append(key, field.metadata()->value(i));
  }
  return out->size() > 0 ? out : nullptr;
}

Status Named(const std::string& name, const Status& st) {
  return MakeError(KindOf(st), fmt::format("{}: {}", name, st.message()));
}

}  // namespace

Result<BoundQuery> BindStoredColumns(const std::vector<StoredExpression>& expressions, const Snapshot& snapshot,
                                     const Params& params) {
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  const arrow::Schema& schema = *snapshot.schema();
  Statement statement;
  for (const StoredExpression& e : expressions) {
    auto parsed = ParsePredicate(e.sql);  // any expression
    if (!parsed.ok()) return Named(e.name, parsed.status());
    statement.question_marks += parsed->question_marks;
    // Bound alone first, so that an error tells which it is.
    Binder binder(schema, params, true);
    const auto bound = binder.BindOperand(*parsed->where);
    if (!bound.ok()) return Named(e.name, bound.status());
    SelectItem item;
    item.expr = std::move(parsed->where);
    item.alias = e.name;
    statement.items.push_back(std::move(item));
  }
  PILUM_RETURN_NOT_OK(CheckParams(statement.question_marks, params));
  BoundQuery out;
  PILUM_RETURN_NOT_OK(BindSelect(statement, schema, schema.num_fields() - snapshot.num_hidden(), params, &out));
  if (out.tail->grouped) return QueryError("a column takes a value of each row, not an aggregate");
  auto tail = std::make_shared<SelectTail>(*out.tail);
  arrow::FieldVector fields;
  for (size_t i = 0; i < expressions.size(); ++i) {
    ValuePtr& value = tail->outputs[i];
    const auto stored = StoredField(*statement.items[i].expr, schema, value->type());
    if (!value->column()) {
      if (!stored->type()->Equals(*value->type())) value = std::make_shared<StoredValue>(value, stored->type());
      fields.push_back(stored->WithName(expressions[i].name));
    } else {
      fields.push_back(arrow::field(expressions[i].name, value->type(), stored->nullable(),
                                    ExtensionOf(*tail->schema->field(static_cast<int>(i)))));
    }
  }
  tail->schema = arrow::schema(std::move(fields));
  out.tail = std::move(tail);
  for (const FieldPath& path : out.columns) PILUM_RETURN_NOT_OK(snapshot.CheckColumn(path.steps[0]));
  return out;
}

Result<std::shared_ptr<arrow::DataType>> TypeOfNulls(const std::string& sql) {
  PILUM_ASSIGN_OR_RETURN(const Statement parsed, ParsePredicate(sql));
  const Expr& e = *parsed.where;
  if (e.kind != Expr::Kind::kCast || e.args[0]->kind != Expr::Kind::kNull) return nullptr;
  return ParseType(e.name, e.pos);
}

}  // namespace pilum
