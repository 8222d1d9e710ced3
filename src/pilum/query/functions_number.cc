// abs, round (half away from zero), floor, ceil: of integers, floats and decimals, in their own types.
#include <cmath>
#include <limits>

#include "pilum/query/functions.h"
#include "pilum/values/decimal.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

class Rounding : public ValueExpr {
 public:
  Rounding(std::string name, ValuePtr value, int digits, std::shared_ptr<arrow::DataType> type)
      : ValueExpr(std::move(type)), name_(std::move(name)), value_(std::move(value)), digits_(digits) {}
  std::string ToString() const override { return fmt::format("{}({})", name_, value_->ToString()); }

  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto array, EvalPlain(*value_, in));
    std::vector<std::optional<Value>> out(static_cast<size_t>(in.rows));
    for (int64_t i = 0; i < in.rows; ++i) {
      PILUM_ASSIGN_OR_RETURN(auto v, ValueAt(*array, i));
      if (!v) continue;
      out[static_cast<size_t>(i)] =
          v->domain() == Domain::kFloat ? OfFloat(v->as_float()) : OfExact(*v, *array->type());
    }
    PILUM_ASSIGN_OR_RETURN(auto result, MakeArrayOf(type(), out));
    PILUM_RETURN_NOT_OK(CheckHasValues(in, *result, {array.get()}, ToString()));
    return result;
  }

 private:
  std::optional<Value> OfFloat(double v) const {
    if (name_ == "abs") return Value::Float(std::fabs(v));
    if (name_ == "floor") return Value::Float(std::floor(v));
    if (name_ == "ceil") return Value::Float(std::ceil(v));
    if (!std::isfinite(v) || digits_ > 15) return Value::Float(v);
    if (digits_ == 0) return Value::Float(std::round(v));
    const double factor = std::pow(10.0, std::abs(digits_));
    const double r = digits_ > 0 ? std::round(v * factor) / factor : std::round(v / factor) * factor;
    return Value::Float(std::isfinite(r) ? r : v);
  }

  // Integers and decimals, exactly.
  std::optional<Value> OfExact(const Value& v, const arrow::DataType& from) const {
    if (v.domain() == Domain::kInt) {
      Int128 n = v.as_int();
      if (name_ == "abs") n = n < 0 ? -n : n;
      if (name_ == "round" && digits_ < 0) {
        if (digits_ < -19) return Value::Int(0);
        Int128 unit = 1;
        for (int d = digits_; d < 0; ++d) unit *= 10;
        const Int128 size = n < 0 ? -n : n, rounded = (size + unit / 2) / unit * unit;
        n = n < 0 ? -rounded : rounded;
      }
      const IntRange range = IntRangeOf(*type());
      return n < range.min || n > range.max ? std::nullopt : std::optional(Value::Int(n));
    }
    const auto& decimal = static_cast<const arrow::DecimalType&>(from);
    arrow::Decimal256 d = v.as_decimal();
    if (name_ == "abs") return Value::Decimal(arrow::Decimal256::Abs(d));
    const int drop = decimal.scale() - (name_ == "round" ? digits_ : 0);  // digits to become zero
    if (drop <= 0) return v;
    if (drop > 76) return Value::Decimal(arrow::Decimal256(0));
    const arrow::Decimal256 unit(arrow::Decimal256::GetScaleMultiplier(drop)), zero(0);
    auto [q, rest] = *DivideDecimal(d, unit);
    if (name_ == "floor" && rest < zero) q += arrow::Decimal256(-1);
    if (name_ == "ceil" && zero < rest) q += arrow::Decimal256(1);
    if (name_ == "round") {
      arrow::Decimal256 twice = arrow::Decimal256::Abs(rest);
      twice += arrow::Decimal256::Abs(rest);
      if (!(twice < unit)) q += arrow::Decimal256(d < zero ? -1 : 1);
    }
    arrow::Decimal256 r = q * unit;
    if (!r.FitsInPrecision(static_cast<const arrow::DecimalType&>(*type()).precision())) return std::nullopt;
    return Value::Decimal(r);
  }

  std::string name_;
  ValuePtr value_;
  int digits_;
};

}  // namespace

Result<Operand> BindRounding(FunctionCall f) {
  if (IsNullOperand(f.args[0])) return NullOperand(f.call.pos);
  PILUM_ASSIGN_OR_RETURN(ValuePtr v, f.binder.AsValue(f.args[0]));
  auto type = PlainType(v->type());
  if (!arrow::is_integer(type->id()) && !arrow::is_floating(type->id()) && !arrow::is_decimal(type->id())) {
    return WrongArgument(f, 0, "a number");
  }
  int digits = 0;
  if (f.args.size() > 1) {
    const auto& l = f.args[1].literal;
    auto n = l && l->kind == Literal::Kind::kNumber ? l->number.FloorInt() : std::nullopt;
    if (!n || !n->exact || n->value < -100 || n->value > 100)
      return WrongArgument(f, 1, "a number of digits (a literal)");
    digits = static_cast<int>(n->value);
  }
  // Widest of its kind, so that abs(-128) and round(127, -1) have a result.
  if (arrow::is_integer(type->id())) type = type->id() == arrow::Type::UINT64 ? arrow::uint64() : arrow::int64();
  if (type->id() == arrow::Type::HALF_FLOAT || type->id() == arrow::Type::FLOAT) type = arrow::float64();
  if (arrow::is_decimal(type->id()))
    type = arrow::decimal256(76, static_cast<const arrow::DecimalType&>(*type).scale());
  return ValueResult(std::make_shared<Rounding>(f.call.name, std::move(v), digits, std::move(type)), f.call.pos);
}

}  // namespace pilum
