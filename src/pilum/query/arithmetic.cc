// + - * / % and sign. Results that do not exist (overflow, division by zero) are NULL for that row.
#include <cmath>
#include <limits>

#include "pilum/query/arithmetic_int64.h"
#include "pilum/query/binder.h"
#include "pilum/values/decimal.h"
#include "pilum/values/time.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

using arrow::Decimal256;

bool IsInt(const arrow::DataType& t) { return arrow::is_integer(t.id()); }
bool IsNumber(const arrow::DataType& t) { return IsInt(t) || arrow::is_floating(t.id()) || arrow::is_decimal(t.id()); }

std::optional<Int128> IntOp(char op, Int128 a, Int128 b) {
  Int128 r;
  switch (op) {
    case '+': return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case '-': return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case '*': return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case '/': return b == 0 ? std::nullopt : std::optional(a / b);
    default: return b == 0 ? std::nullopt : std::optional(a % b);
  }
}

std::optional<double> FloatOp(char op, double a, double b) {
  double r = 0;
  switch (op) {
    case '+': r = a + b; break;
    case '-': r = a - b; break;
    case '*': r = a * b; break;
    case '/': r = a / b; break;
    default: r = std::fmod(a, b); break;
  }
  if ((op == '/' || op == '%') && b == 0) return std::nullopt;
  if (!std::isfinite(r) && std::isfinite(a) && std::isfinite(b)) return std::nullopt;  // overflow
  return r;
}

// Multiplication that sees overflow: by magnitudes, since 256-bit products wrap.
std::optional<Decimal256> Times(const Decimal256& a, const Decimal256& b) {
  const Decimal256 zero(0);
  if (a == zero || b == zero) return zero;
  Decimal256 r = a * b;
  const auto back = DivideDecimal(r, b);
  if (back->rest != zero || back->quotient != a || !r.FitsInPrecision(76)) return std::nullopt;
  return r;
}

std::optional<Decimal256> Scaled(const Decimal256& v, int32_t by) {
  if (by == 0) return v;
  if (by > 76) return std::nullopt;
  return Times(v, Decimal256(Decimal256::GetScaleMultiplier(by)));
}

struct DecimalRule {
  char op;
  int32_t scale_a, scale_b, scale;  // of the result

  std::optional<Decimal256> Run(const Decimal256& a, const Decimal256& b) const {
    const Decimal256 zero(0);
    if (op == '*') return Times(a, b);
    if (op == '/') {
      if (b == zero) return std::nullopt;
      auto top = Scaled(a, scale + scale_b - scale_a);
      if (!top) return std::nullopt;
      const auto q = DivideRounded(*top, b);
      return q->FitsInPrecision(76) ? q : std::nullopt;
    }
    auto x = Scaled(a, scale - scale_a), y = Scaled(b, scale - scale_b);
    if (!x || !y) return std::nullopt;
    if (op == '%') {
      const auto divided = DivideDecimal(*x, *y);
      return divided ? std::optional(divided->rest) : std::nullopt;
    }
    Decimal256 r = *x;  // both fit in 76 digits, so the sum fits in 256 bits
    if (op == '+') {
      r += *y;
    } else {
      r -= *y;
    }
    return r.FitsInPrecision(76) ? std::optional(r) : std::nullopt;
  }
};

class Arith : public ValueExpr {
 public:
  enum class Form { kInt, kFloat, kDecimal, kTime };
  Arith(Form form, char op, ValuePtr a, ValuePtr b, std::shared_ptr<arrow::DataType> type, DecimalRule rule)
      : ValueExpr(std::move(type)), form_(form), op_(op), a_(std::move(a)), b_(std::move(b)), rule_(rule) {
    const auto same = [&](const ValueExpr& value) {
      return form == Form::kInt && value.constant() ? Int64Of(*value.constant()) : std::nullopt;
    };
    same_a_ = same(*a_);
    same_b_ = same(*b_);
  }

  std::string ToString() const override { return fmt::format("({} {} {})", a_->ToString(), op_, b_->ToString()); }

  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    std::shared_ptr<arrow::Array> result, a, b;
    if (same_a_.has_value() != same_b_.has_value()) {
      PILUM_ASSIGN_OR_RETURN(auto rows, EvalPlain(same_a_ ? *b_ : *a_, in));
      if (FitsInt64(*rows->type())) {
        const Int64Side side{rows.get()};
        PILUM_ASSIGN_OR_RETURN(
            result, same_a_ ? ArithInt64(op_, {nullptr, *same_a_}, side) : ArithInt64(op_, side, {nullptr, *same_b_}));
        if (result->null_count() == 0 || !in.strict) return result;
      }
      (same_a_ ? b : a) = std::move(rows);
    }
    if (!a) {
      PILUM_ASSIGN_OR_RETURN(a, EvalPlain(*a_, in));
    }
    if (!b) {
      PILUM_ASSIGN_OR_RETURN(b, EvalPlain(*b_, in));
    }
    if (!result) {
      PILUM_ASSIGN_OR_RETURN(result, Compute(in, a, b));
    }
    PILUM_RETURN_NOT_OK(CheckHasValues(in, *result, {a.get(), b.get()}, ToString()));
    return result;
  }

 private:
  Result<std::shared_ptr<arrow::Array>> Compute(EvalContext& in, const std::shared_ptr<arrow::Array>& a,
                                                const std::shared_ptr<arrow::Array>& b) const {
    if (form_ == Form::kInt && FitsInt64(*a->type()) && FitsInt64(*b->type()))
      return ArithInt64(op_, {a.get()}, {b.get()});
    std::vector<std::optional<Value>> out(static_cast<size_t>(in.rows));
    auto each = [&](auto one) {
      for (int64_t i = 0; i < in.rows; ++i) {
        if (a->IsValid(i) && b->IsValid(i)) out[static_cast<size_t>(i)] = one(static_cast<size_t>(i));
      }
    };
    if (form_ == Form::kFloat) {
      PILUM_ASSIGN_OR_RETURN(auto x, DoublesOf(*a));
      PILUM_ASSIGN_OR_RETURN(auto y, DoublesOf(*b));
      arrow::DoubleBuilder builder;
      PILUM_RETURN_NOT_OK(builder.Reserve(in.rows));
      for (int64_t i = 0; i < in.rows; ++i) {
        const auto k = static_cast<size_t>(i);
        auto r = a->IsValid(i) && b->IsValid(i) ? FloatOp(op_, x[k], y[k]) : std::nullopt;
        r ? builder.UnsafeAppend(*r) : builder.UnsafeAppendNull();
      }
      return builder.Finish();
    }
    if (form_ == Form::kDecimal) {
      PILUM_ASSIGN_OR_RETURN(auto x, AsDecimals(*a));
      PILUM_ASSIGN_OR_RETURN(auto y, AsDecimals(*b));
      each([&](size_t i) -> std::optional<Value> {
        auto r = rule_.Run(x[i], y[i]);
        return r ? std::optional(Value::Decimal(*r)) : std::nullopt;
      });
    } else {
      PILUM_ASSIGN_OR_RETURN(auto x, IntsOf(*a));
      PILUM_ASSIGN_OR_RETURN(auto y, IntsOf(*b));
      const IntRange range = IntRangeOf(*type());
      const Int128 unit = form_ == Form::kTime ? NanosPerUnit(*type()) : 1;
      const Int128 ua = form_ == Form::kTime ? NanosPerUnit(*a->type()) / unit : 1;
      const Int128 ub = form_ == Form::kTime ? NanosPerUnit(*b->type()) / unit : 1;
      auto one = [&](size_t i) -> std::optional<Int128> {
        auto r = IntOp(op_, x[i] * ua, y[i] * ub);
        return !r || *r < range.min || *r > range.max ? std::nullopt : r;
      };
      if (type()->id() == arrow::Type::INT64) {
        arrow::Int64Builder builder;
        PILUM_RETURN_NOT_OK(builder.Reserve(in.rows));
        for (int64_t i = 0; i < in.rows; ++i) {
          auto r = a->IsValid(i) && b->IsValid(i) ? one(static_cast<size_t>(i)) : std::nullopt;
          r ? builder.UnsafeAppend(static_cast<int64_t>(*r)) : builder.UnsafeAppendNull();
        }
        return builder.Finish();
      }
      each([&](size_t i) {
        auto r = one(i);
        return r ? std::optional(Value::Int(*r)) : std::nullopt;
      });
    }
    return MakeArrayOf(type(), out);
  }

  static Result<std::vector<Decimal256>> AsDecimals(const arrow::Array& a) {
    if (arrow::is_decimal(a.type_id())) return DecimalsOf(a);
    PILUM_ASSIGN_OR_RETURN(auto ints, IntsOf(a));
    std::vector<Decimal256> out;
    out.reserve(ints.size());
    for (Int128 v : ints) {
      out.emplace_back(arrow::Decimal128(static_cast<int64_t>(v >> 64), static_cast<uint64_t>(v)));
    }
    return out;
  }

  Form form_;
  char op_;
  ValuePtr a_, b_;
  DecimalRule rule_;
  std::optional<int64_t> same_a_, same_b_;  // constants, which take no array
};

int32_t ScaleOf(const arrow::DataType& t) {
  return arrow::is_decimal(t.id()) ? static_cast<const arrow::DecimalType&>(t).scale() : 0;
}

// timestamp ± duration, timestamp - timestamp, dates likewise, duration ± duration. Null: none of these.
Result<std::shared_ptr<arrow::DataType>> TimeResult(char op, const arrow::DataType& a, const arrow::DataType& b) {
  auto unit_of = [](int64_t nanos) {
    return nanos >= kNanosPerSecond ? arrow::TimeUnit::SECOND
           : nanos == 1'000'000     ? arrow::TimeUnit::MILLI
           : nanos == 1'000         ? arrow::TimeUnit::MICRO
                                    : arrow::TimeUnit::NANO;
  };
  const bool point_a = arrow::is_date(a.id()) || a.id() == arrow::Type::TIMESTAMP;
  const bool point_b = arrow::is_date(b.id()) || b.id() == arrow::Type::TIMESTAMP;
  const bool span_a = a.id() == arrow::Type::DURATION, span_b = b.id() == arrow::Type::DURATION;
  const auto unit = unit_of(std::min(NanosPerUnit(a), NanosPerUnit(b)));
  auto zone = [](const arrow::DataType& t) {
    return t.id() == arrow::Type::TIMESTAMP ? static_cast<const arrow::TimestampType&>(t).timezone() : std::string();
  };
  if (span_a && span_b) return arrow::duration(unit);
  if (point_a && span_b) return arrow::timestamp(unit, zone(a));
  if (op == '+' && span_a && point_b) return arrow::timestamp(unit, zone(b));
  // A date and a zoned timestamp would need the zone's midnight: say it with CAST.
  if (op == '-' && point_a && point_b && zone(a).empty() == zone(b).empty()) return arrow::duration(unit);
  return QueryError("{} {} {} is not defined", a.ToString(), op, b.ToString());
}

}  // namespace

Result<ValuePtr> MakeArith(const std::string& op_text, ValuePtr a, ValuePtr b) {
  const char op = op_text[0];
  const auto ta = PlainType(a->type()), tb = PlainType(b->type());
  DecimalRule rule{op, ScaleOf(*ta), ScaleOf(*tb), 0};
  if (!IsNumber(*ta) || !IsNumber(*tb)) {
    if ((op == '+' || op == '-') && NanosPerUnit(*ta) != 0 && NanosPerUnit(*tb) != 0) {
      PILUM_ASSIGN_OR_RETURN(auto type, TimeResult(op, *ta, *tb));
      return std::make_shared<Arith>(Arith::Form::kTime, op, std::move(a), std::move(b), std::move(type), rule);
    }
    return QueryError("{} {} {} is not defined; use CAST to convert", ta->ToString(), op, tb->ToString());
  }
  if (arrow::is_floating(ta->id()) || arrow::is_floating(tb->id())) {
    return std::make_shared<Arith>(Arith::Form::kFloat, op, std::move(a), std::move(b), arrow::float64(), rule);
  }
  if (IsInt(*ta) && IsInt(*tb)) {
    bool both = ta->id() == arrow::Type::UINT64 && tb->id() == arrow::Type::UINT64;
    return std::make_shared<Arith>(Arith::Form::kInt, op, std::move(a), std::move(b),
                                   both ? arrow::uint64() : arrow::int64(), rule);
  }
  const int32_t widest = std::max(rule.scale_a, rule.scale_b);
  rule.scale = op == '*' ? rule.scale_a + rule.scale_b : op == '/' ? std::min(std::max(widest + 6, 6), 38) : widest;
  rule.scale = op == '/' ? std::max(rule.scale, rule.scale_a - rule.scale_b) : rule.scale;
  if (rule.scale > 76)
    return QueryError("the product would need {} decimal places; use CAST to make it smaller", rule.scale);
  auto type = arrow::decimal256(76, rule.scale);
  return std::make_shared<Arith>(Arith::Form::kDecimal, op, std::move(a), std::move(b), std::move(type), rule);
}

Result<ValuePtr> MakeNegate(ValuePtr a) {
  const auto t = PlainType(a->type());
  if (arrow::is_floating(t->id())) {
    // 0 - x would lose nothing in the one order: -0.0 is 0.0.
    return MakeArith("-", MakeConstant(std::make_shared<arrow::DoubleScalar>(0.0)), std::move(a));
  }
  if (arrow::is_decimal(t->id()))
    return MakeArith("-", MakeConstant(std::make_shared<arrow::Int64Scalar>(0)), std::move(a));
  if (IsInt(*t)) return MakeArith("-", MakeConstant(std::make_shared<arrow::Int64Scalar>(0)), std::move(a));
  return QueryError("- {} is not defined", t->ToString());
}

}  // namespace pilum
