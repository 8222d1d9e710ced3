#include "pilum/change/expressions.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/query/binder.h"
#include "pilum/query/select/select.h"

namespace pilum {

struct Expressions::Bound {
  std::vector<ValuePtr> values;  // one an assignment
};

namespace {

// In brackets, so that nothing of the text is read as something beside an expression.
std::string AsSelect(const std::string& sql) { return fmt::format("SELECT (\n{}\n) FROM t", sql); }

// `array` as `type`, as Lance does it: fractions are cut off, what has no value there is an error.
Result<std::shared_ptr<arrow::Array>> CastTo(const std::shared_ptr<arrow::Array>& array,
                                             const std::shared_ptr<arrow::DataType>& type) {
  if (array->type()->Equals(*type)) return array;
  if (array->type_id() == arrow::Type::NA) return arrow::MakeArrayOfNull(type, array->length());
  arrow::compute::CastOptions options(true);
  options.allow_float_truncate = true;
  options.allow_decimal_truncate = true;
  options.allow_time_truncate = true;
  options.to_type = type;
  PILUM_ASSIGN_OR_RETURN(auto plain, Plain(array));
  if (plain->type()->Equals(*type)) return plain;
  if (type->id() == arrow::Type::EXTENSION) {
    return Unsupported("values of type {} are not computed", type->ToString());
  }
  if (type->id() == arrow::Type::DICTIONARY) {
    const auto& dictionary = static_cast<const arrow::DictionaryType&>(*type);
    PILUM_ASSIGN_OR_RETURN(auto values, CastTo(plain, dictionary.value_type()));
    return arrow::compute::Cast(*values, type, options);
  }
  return arrow::compute::Cast(*plain, type, options);
}

}  // namespace

Result<Expressions> Expressions::Make(const arrow::Schema& schema, std::vector<Assignment> assignments,
                                      const Params& params) {
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  Expressions out;
  auto bound = std::make_shared<Bound>();
  for (const Assignment& a : assignments) {
    const auto one = [&]() -> Status {
      PILUM_ASSIGN_OR_RETURN(const Statement statement, ParseStatement(AsSelect(a.sql)));
      BoundQuery query;
      PILUM_RETURN_NOT_OK(BindSelect(statement, schema, schema.num_fields(), params, &query));
      if (query.tail->grouped || query.tail->outputs.size() != 1 || statement.items[0].star) {
        return QueryError("it is no expression of one row");
      }
      bound->values.push_back(query.tail->outputs[0]);
      for (const FieldPath& path : query.tail->inputs) {
        if (std::find(out.columns_.begin(), out.columns_.end(), path) == out.columns_.end()) {
          out.columns_.push_back(path);
        }
      }
      return Status::OK();
    };
    const Status st = one();
    if (!st.ok()) return WithContext(fmt::format("the value of column '{}'", a.column), st);
  }
  out.assignments_ = std::move(assignments);
  out.bound_ = std::move(bound);
  return out;
}

Result<arrow::ArrayVector> Expressions::Evaluate(const arrow::RecordBatch& batch, ReadContext& ctx) const {
  arrow::ArrayVector out;
  EvalContext in{batch, ctx, batch.num_rows(), {}, true};
  for (size_t i = 0; i < assignments_.size(); ++i) {
    PILUM_ASSIGN_OR_RETURN(auto array, bound_->values[i]->Eval(in));
    auto cast = CastTo(array, assignments_[i].type);
    if (!cast.ok()) {
      return UsageError("the value of column '{}' does not fit its type {}: {}", assignments_[i].column,
                        assignments_[i].type->ToString(), cast.status().message());
    }
    out.push_back(std::move(*cast));
  }
  return out;
}

}  // namespace pilum
