// One part of a nested value: l[1] (array_element) and s['field'] (get_field).
#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>

#include "pilum/query/functions.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

// Item n of the lists, counted from 1, or back from -1; NULL where there is none.
class Element : public ValueExpr {
 public:
  Element(ValuePtr list, std::shared_ptr<arrow::DataType> type, int64_t n)
      : ValueExpr(std::move(type)), list_(std::move(list)), n_(n) {}
  std::string ToString() const override { return fmt::format("array_element({}, {})", list_->ToString(), n_); }
  double cost() const override { return 20 + list_->cost(); }
  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto array, EvalPlain(*list_, in));
    switch (array->type_id()) {
      case arrow::Type::LIST: return Of(static_cast<const arrow::ListArray&>(*array), in);
      case arrow::Type::LARGE_LIST: return Of(static_cast<const arrow::LargeListArray&>(*array), in);
      default: return Of(static_cast<const arrow::FixedSizeListArray&>(*array), in);
    }
  }

 private:
  template <typename List>
  Result<std::shared_ptr<arrow::Array>> Of(const List& list, EvalContext& in) const {
    arrow::Int64Builder at(in.ctx.memory_pool());
    PILUM_RETURN_NOT_OK(at.Reserve(list.length()));
    for (int64_t i = 0; i < list.length(); ++i) {
      const auto items = static_cast<int64_t>(list.value_length(i));
      const int64_t item = n_ > 0 ? n_ - 1 : items + n_;
      if (list.IsNull(i) || n_ == 0 || item < 0 || item >= items) {
        at.UnsafeAppendNull();
      } else {
        at.UnsafeAppend(static_cast<int64_t>(list.value_offset(i)) + item);
      }
    }
    PILUM_ASSIGN_OR_RETURN(auto indices, at.Finish());
    arrow::compute::ExecContext exec(in.ctx.memory_pool());
    return arrow::compute::Take(*list.values(), *indices, arrow::compute::TakeOptions::NoBoundsCheck(), &exec);
  }

  ValuePtr list_;
  int64_t n_;
};

class Field : public ValueExpr {
 public:
  Field(ValuePtr whole, std::shared_ptr<arrow::DataType> type, std::string name)
      : ValueExpr(std::move(type)), whole_(std::move(whole)), name_(std::move(name)) {}
  std::string ToString() const override { return fmt::format("get_field({}, '{}')", whole_->ToString(), name_); }
  double cost() const override { return 5 + whole_->cost(); }
  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto array, EvalPlain(*whole_, in));
    return StepInto(array, name_);
  }

 private:
  ValuePtr whole_;
  std::string name_;
};

}  // namespace

Result<Operand> BindElement(FunctionCall f) {
  if (IsNullOperand(f.args[0]) || IsNullOperand(f.args[1])) return NullOperand(f.call.pos);
  const auto type = f.args[0].value ? PlainType(f.args[0].value->type()) : nullptr;
  const bool is_list = type && (type->id() == arrow::Type::LIST || type->id() == arrow::Type::LARGE_LIST ||
                                type->id() == arrow::Type::FIXED_SIZE_LIST);
  if (!is_list) return WrongArgument(f, 0, "a list");
  const auto& number = f.args[1].literal;
  const auto n = number && number->kind == Literal::Kind::kNumber ? number->number.FloorInt() : std::nullopt;
  if (!n || !n->exact) return WrongArgument(f, 1, "a whole number as it stands");
  const bool inside = n->value >= -INT32_MAX && n->value <= INT32_MAX;  // lists of one row are not longer
  return ValueResult(
      std::make_shared<Element>(f.args[0].value, type->field(0)->type(), inside ? static_cast<int64_t>(n->value) : 0),
      f.call.pos);
}

Result<Operand> BindGetField(FunctionCall f) {
  if (IsNullOperand(f.args[0])) return NullOperand(f.call.pos);
  const auto type = f.args[0].value ? PlainType(f.args[0].value->type()) : nullptr;
  if (!type || type->id() != arrow::Type::STRUCT) return WrongArgument(f, 0, "a struct");
  if (!f.args[1].literal || f.args[1].literal->kind != Literal::Kind::kText)
    return WrongArgument(f, 1, "a name in quotes");
  const std::string& name = f.args[1].literal->bytes;
  const auto field = static_cast<const arrow::StructType&>(*type).GetFieldByName(name);
  if (!field) return ErrorAt(f.args[1].pos, "{} has no one field '{}'", f.args[0].value->ToString(), name);
  return ValueResult(std::make_shared<Field>(f.args[0].value, field->type(), name), f.call.pos);
}

}  // namespace pilum
