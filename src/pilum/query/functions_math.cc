// Functions of floats (IEEE 754 throughout: sqrt(-1) is NaN, ln(0) is -inf), of whole numbers, and the greatest of several
// values. float32 gives float32; every other number is taken as float64.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/api.h>

#include "pilum/query/row_function.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

template <typename T>
T Sign(T x) {
  return std::isnan(x) || x == 0 ? x : std::copysign(T{1}, x);
}

template <typename T>
struct Unary {
  const char* name;
  T (*run)(T);
};
template <typename T>
const std::vector<Unary<T>>& Unaries() {
  static const std::vector<Unary<T>> table = {
      {"sqrt", [](T x) { return std::sqrt(x); }},
      {"cbrt", [](T x) { return std::cbrt(x); }},
      {"exp", [](T x) { return std::exp(x); }},
      {"ln", [](T x) { return std::log(x); }},
      {"log", [](T x) { return std::log(x) / std::log(T{10}); }},
      {"log10", [](T x) { return std::log10(x); }},
      {"log2", [](T x) { return std::log2(x); }},
      {"sin", [](T x) { return std::sin(x); }},
      {"cos", [](T x) { return std::cos(x); }},
      {"tan", [](T x) { return std::tan(x); }},
      {"cot", [](T x) { return T{1} / std::tan(x); }},
      {"asin", [](T x) { return std::asin(x); }},
      {"acos", [](T x) { return std::acos(x); }},
      {"atan", [](T x) { return std::atan(x); }},
      {"sinh", [](T x) { return std::sinh(x); }},
      {"cosh", [](T x) { return std::cosh(x); }},
      {"tanh", [](T x) { return std::tanh(x); }},
      {"degrees", [](T x) { return x * (T{180} / std::numbers::pi_v<T>); }},
      {"radians", [](T x) { return x * (std::numbers::pi_v<T> / T{180}); }},
      {"signum", [](T x) { return Sign(x); }},
      {"trunc", [](T x) { return std::trunc(x); }},
  };
  return table;
}

// f(x) or f(x, y) of floats; nullopt: no value.
using Floats = std::optional<double> (*)(double x, double y);
class FloatFunction : public ValueExpr {
 public:
  FloatFunction(std::string shown, std::vector<ValuePtr> args, std::shared_ptr<arrow::DataType> type, Floats run,
                double (*unary)(double), float (*narrow)(float))
      : ValueExpr(std::move(type)),
        shown_(std::move(shown)),
        args_(std::move(args)),
        run_(run),
        unary_(unary),
        narrow_(narrow) {}
  std::string ToString() const override { return shown_; }
  double cost() const override { return 20 + args_[0]->cost() + (args_.size() > 1 ? args_[1]->cost() : 0); }

  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto a, EvalPlain(*args_[0], in));
    auto b = a;
    if (args_.size() > 1) {
      PILUM_ASSIGN_OR_RETURN(b, EvalPlain(*args_[1], in));
    }
    PILUM_ASSIGN_OR_RETURN(auto result, type()->id() == arrow::Type::FLOAT ? Of<arrow::FloatBuilder>(*a, *b, in)
                                                                           : Of<arrow::DoubleBuilder>(*a, *b, in));
    PILUM_RETURN_NOT_OK(CheckHasValues(in, *result, {a.get(), b.get()}, shown_));
    return result;
  }

 private:
  template <typename Builder>
  Result<std::shared_ptr<arrow::Array>> Of(const arrow::Array& a, const arrow::Array& b, EvalContext& in) const {
    using T = typename Builder::value_type;
    PILUM_ASSIGN_OR_RETURN(const auto x, DoublesOf(a));
    std::vector<double> y;
    if (args_.size() > 1) {
      PILUM_ASSIGN_OR_RETURN(y, DoublesOf(b));
    }
    Builder out(in.ctx.memory_pool());
    PILUM_RETURN_NOT_OK(out.Reserve(in.rows));
    for (int64_t i = 0; i < in.rows; ++i) {
      const auto k = static_cast<size_t>(i);
      if (a.IsNull(i) || b.IsNull(i)) {
        out.UnsafeAppendNull();
      } else if (narrow_ && std::is_same_v<T, float>) {
        out.UnsafeAppend(static_cast<T>(narrow_(static_cast<float>(x[k]))));
      } else if (unary_) {
        out.UnsafeAppend(static_cast<T>(unary_(x[k])));
      } else {
        const auto r = run_(x[k], y[k]);
        r ? out.UnsafeAppend(static_cast<T>(*r)) : out.UnsafeAppendNull();
      }
    }
    return out.Finish();
  }

  std::string shown_;
  std::vector<ValuePtr> args_;
  Floats run_;
  double (*unary_)(double);
  float (*narrow_)(float);
};

std::optional<double> Power(double x, double y) {
  if (x == 0 && y < 0) return std::nullopt;  // a division by zero
  return std::pow(x, y);
}
std::optional<double> Log(double base, double x) { return std::log(x) / std::log(base); }
std::optional<double> Atan2(double y, double x) { return std::atan2(y, x); }
std::optional<double> Nanvl(double x, double y) { return std::isnan(x) ? y : x; }
std::optional<double> Trunc(double x, double digits) {
  if (digits != std::trunc(digits) || std::fabs(digits) > 308) return x;
  const double factor = std::pow(10.0, digits), r = std::trunc(x * factor) / factor;
  return std::isfinite(r) ? r : x;
}

bool IsNumberType(const arrow::DataType& t) {
  return arrow::is_integer(t.id()) || arrow::is_floating(t.id()) || arrow::is_decimal(t.id());
}

Result<std::vector<ValuePtr>> Numbers(const FunctionCall& f) {
  std::vector<ValuePtr> out;
  for (size_t i = 0; i < f.args.size(); ++i) {
    PILUM_ASSIGN_OR_RETURN(ValuePtr v, f.binder.AsValue(f.args[i]));
    if (!IsNumberType(*PlainType(v->type()))) return WrongArgument(f, i, "a number");
    out.push_back(std::move(v));
  }
  return out;
}

bool AllFloat32(const std::vector<ValuePtr>& args) {
  return std::all_of(args.begin(), args.end(),
                     [](const ValuePtr& v) { return PlainType(v->type())->id() == arrow::Type::FLOAT; });
}

std::optional<Int128> Gcd(const RowArgs& a, size_t row) {
  Int128 x = a.number(0, row), y = a.number(1, row);
  while (y != 0) x = std::exchange(y, x % y);
  return x < 0 ? -x : x;
}
std::optional<Int128> Lcm(const RowArgs& a, size_t row) {
  const Int128 x = a.number(0, row), y = a.number(1, row), g = *Gcd(a, row);
  if (g == 0) return 0;
  const Int128 r = x / g * y;  // 64 bits each
  return r < 0 ? -r : r;
}
std::optional<Int128> Factorial(const RowArgs& a, size_t row) {
  const Int128 n = a.number(0, row);
  if (n < 0 || n > 20) return std::nullopt;
  Int128 r = 1;
  for (Int128 i = 2; i <= n; ++i) r *= i;
  return r;
}

// isnan, iszero
class FloatTest : public ValueExpr {
 public:
  FloatTest(std::string shown, ValuePtr value, bool nan)
      : ValueExpr(arrow::boolean()), shown_(std::move(shown)), value_(std::move(value)), nan_(nan) {}
  std::string ToString() const override { return shown_; }
  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto array, EvalPlain(*value_, in));
    PILUM_ASSIGN_OR_RETURN(const auto x, DoublesOf(*array));
    arrow::BooleanBuilder out(in.ctx.memory_pool());
    PILUM_RETURN_NOT_OK(out.Reserve(in.rows));
    for (int64_t i = 0; i < in.rows; ++i) {
      const double v = x[static_cast<size_t>(i)];
      array->IsNull(i) ? out.UnsafeAppendNull() : out.UnsafeAppend(nan_ ? std::isnan(v) : v == 0);
    }
    return out.Finish();
  }

 private:
  std::string shown_;
  ValuePtr value_;
  bool nan_;
};

// The greatest, or least, of those that are not NULL, in the one order of values.
class Extreme : public ValueExpr {
 public:
  Extreme(std::string shown, std::vector<ValuePtr> values, std::shared_ptr<arrow::DataType> type, bool greatest)
      : ValueExpr(std::move(type)), shown_(std::move(shown)), values_(std::move(values)), greatest_(greatest) {}
  std::string ToString() const override { return shown_; }
  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    arrow::ArrayVector arrays;
    for (const auto& v : values_) {
      PILUM_ASSIGN_OR_RETURN(auto array, EvalPlain(*v, in));
      arrays.push_back(std::move(array));
    }
    arrow::Int64Builder chosen(in.ctx.memory_pool());
    PILUM_RETURN_NOT_OK(chosen.Reserve(in.rows));
    for (int64_t i = 0; i < in.rows; ++i) {
      std::optional<Value> best;
      int64_t at = 0;
      for (size_t k = 0; k < arrays.size(); ++k) {
        PILUM_ASSIGN_OR_RETURN(auto v, ValueAt(*arrays[k], i));
        if (!v || (best && (greatest_ ? Compare(*v, *best) <= 0 : Compare(*v, *best) >= 0))) continue;
        best = std::move(v);
        at = static_cast<int64_t>(k);
      }
      chosen.UnsafeAppend(at);
    }
    PILUM_ASSIGN_OR_RETURN(auto indices, chosen.Finish());
    std::vector<arrow::Datum> args = {indices};
    args.insert(args.end(), arrays.begin(), arrays.end());
    PILUM_ASSIGN_OR_RETURN(arrow::Datum out, arrow::compute::CallFunction("choose", args));
    return out.make_array();
  }

 private:
  std::string shown_;
  std::vector<ValuePtr> values_;
  bool greatest_;
};

}  // namespace

Result<Operand> BindFloatFunction(FunctionCall f) {
  if (HasNullArgument(f)) return NullOperand(f.call.pos);
  PILUM_ASSIGN_OR_RETURN(auto args, Numbers(f));
  const std::string& name = f.call.name;
  const bool narrow = AllFloat32(args);
  const auto make = [&](Floats run, double (*unary)(double), float (*narrow_run)(float), bool as_float32) {
    auto v = std::make_shared<FloatFunction>(Shown(f), std::move(args),
                                             as_float32 ? arrow::float32() : arrow::float64(), run, unary, narrow_run);
    return ValueResult(std::move(v), f.call.pos);
  };
  if (args.size() == 1) {
    const auto& wide = Unaries<double>();
    for (size_t i = 0; i < wide.size(); ++i) {
      if (name == wide[i].name) return make(nullptr, wide[i].run, Unaries<float>()[i].run, narrow);
    }
  }
  if (name == "log") return make(Log, nullptr, nullptr, false);
  if (name == "atan2") return make(Atan2, nullptr, nullptr, narrow);
  if (name == "nanvl") return make(Nanvl, nullptr, nullptr, narrow);
  if (name == "trunc") return make(Trunc, nullptr, nullptr, PlainType(args[0]->type())->id() == arrow::Type::FLOAT);
  return make(Power, nullptr, nullptr, false);
}

Result<Operand> BindPi(FunctionCall f) {
  return ValueResult(MakeConstant(std::make_shared<arrow::DoubleScalar>(std::numbers::pi)), f.call.pos);
}

Result<Operand> BindWholeNumberFunction(FunctionCall f) {
  if (HasNullArgument(f)) return NullOperand(f.call.pos);
  PILUM_ASSIGN_OR_RETURN(auto args, BindArgs(f, "ii"));
  const NumberRow run = f.call.name == "gcd" ? Gcd : f.call.name == "lcm" ? Lcm : Factorial;
  return ValueResult(MakeNumberRows(Shown(f), std::move(args), "ii", run), f.call.pos);
}

Result<Operand> BindFloatTest(FunctionCall f) {
  if (HasNullArgument(f)) return NullOperand(f.call.pos);
  PILUM_ASSIGN_OR_RETURN(auto args, Numbers(f));
  auto test = std::make_shared<FloatTest>(Shown(f), std::move(args[0]), f.call.name == "isnan");
  return Boolean(MakeBoolOf(std::move(test)), f.call.pos);
}

Result<Operand> BindExtreme(FunctionCall f) {
  PILUM_ASSIGN_OR_RETURN(auto type, CommonType(f.args, f.call.pos));
  if (type->id() == arrow::Type::NA) return NullOperand(f.call.pos);
  std::vector<ValuePtr> values;
  for (const auto& o : f.args) {
    if (IsNullOperand(o)) continue;
    PILUM_ASSIGN_OR_RETURN(ValuePtr v, f.binder.AsValueOf(o, type));
    values.push_back(std::move(v));
  }
  return ValueResult(std::make_shared<Extreme>(Shown(f), std::move(values), type, f.call.name == "greatest"),
                     f.call.pos);
}

// nvl2(a, b, c): b where a is not NULL, else c.
Result<Operand> BindNvl2(FunctionCall f) {
  const std::vector<Operand> results = {f.args[2], f.args[1]};
  if (IsNullOperand(f.args[0])) return f.args[2];
  PILUM_ASSIGN_OR_RETURN(auto type, CommonType(results, f.call.pos));
  if (type->id() == arrow::Type::NA) return NullOperand(f.call.pos);
  PILUM_ASSIGN_OR_RETURN(ValuePtr tested, f.binder.AsValue(f.args[0]));
  std::vector<ValuePtr> values;
  for (const auto& o : results) {
    PILUM_ASSIGN_OR_RETURN(ValuePtr v, f.binder.AsValueOf(o, type));
    values.push_back(std::move(v));
  }
  return ValueResult(MakeChoice({MakeIsNull(std::move(tested))}, std::move(values), type), f.call.pos);
}

}  // namespace pilum
