// Predicates: comparisons of one column with literals become sets of that column's normal form; the rest is evaluated.
#include "pilum/query/binder.h"

#include "pilum/query/like.h"
#include "pilum/values/text.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

std::string Flip(const std::string& op) {
  return op == "<" ? ">" : op == "<=" ? ">=" : op == ">" ? "<" : op == ">=" ? "<=" : op;
}

bool IsNullLiteral(const Operand& o) { return o.literal && o.literal->kind == Literal::Kind::kNull; }

BoolPtr Maybe(BoolPtr p, bool negated) { return negated ? MakeNot(std::move(p)) : p; }

// Two literals: a constant.
Result<std::optional<bool>> CompareLiterals(const std::string& op, const Literal& a, const Literal& b) {
  if (a.kind == Literal::Kind::kNull || b.kind == Literal::Kind::kNull) return std::optional<bool>();
  if (a.kind == Literal::Kind::kNumber && b.kind == Literal::Kind::kNumber) {
    int c = a.number.Compare(b.number);
    return std::optional<bool>(op == "="    ? c == 0
                               : op == "<>" ? c != 0
                               : op == "<"  ? c < 0
                               : op == "<=" ? c <= 0
                               : op == ">"  ? c > 0
                                            : c >= 0);
  }
  // The one that is not a quoted text says the type.
  if (a.kind == Literal::Kind::kText && b.kind != Literal::Kind::kText) return CompareLiterals(Flip(op), b, a);
  const auto type = DefaultType(a);
  PILUM_ASSIGN_OR_RETURN(Place place, PlaceOf(a, type));
  PILUM_ASSIGN_OR_RETURN(ValueSet set, CompareSet(op, b, type));
  if (place.where != Place::Where::kAt)
    return ErrorAt(a.pos, "this value is outside the range of {}", type->ToString());
  return std::optional<bool>(set.Contains(*place.floor));
}

}  // namespace

Result<BoolPtr> Binder::AsBool(const Operand& o) const {
  if (o.boolean) return o.boolean;
  if (o.literal) {
    if (o.literal->kind == Literal::Kind::kNull) return MakeConst(std::nullopt);
    if (o.literal->kind == Literal::Kind::kBool) return MakeConst(o.literal->boolean);
    return ErrorAt(o.pos, "{} is not a condition", KindName(o.literal->kind));
  }
  const auto type = PlainType(o.value->type());
  if (type->id() == arrow::Type::BOOL) return MakeBoolOf(o.value);
  if (type->id() == arrow::Type::NA) return MakeConst(std::nullopt);
  return ErrorAt(o.pos, "{} is {}, not a condition", o.value->ToString(), o.value->type()->ToString());
}

Result<BoolPtr> Binder::BindBool(const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::kAnd:
    case Expr::Kind::kOr: return BindChain(e);
    case Expr::Kind::kNot: {
      PILUM_ASSIGN_OR_RETURN(BoolPtr arg, BindBool(*e.args[0]));
      return MakeNot(std::move(arg));
    }
    case Expr::Kind::kCompare: {
      PILUM_ASSIGN_OR_RETURN(Operand a, BindOperand(*e.args[0]));
      PILUM_ASSIGN_OR_RETURN(Operand b, BindOperand(*e.args[1]));
      return Compare(e.name, a, b, e.pos);
    }
    case Expr::Kind::kDistinct: return BindDistinct(e);
    case Expr::Kind::kIsNull: return BindIsNull(e);
    case Expr::Kind::kIsTruth: return BindTruth(e);
    case Expr::Kind::kIn: return BindIn(e);
    case Expr::Kind::kBetween: return BindBetween(e);
    case Expr::Kind::kLike: return BindLike(e);
    default: {
      PILUM_ASSIGN_OR_RETURN(Operand o, BindOperand(e));
      return AsBool(o);
    }
  }
}

Result<BoolPtr> Binder::BindChain(const Expr& e) {
  std::vector<BoolPtr> children;
  children.reserve(e.args.size());
  for (const auto& arg : e.args) {
    const size_t before = columns_.size();
    PILUM_ASSIGN_OR_RETURN(BoolPtr child, BindBool(*arg));
    if (e.kind == Expr::Kind::kAnd)
      columns_of_[child->node()] = {columns_.begin() + static_cast<std::ptrdiff_t>(before), columns_.end()};
    children.push_back(std::move(child));
  }
  return e.kind == Expr::Kind::kAnd ? MakeAnd(std::move(children)) : MakeOr(std::move(children));
}

Result<BoolPtr> Binder::Compare(const std::string& op, const Operand& a, const Operand& b, size_t pos) const {
  if (a.literal && b.literal) {
    PILUM_ASSIGN_OR_RETURN(auto value, CompareLiterals(op, *a.literal, *b.literal));
    return MakeConst(value);
  }
  if (a.literal) return Compare(Flip(op), b, a, pos);
  PILUM_ASSIGN_OR_RETURN(ValuePtr left, AsValue(a));
  const auto type = PlainType(left->type());
  if (!IsNormalizable(*type) && type->id() != arrow::Type::NA) {
    return ErrorAt(pos, "{} is {}: {} is not defined for it{}", left->ToString(), left->type()->ToString(), op,
                   arrow::is_nested(type->id()) ? "; name a field, or use array_has and cardinality" : "");
  }
  if (b.literal) {
    if (IsNullLiteral(b) || type->id() == arrow::Type::NA) return MakeConst(std::nullopt);
    PILUM_ASSIGN_OR_RETURN(ValueSet set, CompareSet(op, *b.literal, left->type()));
    std::string text = fmt::format("{} {} {}", left->ToString(), op, b.literal->ToString());
    return MakeInSet(std::move(left), std::move(set), std::move(text));
  }
  PILUM_ASSIGN_OR_RETURN(ValuePtr right, AsValue(b));
  auto made = MakeCompare(op, std::move(left), std::move(right));
  if (!made.ok()) return WithContext(fmt::format("at {}", pos), made.status());
  return made;
}

// x IN (…): the literals as one set; the rest, and NULL, beside it.
Result<BoolPtr> Binder::InLiterals(const Operand& tested, const std::vector<Operand>& items) const {
  std::vector<BoolPtr> parts;
  std::vector<Value> points;
  bool null = false;
  PILUM_ASSIGN_OR_RETURN(ValuePtr value, AsValue(tested));
  const auto type = PlainType(value->type());
  bool any_literal = false;
  for (const auto& item : items) {
    if (!item.literal) {
      PILUM_ASSIGN_OR_RETURN(BoolPtr one, Compare("=", tested, item, item.pos));
      parts.push_back(std::move(one));
    } else if (item.literal->kind == Literal::Kind::kNull || type->id() == arrow::Type::NA) {
      null = true;
    } else {
      any_literal = true;
      PILUM_ASSIGN_OR_RETURN(Place place, PlaceOf(*item.literal, value->type()));
      if (place.where == Place::Where::kAt && place.exact) points.push_back(std::move(*place.floor));
    }
  }
  if (any_literal) {
    ValueSet set = ValueSet::Points(std::move(points));
    std::string text = fmt::format("{} in {}", value->ToString(), set.ToString());
    parts.insert(parts.begin(), MakeInSet(std::move(value), std::move(set), std::move(text)));
  }
  if (null) parts.push_back(MakeConst(std::nullopt));
  return parts.size() == 1 ? parts[0] : MakeOr(std::move(parts));
}

Result<BoolPtr> Binder::BindIn(const Expr& e) {
  PILUM_ASSIGN_OR_RETURN(Operand tested, BindOperand(*e.args[0]));
  std::vector<Operand> items;
  items.reserve(e.args.size());
  for (size_t i = 1; i < e.args.size(); ++i) {
    PILUM_ASSIGN_OR_RETURN(Operand item, BindOperand(*e.args[i]));
    if (item.literal && item.literal->kind == Literal::Kind::kList) {  // a bound list: its items
      for (auto& one : item.literal->items) items.push_back(Operand{std::move(one), nullptr, nullptr, item.pos});
      continue;
    }
    items.push_back(std::move(item));
  }
  if (items.empty()) return MakeConst(e.negated);
  if (!tested.literal) {
    PILUM_ASSIGN_OR_RETURN(BoolPtr in, InLiterals(tested, items));
    return Maybe(std::move(in), e.negated);
  }
  std::vector<BoolPtr> parts;
  for (const auto& item : items) {
    PILUM_ASSIGN_OR_RETURN(BoolPtr one, Compare("=", tested, item, item.pos));
    parts.push_back(std::move(one));
  }
  return Maybe(MakeOr(std::move(parts)), e.negated);
}

Result<BoolPtr> Binder::BindBetween(const Expr& e) {
  PILUM_ASSIGN_OR_RETURN(Operand x, BindOperand(*e.args[0]));
  PILUM_ASSIGN_OR_RETURN(Operand low, BindOperand(*e.args[1]));
  PILUM_ASSIGN_OR_RETURN(Operand high, BindOperand(*e.args[2]));
  PILUM_ASSIGN_OR_RETURN(BoolPtr from, Compare(">=", x, low, low.pos));
  PILUM_ASSIGN_OR_RETURN(BoolPtr to, Compare("<=", x, high, high.pos));
  return Maybe(MakeAnd({std::move(from), std::move(to)}), e.negated);
}

Result<BoolPtr> Binder::BindIsNull(const Expr& e) {
  PILUM_ASSIGN_OR_RETURN(Operand o, BindOperand(*e.args[0]));
  if (o.literal) return MakeConst((o.literal->kind == Literal::Kind::kNull) != e.negated);
  return Maybe(o.boolean ? MakeIsNull(o.boolean) : MakeIsNull(o.value), e.negated);
}

Result<BoolPtr> Binder::BindTruth(const Expr& e) {
  PILUM_ASSIGN_OR_RETURN(BoolPtr arg, BindBool(*e.args[0]));
  if (e.name == "UNKNOWN") {
    bool column = arg->set() != nullptr && arg->operand()->column() != nullptr;
    return Maybe(column ? MakeIsNull(arg->operand()) : MakeIsNull(std::move(arg)), e.negated);
  }
  return Maybe(MakeIsTruth(std::move(arg), e.name == "TRUE"), e.negated);
}

// IS NOT DISTINCT FROM: equal, or both NULL. Never NULL itself.
Result<BoolPtr> Binder::BindDistinct(const Expr& e) {
  PILUM_ASSIGN_OR_RETURN(Operand a, BindOperand(*e.args[0]));
  PILUM_ASSIGN_OR_RETURN(Operand b, BindOperand(*e.args[1]));
  if (a.literal) std::swap(a, b);
  const bool same = e.negated;
  if (a.literal) {
    PILUM_ASSIGN_OR_RETURN(auto equal, CompareLiterals("=", *a.literal, *b.literal));
    const bool both_null = IsNullLiteral(a) && IsNullLiteral(b);
    return MakeConst(equal.value_or(both_null) == same);
  }
  PILUM_ASSIGN_OR_RETURN(ValuePtr left, AsValue(a));
  BoolPtr left_null = MakeIsNull(left);
  if (IsNullLiteral(b)) return Maybe(std::move(left_null), !same);
  if (b.literal) {
    PILUM_ASSIGN_OR_RETURN(BoolPtr compared, Compare(same ? "=" : "<>", a, b, e.pos));
    if (same) return MakeAnd({MakeNot(std::move(left_null)), std::move(compared)});
    return MakeOr({std::move(left_null), std::move(compared)});
  }
  PILUM_ASSIGN_OR_RETURN(ValuePtr right, AsValue(b));
  PILUM_ASSIGN_OR_RETURN(BoolPtr equal, Compare("=", a, b, e.pos));
  BoolPtr right_null = MakeIsNull(right);
  BoolPtr both = MakeAnd({left_null, right_null});
  BoolPtr is_equal = MakeAnd({MakeNot(left_null), MakeNot(right_null), std::move(equal)});
  return Maybe(MakeOr({std::move(both), std::move(is_equal)}), !same);
}

Result<BoolPtr> Binder::BindLike(const Expr& e) {
  PILUM_ASSIGN_OR_RETURN(Operand tested, BindOperand(*e.args[0]));
  PILUM_ASSIGN_OR_RETURN(Operand pattern, BindOperand(*e.args[1]));
  const bool fold = e.name == "ILIKE";
  std::string escape = "\\";
  if (e.args.size() > 2) {
    PILUM_ASSIGN_OR_RETURN(Operand o, BindOperand(*e.args[2]));
    if (!o.literal || o.literal->kind != Literal::Kind::kText || CountCodePoints(o.literal->bytes) != 1) {
      return ErrorAt(e.args[2]->pos, "ESCAPE takes a text of one character");
    }
    escape = o.literal->bytes;
  }
  for (const Operand* o : {&tested, &pattern}) {
    if (o->literal && (o->literal->kind == Literal::Kind::kText || IsNullLiteral(*o))) continue;
    if (o->value && DomainOf(*o->value->type()) == Domain::kText) continue;
    if (o->value && PlainType(o->value->type())->id() == arrow::Type::NA) return MakeConst(std::nullopt);
    return ErrorAt(o->pos, "{} takes texts, not {}", e.name,
                   o->value     ? o->value->type()->ToString()
                   : o->literal ? KindName(o->literal->kind)
                                : "a condition");
  }
  if (IsNullLiteral(tested) || IsNullLiteral(pattern)) return MakeConst(std::nullopt);
  if (!pattern.literal) {
    PILUM_ASSIGN_OR_RETURN(ValuePtr a, AsValue(tested));
    PILUM_ASSIGN_OR_RETURN(ValuePtr b, AsValue(pattern));
    auto test = [escape, fold](std::string_view text, std::string_view p) -> std::optional<bool> {
      auto compiled = LikePattern::Compile(p, escape, fold);
      if (!compiled.ok()) return std::nullopt;  // an impossible pattern is NULL for that row
      return compiled->Matches(text);
    };
    std::string shown = fmt::format("{} {} {}", a->ToString(), e.name, b->ToString());
    return Maybe(MakeTextPairTest(std::move(a), std::move(b), test, std::move(shown)), e.negated);
  }
  auto compiled = LikePattern::Compile(pattern.literal->bytes, escape, fold);
  if (!compiled.ok()) return WithContext(fmt::format("at {}", pattern.pos), compiled.status());
  if (tested.literal) return MakeConst(compiled->Matches(tested.literal->bytes) != e.negated);
  std::string shown = fmt::format("{} {} {}", tested.value->ToString(), e.name, pattern.literal->ToString());
  if (fold) {
    auto needles = compiled->Needles();
    auto test = [p = std::move(*compiled)](std::string_view text) { return p.Matches(text); };
    return Maybe(MakeTextTest(tested.value, std::move(test), std::nullopt, std::move(shown), 100,
                              {.pieces = std::move(needles), .folded = true}),
                 e.negated);
  }
  bool exact = false;
  ValueSet implied = compiled->Implied(&exact);
  if (exact) return Maybe(MakeInSet(tested.value, std::move(implied), std::move(shown)), e.negated);
  std::optional<ValueSet> probe;
  if (!implied.is_all()) probe = std::move(implied);
  auto needles = compiled->Needles();
  auto test = [p = std::move(*compiled)](std::string_view text) { return p.Matches(text); };
  return Maybe(MakeTextTest(tested.value, std::move(test), std::move(probe), std::move(shown), 30,
                            {.pieces = std::move(needles)}),
               e.negated);
}

}  // namespace pilum
