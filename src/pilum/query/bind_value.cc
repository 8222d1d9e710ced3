// Values: literals, columns, parameters, arithmetic, CASE, CAST and calls; what holds no column is computed here, once.
#include "pilum/query/binder.h"
#include "pilum/values/time.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

Result<std::shared_ptr<arrow::Scalar>> ScalarOf(const Literal& l, const std::shared_ptr<arrow::DataType>& type) {
  if (l.kind == Literal::Kind::kNull) return arrow::MakeNullScalar(type);
  PILUM_ASSIGN_OR_RETURN(auto value, CastLiteral(l, type));
  if (!value) return ErrorAt(l.pos, "{} is not a value of type {}", l.ToString(), type->ToString());
  PILUM_ASSIGN_OR_RETURN(auto array, MakeArrayOf(type, {value}));
  return array->GetScalar(0);
}

bool HasColumn(const Expr& e) {
  if (e.kind == Expr::Kind::kColumn) return true;
  return std::any_of(e.args.begin(), e.args.end(), [](const ExprPtr& a) { return HasColumn(*a); });
}

}  // namespace

Result<ValuePtr> Binder::AsValue(const Operand& o) const {
  if (o.value) return o.value;
  if (o.boolean) return MakeValueOf(o.boolean);
  if (o.literal->kind == Literal::Kind::kList) return ErrorAt(o.pos, "a list cannot be used here");
  return AsValueOf(o, DefaultType(*o.literal));
}

Result<ValuePtr> Binder::AsValueOf(const Operand& o, const std::shared_ptr<arrow::DataType>& type) const {
  if (o.literal) {
    PILUM_ASSIGN_OR_RETURN(auto scalar, ScalarOf(*o.literal, type));
    return MakeConstant(std::move(scalar));
  }
  PILUM_ASSIGN_OR_RETURN(ValuePtr value, AsValue(o));
  if (PlainType(value->type())->Equals(*PlainType(type))) return value;
  return MakeCast(std::move(value), type);
}

Result<Operand> Binder::Fold(Operand o, bool constant) const {
  if (!constant || o.literal) return o;
  auto batch = arrow::RecordBatch::Make(arrow::schema({}), 1, arrow::ArrayVector{});
  ReadContext ctx;
  EvalContext in{*batch, ctx, 1, {}, strict_};
  if (o.boolean) {
    PILUM_ASSIGN_OR_RETURN(Tri t, o.boolean->Eval(in));
    Literal l;
    l.pos = o.pos;
    l.kind = t.is_true[0] | t.is_false[0] ? Literal::Kind::kBool : Literal::Kind::kNull;
    l.boolean = t.is_true[0] != 0;
    return Operand{std::move(l), nullptr, nullptr, o.pos};
  }
  if (!IsNormalizable(*o.value->type())) return o;
  PILUM_ASSIGN_OR_RETURN(auto array, o.value->Eval(in));
  PILUM_ASSIGN_OR_RETURN(auto scalar, array->GetScalar(0));
  PILUM_ASSIGN_OR_RETURN(Literal l, LiteralOf(*scalar, o.pos, true));
  return Operand{std::move(l), nullptr, nullptr, o.pos};
}

Result<Operand> Binder::BindOperand(const Expr& e) {
  using Kind = Expr::Kind;
  switch (e.kind) {
    case Kind::kNumber:
    case Kind::kText:
    case Kind::kBinary:
    case Kind::kBool:
    case Kind::kNull:
    case Kind::kTyped: return BindLiteral(e);
    case Kind::kParam: {
      PILUM_ASSIGN_OR_RETURN(Literal l, BindParam(e));
      return Operand{std::move(l), nullptr, nullptr, e.pos};
    }
    case Kind::kColumn: return BindColumn(e);
    case Kind::kArith:
    case Kind::kNegate: {
      PILUM_ASSIGN_OR_RETURN(Operand o, BindArith(e));
      return Fold(std::move(o), !HasColumn(e));
    }
    case Kind::kCase: {
      PILUM_ASSIGN_OR_RETURN(Operand o, BindCase(e));
      return Fold(std::move(o), !HasColumn(e));
    }
    case Kind::kCast: {
      PILUM_ASSIGN_OR_RETURN(Operand o, BindCast(e));
      return Fold(std::move(o), !HasColumn(e));
    }
    case Kind::kCall: {
      PILUM_ASSIGN_OR_RETURN(Operand o, BindCall(e));
      return Fold(std::move(o), !HasColumn(e));
    }
    case Kind::kArray: {
      Literal list;
      list.kind = Literal::Kind::kList;
      list.pos = e.pos;
      for (const auto& arg : e.args) {
        PILUM_ASSIGN_OR_RETURN(Operand o, BindOperand(*arg));
        if (!o.literal || o.literal->kind == Literal::Kind::kList)
          return NotYetAt(arg->pos, "a list of other than literals is");
        list.items.push_back(std::move(*o.literal));
      }
      return Operand{std::move(list), nullptr, nullptr, e.pos};
    }
    case Kind::kStar: return ErrorAt(e.pos, "'*' stands for columns only in SELECT");
    default: {
      PILUM_ASSIGN_OR_RETURN(BoolPtr b, BindBool(e));
      return Fold(Operand{std::nullopt, nullptr, std::move(b), e.pos}, !HasColumn(e));
    }
  }
}

Result<Operand> Binder::BindLiteral(const Expr& e) {
  Literal l;
  l.pos = e.pos;
  switch (e.kind) {
    case Expr::Kind::kNumber: {
      auto n = ExactNumber::Parse(e.text);
      if (!n) return ErrorAt(e.pos, "'{}' is not a number", e.text);
      l.kind = Literal::Kind::kNumber;
      l.number = std::move(*n);
      l.point = e.text.find_first_of(".eE") != std::string::npos;
      break;
    }
    case Expr::Kind::kText:
    case Expr::Kind::kBinary:
      l.kind = e.kind == Expr::Kind::kText ? Literal::Kind::kText : Literal::Kind::kBinary;
      l.bytes = e.text;
      break;
    case Expr::Kind::kBool:
      l.kind = Literal::Kind::kBool;
      l.boolean = e.flag;
      break;
    case Expr::Kind::kTyped:
      if (e.name == "DATE") {
        auto v = ParseDate(e.text);
        if (!v) return ErrorAt(e.pos, "'{}' is not a date, YYYY-MM-DD", e.text);
        l.kind = Literal::Kind::kDate;
        l.nanos = *v * kNanosPerDay;
      } else if (e.name == "TIME") {
        auto v = ParseTimeOfDay(e.text);
        if (!v) return ErrorAt(e.pos, "'{}' is not a time, HH:MM:SS[.fraction]", e.text);
        l.kind = Literal::Kind::kTime;
        l.nanos = *v;
      } else if (e.name == "INTERVAL") {
        auto v = ParseInterval(e.text);
        if (!v) return ErrorAt(e.pos, "'{}' is not an interval such as '3 days 2 hours'", e.text);
        l.kind = Literal::Kind::kInterval;
        l.nanos = v->nanos;
        l.months = v->months;
      } else {
        auto v = ParseTimestamp(e.text);
        if (!v) return ErrorAt(e.pos, "'{}' is not a timestamp, YYYY-MM-DD [HH:MM[:SS[.fraction]] [offset]]", e.text);
        l.kind = Literal::Kind::kTimestamp;
        l.nanos = v->nanos;
        l.instant = v->instant;
      }
      break;
    default: break;
  }
  return Operand{std::move(l), nullptr, nullptr, e.pos};
}

Result<Literal> Binder::BindParam(const Expr& e) {
  std::shared_ptr<arrow::Scalar> scalar;
  if (e.flag) {
    auto it = params_.named.find(e.text);
    if (it == params_.named.end()) return ErrorAt(e.pos, "no value was bound to :{}", e.text);
    scalar = it->second;
  } else {
    const bool mark = e.text[0] == '?';
    const size_t at = static_cast<size_t>(std::stoul(e.text.substr(mark))) - 1;
    if (at >= params_.positional.size()) {
      return ErrorAt(e.pos, "no value was bound to {} ({} given)", (mark ? "? number " : "$") + e.text.substr(mark),
                     params_.positional.size());
    }
    scalar = params_.positional[at];
  }
  if (!scalar) return ErrorAt(e.pos, "the bound value is missing");
  return LiteralOf(*scalar, e.pos, false);
}

Result<Operand> Binder::BindColumn(const Expr& e) {
  PILUM_ASSIGN_OR_RETURN(ResolvedColumn c, Resolve(e.parts, e.pos));
  columns_.push_back(c.path);
  return Operand{std::nullopt, MakeColumn(std::move(c.path), std::move(c.type), c.through_list), nullptr, e.pos};
}

Result<Operand> Binder::BindArith(const Expr& e) {
  std::vector<Operand> args;
  for (const auto& arg : e.args) {
    PILUM_ASSIGN_OR_RETURN(Operand o, BindOperand(*arg));
    if (o.literal && o.literal->kind == Literal::Kind::kNull) return o;  // NULL in, NULL out
    args.push_back(std::move(o));
  }
  std::vector<ValuePtr> values;
  for (size_t i = 0; i < args.size(); ++i) {
    const Operand& other = args[args.size() - 1 - i];
    std::shared_ptr<arrow::DataType> type;
    if (args[i].literal && args.size() == 2 && e.name != "||") {
      const Literal& l = *args[i].literal;
      const auto beside = other.literal ? DefaultType(*other.literal)
                          : other.value ? PlainType(other.value->type())
                                        : arrow::boolean();
      if (l.kind == Literal::Kind::kNumber && arrow::is_decimal(beside->id())) {
        // Beside a decimal a literal is the decimal it was written as.
        for (int32_t scale = 0; scale <= 38 && !type; ++scale) {
          auto f = l.number.FloorAt(scale);
          if (f && f->exact) type = arrow::decimal256(76, scale);
        }
      } else if (l.kind == Literal::Kind::kText && !l.type && DomainOf(*beside) != Domain::kText) {
        type = beside;
      }
    }
    Operand part = args[i];
    if (part.literal && part.literal->kind == Literal::Kind::kInterval) part.literal->months = 0;  // added below
    PILUM_ASSIGN_OR_RETURN(ValuePtr v, type ? AsValueOf(part, type) : AsValue(part));
    values.push_back(std::move(v));
  }
  if (args.size() == 2 && (e.name == "+" || e.name == "-")) {
    for (const auto& o : args) {
      if (!o.literal || o.literal->kind != Literal::Kind::kInterval || o.literal->months == 0) continue;
      const bool first = &o == &args[0];
      if (first && e.name == "-") return ErrorAt(o.pos, "nothing can be taken from months");
      auto moved = MakeMonths(values[first ? 1 : 0], e.name == "-" ? -o.literal->months : o.literal->months);
      if (!moved.ok()) return WithContext(fmt::format("at {}", e.pos), moved.status());
      if (o.literal->nanos == 0) return Operand{std::nullopt, std::move(*moved), nullptr, e.pos};
      values[first ? 1 : 0] = std::move(*moved);
    }
  }
  auto made = e.kind == Expr::Kind::kNegate ? MakeNegate(values[0])
              : e.name == "||"              ? MakeConcat(values, false)
                                            : MakeArith(e.name, values[0], values[1]);
  if (!made.ok()) return WithContext(fmt::format("at {}", e.pos), made.status());
  return Operand{std::nullopt, std::move(*made), nullptr, e.pos};
}

Result<Operand> Binder::BindCase(const Expr& e) {
  std::optional<Operand> operand;
  size_t i = 0;
  if (e.flag) {
    PILUM_ASSIGN_OR_RETURN(operand, BindOperand(*e.args[i++]));
  }
  std::vector<BoolPtr> conditions;
  std::vector<Operand> results;
  for (; i + 1 < e.args.size(); i += 2) {
    if (operand) {
      PILUM_ASSIGN_OR_RETURN(Operand when, BindOperand(*e.args[i]));
      PILUM_ASSIGN_OR_RETURN(BoolPtr equal, Compare("=", *operand, when, e.args[i]->pos));
      conditions.push_back(std::move(equal));
    } else {
      PILUM_ASSIGN_OR_RETURN(BoolPtr when, BindBool(*e.args[i]));
      conditions.push_back(std::move(when));
    }
    PILUM_ASSIGN_OR_RETURN(Operand then, BindOperand(*e.args[i + 1]));
    results.push_back(std::move(then));
  }
  Operand otherwise{Literal{}, nullptr, nullptr, e.pos};
  if (i < e.args.size()) {
    PILUM_ASSIGN_OR_RETURN(otherwise, BindOperand(*e.args[i]));
  }
  results.push_back(std::move(otherwise));
  PILUM_ASSIGN_OR_RETURN(auto type, CommonType(results, e.pos));
  std::vector<ValuePtr> values;
  for (const auto& r : results) {
    PILUM_ASSIGN_OR_RETURN(ValuePtr v, AsValueOf(r, type));
    values.push_back(std::move(v));
  }
  return Operand{std::nullopt, MakeChoice(std::move(conditions), std::move(values), type), nullptr, e.pos};
}

Result<Operand> Binder::BindCast(const Expr& e) {
  PILUM_ASSIGN_OR_RETURN(Operand o, BindOperand(*e.args[0]));
  PILUM_ASSIGN_OR_RETURN(auto type, ParseType(e.name, e.pos));
  if (o.literal && o.literal->kind != Literal::Kind::kList && DomainOf(*type) != Domain::kText) {
    // In WHERE an impossible cast is NULL, and so it is in TRY_CAST.
    PILUM_ASSIGN_OR_RETURN(auto value, CastLiteral(*o.literal, type));
    if (!value && strict_ && !e.flag && o.literal->kind != Literal::Kind::kNull) {
      return ErrorAt(e.pos, "{} is no value of type {}; TRY_CAST gives NULL", o.literal->ToString(), type->ToString());
    }
    Literal l;
    if (value) {
      PILUM_ASSIGN_OR_RETURN(l, LiteralOfValue(*value, type, e.pos, true));
    } else {
      l.type = type;
    }
    l.pos = e.pos;
    return Operand{std::move(l), nullptr, nullptr, e.pos};
  }
  PILUM_ASSIGN_OR_RETURN(ValuePtr v, AsValue(o));
  auto cast = MakeCast(std::move(v), std::move(type), e.flag);
  if (!cast.ok()) return WithContext(fmt::format("at {}", e.pos), cast.status());
  return Operand{std::nullopt, std::move(*cast), nullptr, e.pos};
}

Result<Operand> Binder::BindCall(const Expr& e) {
  std::vector<Operand> args;
  if (IsAggregate(e.name)) {
    return ErrorAt(e.pos, "{} is an aggregate: it may stand in SELECT, HAVING and ORDER BY, not inside another",
                   e.name);
  }
  if (e.flag) return ErrorAt(e.pos, "DISTINCT belongs to aggregates; {} is none", e.name);
  for (const auto& arg : e.args) {
    PILUM_ASSIGN_OR_RETURN(Operand o, BindOperand(*arg));
    const bool json = args.empty() && arg->kind == Expr::Kind::kColumn && e.name.starts_with("json_");
    if (json) looked_into_.insert(columns_.size() - 1);
    args.push_back(std::move(o));
  }
  return BindFunction(*this, e, std::move(args));
}

}  // namespace pilum
