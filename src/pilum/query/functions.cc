// The function table: name, how many arguments, how it binds. Unknown names list near ones.
#include "pilum/query/functions.h"

#include <arrow/compute/api.h>

#include "pilum/query/find_text.h"
#include "pilum/query/like.h"
#include "pilum/values/text.h"
#include "pilum/values/value_builder.h"

namespace pilum {

Status WrongArgument(const FunctionCall& f, size_t i, const char* wanted) {
  const Operand& o = f.args[i];
  return ErrorAt(o.pos, "{} takes {} here, not {}", f.call.name, wanted,
                 o.value     ? o.value->type()->ToString()
                 : o.literal ? KindName(o.literal->kind)
                             : "a condition");
}

bool IsNullOperand(const Operand& o) {
  return (o.literal && o.literal->kind == Literal::Kind::kNull) ||
         (o.value && PlainType(o.value->type())->id() == arrow::Type::NA);
}

Operand NullOperand(size_t pos) {
  Literal l;
  l.pos = pos;
  return Operand{std::move(l), nullptr, nullptr, pos};
}
Operand Boolean(BoolPtr b, size_t pos) { return Operand{std::nullopt, nullptr, std::move(b), pos}; }
Operand ValueResult(ValuePtr v, size_t pos) { return Operand{std::nullopt, std::move(v), nullptr, pos}; }

bool IsTextOperand(const Operand& o) {
  return (o.literal && o.literal->kind == Literal::Kind::kText) ||
         (o.value && DomainOf(*o.value->type()) == Domain::kText);
}

std::string Shown(const FunctionCall& f) {
  std::string out = f.call.name + "(";
  for (size_t i = 0; i < f.args.size(); ++i) {
    const Operand& o = f.args[i];
    out += (i > 0 ? ", " : "") + (o.literal ? o.literal->ToString()
                                  : o.value ? o.value->ToString()
                                            : o.boolean->node()->text);
  }
  return out + ")";
}

namespace {

// starts_with, ends_with, contains: the second text is mostly a literal.
Result<Operand> BindTextSearch(FunctionCall f) {
  const char which = f.call.name[0];  // s, e, c
  for (size_t i = 0; i < 2; ++i) {
    if (IsNullOperand(f.args[i])) return NullOperand(f.call.pos);
    if (!IsTextOperand(f.args[i])) return WrongArgument(f, i, "a text");
  }
  auto holds = [which](std::string_view text, std::string_view part) {
    if (which == 's') return text.starts_with(part);
    return which == 'e' ? text.ends_with(part) : FindText(text, part) != text.npos;
  };
  const Operand &text = f.args[0], &part = f.args[1];
  if (text.literal && part.literal)
    return Boolean(MakeConst(holds(text.literal->bytes, part.literal->bytes)), f.call.pos);
  if (text.literal || !part.literal) {
    PILUM_ASSIGN_OR_RETURN(ValuePtr a, f.binder.AsValue(text));
    PILUM_ASSIGN_OR_RETURN(ValuePtr b, f.binder.AsValue(part));
    auto test = [holds](std::string_view x, std::string_view y) { return std::optional<bool>(holds(x, y)); };
    return Boolean(MakeTextPairTest(std::move(a), std::move(b), test, Shown(f)), f.call.pos);
  }
  const std::string wanted = part.literal->bytes;
  if (wanted.empty()) return Boolean(MakeInSet(text.value, ValueSet::All(), Shown(f)), f.call.pos);
  if (which == 's') return Boolean(MakeInSet(text.value, PrefixSet(wanted), Shown(f)), f.call.pos);
  auto test = [holds, wanted](std::string_view x) { return holds(x, wanted); };
  return Boolean(MakeTextTest(text.value, test, std::nullopt, Shown(f), 30, {.pieces = {wanted}}), f.call.pos);
}

Result<Operand> BindCoalesce(FunctionCall f) {
  PILUM_ASSIGN_OR_RETURN(auto type, CommonType(f.args, f.call.pos));
  if (type->id() == arrow::Type::NA) return NullOperand(f.call.pos);
  std::vector<ValuePtr> values;
  for (const auto& o : f.args) {
    PILUM_ASSIGN_OR_RETURN(ValuePtr v, f.binder.AsValueOf(o, type));
    values.push_back(std::move(v));
  }
  return ValueResult(MakeCoalesce(std::move(values), type), f.call.pos);
}

// nullif(a, b): NULL where a = b, else a.
Result<Operand> BindNullif(FunctionCall f) {
  if (f.args[0].literal && f.args[0].literal->kind == Literal::Kind::kNull) return NullOperand(f.call.pos);
  PILUM_ASSIGN_OR_RETURN(ValuePtr a, f.binder.AsValue(f.args[0]));
  auto type = PlainType(a->type());
  if (type->id() == arrow::Type::STRING_VIEW) type = arrow::large_utf8();
  PILUM_ASSIGN_OR_RETURN(a, f.binder.AsValueOf(f.args[0], type));
  PILUM_ASSIGN_OR_RETURN(BoolPtr equal, f.binder.Compare("=", f.args[0], f.args[1], f.call.pos));
  std::shared_ptr<arrow::Scalar> null = arrow::MakeNullScalar(type);
  std::vector<ValuePtr> results = {MakeConstant(std::move(null)), std::move(a)};
  return ValueResult(MakeChoice({std::move(equal)}, std::move(results), type), f.call.pos);
}

using Bind = Result<Operand> (*)(FunctionCall);
struct Entry {
  const char* name;
  size_t least, most;
  Bind bind;
};

constexpr size_t kMany = 1000;
const std::vector<Entry>& Table() {
  static const std::vector<Entry> table = {
      {"starts_with", 2, 2, BindTextSearch},
      {"ends_with", 2, 2, BindTextSearch},
      {"contains", 2, 2, BindTextSearch},
      {"contains_words", 2, 2, BindWordSearch},
      {"contains_tokens", 2, 2, BindWordSearch},
      {"coalesce", 1, kMany, BindCoalesce},
      {"nvl", 2, 2, BindCoalesce},
      {"ifnull", 2, 2, BindCoalesce},
      {"nvl2", 3, 3, BindNvl2},
      {"nullif", 2, 2, BindNullif},
      {"lower", 1, 1, BindTextFunction},
      {"upper", 1, 1, BindTextFunction},
      {"trim", 1, 1, BindTextFunction},
      {"length", 1, 1, BindTextFunction},
      {"substr", 2, 3, BindTextFunction},
      {"concat", 1, kMany, BindConcat},
      {"regexp_like", 2, 2, BindRegexp},
      {"regexp_match", 2, 2, BindRegexp},
      {"regexp_replace", 3, 4, BindRegexpReplace},
      {"abs", 1, 1, BindRounding},
      {"round", 1, 2, BindRounding},
      {"floor", 1, 1, BindRounding},
      {"ceil", 1, 1, BindRounding},
      {"left", 2, 2, BindPiece},
      {"right", 2, 2, BindPiece},
      {"lpad", 2, 3, BindPiece},
      {"rpad", 2, 3, BindPiece},
      {"replace", 3, 3, BindPiece},
      {"repeat", 2, 2, BindPiece},
      {"reverse", 1, 1, BindPiece},
      {"split_part", 3, 3, BindPiece},
      {"ltrim", 1, 2, BindPiece},
      {"rtrim", 1, 2, BindPiece},
      {"btrim", 1, 2, BindPiece},
      {"translate", 3, 3, BindPiece},
      {"chr", 1, 1, BindPiece},
      {"to_hex", 1, 1, BindPiece},
      {"strpos", 2, 2, BindPiece},
      {"instr", 2, 2, BindPiece},
      {"char_length", 1, 1, BindPiece},
      {"character_length", 1, 1, BindPiece},
      {"octet_length", 1, 1, BindPiece},
      {"bit_length", 1, 1, BindPiece},
      {"ascii", 1, 1, BindPiece},
      {"concat_ws", 2, kMany, BindConcatWs},
      {"md5", 1, 1, BindDigest},
      {"sha224", 1, 1, BindDigest},
      {"sha256", 1, 1, BindDigest},
      {"sha384", 1, 1, BindDigest},
      {"sha512", 1, 1, BindDigest},
      {"digest", 2, 2, BindDigest},
      {"encode", 2, 2, BindEncode},
      {"decode", 2, 2, BindEncode},
      {"sqrt", 1, 1, BindFloatFunction},
      {"cbrt", 1, 1, BindFloatFunction},
      {"exp", 1, 1, BindFloatFunction},
      {"ln", 1, 1, BindFloatFunction},
      {"log10", 1, 1, BindFloatFunction},
      {"log2", 1, 1, BindFloatFunction},
      {"sin", 1, 1, BindFloatFunction},
      {"cos", 1, 1, BindFloatFunction},
      {"tan", 1, 1, BindFloatFunction},
      {"cot", 1, 1, BindFloatFunction},
      {"asin", 1, 1, BindFloatFunction},
      {"acos", 1, 1, BindFloatFunction},
      {"atan", 1, 1, BindFloatFunction},
      {"sinh", 1, 1, BindFloatFunction},
      {"cosh", 1, 1, BindFloatFunction},
      {"tanh", 1, 1, BindFloatFunction},
      {"degrees", 1, 1, BindFloatFunction},
      {"radians", 1, 1, BindFloatFunction},
      {"signum", 1, 1, BindFloatFunction},
      {"trunc", 1, 2, BindFloatFunction},
      {"log", 1, 2, BindFloatFunction},
      {"power", 2, 2, BindFloatFunction},
      {"pow", 2, 2, BindFloatFunction},
      {"atan2", 2, 2, BindFloatFunction},
      {"nanvl", 2, 2, BindFloatFunction},
      {"pi", 0, 0, BindPi},
      {"gcd", 2, 2, BindWholeNumberFunction},
      {"lcm", 2, 2, BindWholeNumberFunction},
      {"factorial", 1, 1, BindWholeNumberFunction},
      {"isnan", 1, 1, BindFloatTest},
      {"iszero", 1, 1, BindFloatTest},
      {"greatest", 1, kMany, BindExtreme},
      {"least", 1, kMany, BindExtreme},
      {"array_has", 2, 2, BindArrayHas},
      {"array_contains", 2, 2, BindArrayHas},
      {"array_has_any", 2, 2, BindArrayHas},
      {"array_has_all", 2, 2, BindArrayHas},
      {"cardinality", 1, 1, BindCardinality},
      {"array_element", 2, 2, BindElement},
      {"get_field", 2, 2, BindGetField},
      {"date_trunc", 2, 2, BindDateTrunc},
      {"date_part", 2, 2, BindDatePart},
      {"to_timestamp", 1, 1, BindToTimestamp},
      {"current_date", 0, 0, BindCurrentDate},
      {"arrow_cast", 2, 2, BindArrowCast},
      {"json_get", 2, 2, BindJsonFunction},
      {"json_get_string", 2, 2, BindJsonFunction},
      {"json_get_int", 2, 2, BindJsonFunction},
      {"json_get_float", 2, 2, BindJsonFunction},
      {"json_get_bool", 2, 2, BindJsonFunction},
      {"json_extract", 2, 2, BindJsonFunction},
      {"json_exists", 2, 2, BindJsonFunction},
      {"json_array_contains", 3, 3, BindJsonFunction},
      {"json_array_length", 2, 2, BindJsonFunction},
  };
  return table;
}

}  // namespace

Result<Operand> BindFunction(const Binder& binder, const Expr& call, std::vector<Operand> args) {
  std::vector<std::string> names = {"cast", "try_cast"};
  for (const auto& entry : Table()) {
    names.push_back(entry.name);
    if (call.name != entry.name) continue;
    if (args.size() < entry.least || args.size() > entry.most) {
      return ErrorAt(call.pos, "{} takes {}{} arguments, not {}", call.name, entry.least,
                     entry.most == entry.least ? ""
                     : entry.most == kMany     ? " or more"
                                               : fmt::format(" to {}", entry.most),
                     args.size());
    }
    auto bound = entry.bind(FunctionCall{binder, call, std::move(args)});
    if (!bound.ok() && !bound.status().message().starts_with("at ")) {
      return WithContext(fmt::format("at {}", call.pos), bound.status());
    }
    return bound;
  }
  return ErrorAt(call.pos, "there is no function '{}'{}", call.name, NearNames(call.name, names));
}

}  // namespace pilum
