#include "pilum/change/expressions.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/concatenate.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/change/json_columns.h"
#include "pilum/query/binder.h"
#include "pilum/query/select/select.h"

namespace pilum {

// A value, or the items of a list that are written one by one: [a, b + 1].
struct Node {
  ValuePtr value;           // null: a list
  std::vector<Node> items;  // of a list
  std::shared_ptr<arrow::DataType> type;
};

struct Expressions::Bound {
  std::vector<Node> values;  // one an assignment
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

bool IsList(const arrow::DataType& type) {
  return type.id() == arrow::Type::LIST || type.id() == arrow::Type::LARGE_LIST ||
         type.id() == arrow::Type::FIXED_SIZE_LIST;
}

// One list a row, of these items: one array an item, one slot a row.
Result<std::shared_ptr<arrow::Array>> MakeLists(const arrow::ArrayVector& items,
                                                const std::shared_ptr<arrow::DataType>& type, int64_t rows) {
  const auto count = static_cast<int64_t>(items.size());
  arrow::Int64Builder order;
  arrow::Int32Builder offsets;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < count; ++i) PILUM_RETURN_NOT_OK(order.Append(i * rows + row));
  }
  std::shared_ptr<arrow::Array> values;
  if (count == 0) {
    PILUM_ASSIGN_OR_RETURN(values, arrow::MakeEmptyArray(type->field(0)->type()));
  } else {
    PILUM_ASSIGN_OR_RETURN(auto one_after_other, arrow::Concatenate(items));
    PILUM_ASSIGN_OR_RETURN(auto indices, order.Finish());
    PILUM_ASSIGN_OR_RETURN(arrow::Datum taken, arrow::compute::Take(one_after_other, indices));
    values = taken.make_array();
  }
  if (type->id() == arrow::Type::FIXED_SIZE_LIST) {
    const int size = static_cast<const arrow::FixedSizeListType&>(*type).list_size();
    if (size != count) return Status::Invalid("a list of ", count, " items, where each has ", size);
    return arrow::FixedSizeListArray::FromArrays(values, type);
  }
  for (int64_t row = 0; row <= rows; ++row) PILUM_RETURN_NOT_OK(offsets.Append(static_cast<int32_t>(row * count)));
  PILUM_ASSIGN_OR_RETURN(auto ends, offsets.Finish());
  PILUM_ASSIGN_OR_RETURN(auto lists, arrow::ListArray::FromArrays(*ends, *values));
  return arrow::compute::Cast(*lists, type);
}

Result<std::shared_ptr<arrow::Array>> EvaluateNode(const Node& node, EvalContext& in) {
  if (node.value) {
    PILUM_ASSIGN_OR_RETURN(auto array, node.value->Eval(in));
    return CastTo(array, node.type);
  }
  arrow::ArrayVector items;
  for (const Node& item : node.items) {
    PILUM_ASSIGN_OR_RETURN(items.emplace_back(), EvaluateNode(item, in));
  }
  return MakeLists(items, node.type, in.rows);
}

class NodeBinder {
 public:
  NodeBinder(const arrow::Schema& schema, const Params& params, std::vector<FieldPath>* columns)
      : schema_(schema), params_(params), columns_(columns) {}

  Result<Node> Bind(Statement statement, const std::shared_ptr<arrow::DataType>& type) {
    Node out;
    out.type = type;
    auto& items = statement.items;
    if (items.size() == 1 && items[0].expr && items[0].expr->kind == Expr::Kind::kArray && IsList(*type)) {
      for (ExprPtr& item : items[0].expr->args) {
        Statement one;
        one.items.emplace_back();
        one.items[0].expr = std::move(item);
        PILUM_ASSIGN_OR_RETURN(out.items.emplace_back(), Bind(std::move(one), type->field(0)->type()));
      }
      return out;
    }
    BoundQuery query;
    PILUM_RETURN_NOT_OK(BindSelect(statement, schema_, schema_.num_fields(), params_, &query));
    if (query.tail->grouped || query.tail->outputs.size() != 1 || items[0].star) {
      return QueryError("it is no expression of one row");
    }
    out.value = query.tail->outputs[0];
    for (const FieldPath& path : query.tail->inputs) {
      if (std::find(columns_->begin(), columns_->end(), path) == columns_->end()) columns_->push_back(path);
    }
    return out;
  }

 private:
  const arrow::Schema& schema_;
  const Params& params_;
  std::vector<FieldPath>* columns_;
};

}  // namespace

Result<Expressions> Expressions::Make(const arrow::Schema& schema, std::vector<Assignment> assignments,
                                      const Params& params) {
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  Expressions out;
  auto bound = std::make_shared<Bound>();
  for (const Assignment& a : assignments) {
    const auto one = [&]() -> Result<Node> {
      PILUM_ASSIGN_OR_RETURN(Statement statement, ParseStatement(AsSelect(a.sql)));
      return NodeBinder(schema, params, &out.columns_).Bind(std::move(statement), a.type);
    };
    auto node = one();
    if (!node.ok()) return WithContext(fmt::format("the value of column '{}'", a.column), node.status());
    bound->values.push_back(std::move(*node));
  }
  out.assignments_ = std::move(assignments);
  out.bound_ = std::move(bound);
  return out;
}

Result<arrow::ArrayVector> Expressions::Evaluate(const arrow::RecordBatch& batch, ReadContext& ctx) const {
  arrow::ArrayVector out;
  const auto needed = [&](const std::string& name) {
    return std::any_of(columns_.begin(), columns_.end(), [&](const FieldPath& path) { return path.steps[0] == name; });
  };
  PILUM_ASSIGN_OR_RETURN(const auto texts, WithJsonText(batch, needed, ctx));
  EvalContext in{*texts, ctx, batch.num_rows(), {}, true};
  for (size_t i = 0; i < assignments_.size(); ++i) {
    auto array = EvaluateNode(bound_->values[i], in);
    if (!array.ok()) {
      const std::string what = fmt::format("the value of column '{}'", assignments_[i].column);
      if (KindOf(array.status()) != ErrorKind::kOther) return WithContext(what, array.status());
      return UsageError("{} does not fit its type {}: {}", what, assignments_[i].type->ToString(),
                        array.status().message());
    }
    out.push_back(std::move(*array));
  }
  return out;
}

}  // namespace pilum
