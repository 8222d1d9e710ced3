// The type that an expression is stored in, by the rules of DataFusion, which Lance uses: SELECT computes in wider types.
#include <algorithm>
#include <set>

#include <arrow/type.h>

#include "pilum/query/binder.h"
#include "pilum/query/select/stored_columns.h"
#include "pilum/source/field_path.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;

struct Stored {
  TypePtr type;  // null: as SELECT has it
  bool nullable = true;
};

bool IsInt(const TypePtr& t) { return t && arrow::is_integer(t->id()); }
bool IsFloat(const TypePtr& t) { return t && arrow::is_floating(t->id()); }

TypePtr IntOf(int bits, bool is_signed) {
  switch (bits) {
    case 8: return is_signed ? arrow::int8() : arrow::uint8();
    case 16: return is_signed ? arrow::int16() : arrow::uint16();
    case 32: return is_signed ? arrow::int32() : arrow::uint32();
    default: return is_signed ? arrow::int64() : arrow::uint64();
  }
}

// Of a + b; null: left to SELECT.
TypePtr NumberOf(const TypePtr& a, const TypePtr& b) {
  if (IsFloat(a) && IsFloat(b)) return arrow::bit_width(a->id()) >= arrow::bit_width(b->id()) ? a : b;
  if (IsFloat(a) && IsInt(b)) return a;
  if (IsInt(a) && IsFloat(b)) return b;
  if (!IsInt(a) || !IsInt(b)) return nullptr;
  const int wa = arrow::bit_width(a->id()), wb = arrow::bit_width(b->id());
  const bool sa = arrow::is_signed_integer(a->id()), sb = arrow::is_signed_integer(b->id());
  if (sa == sb) return IntOf(std::max(wa, wb), sa);
  const int of_unsigned = sa ? wb : wa, of_signed = sa ? wa : wb;
  return IntOf(std::min(64, std::max(2 * of_unsigned, of_signed)), true);
}

class Typer {
 public:
  explicit Typer(const arrow::Schema& schema) : schema_(schema), binder_(schema, params_) {}

  Stored Of(const Expr& e) {
    using Kind = Expr::Kind;
    switch (e.kind) {
      case Kind::kNumber: return {IsWhole(e) ? arrow::int64() : arrow::float64(), false};
      case Kind::kText: return {arrow::utf8(), false};
      case Kind::kBinary:
      case Kind::kTyped: return {nullptr, false};
      case Kind::kBool: return {arrow::boolean(), false};
      case Kind::kNull: return {nullptr, true};
      case Kind::kColumn: return Column(e);
      case Kind::kIsNull:
      case Kind::kIsTruth:
      case Kind::kDistinct: return {arrow::boolean(), false};
      case Kind::kAnd:
      case Kind::kOr:
      case Kind::kNot:
      case Kind::kCompare:
      case Kind::kIn:
      case Kind::kBetween:
      case Kind::kLike: return {arrow::boolean(), AnyNullable(e)};
      case Kind::kArith: return e.name == "||" ? Text(e) : Arith(e);
      case Kind::kNegate: return {Of(*e.args[0]).type, AnyNullable(e)};
      case Kind::kCast: return Cast(e);
      case Kind::kCall: return Call(e);
      default: return {};
    }
  }

 private:
  static bool IsWhole(const Expr& number) { return number.text.find_first_of(".eE") == std::string::npos; }
  static bool IsLiteral(const Expr& e) {
    return e.kind == Expr::Kind::kNumber || (e.kind == Expr::Kind::kNegate && IsLiteral(*e.args[0]));
  }
  bool AnyNullable(const Expr& e) {
    return std::any_of(e.args.begin(), e.args.end(), [&](const ExprPtr& a) { return Of(*a).nullable; });
  }

  Stored Column(const Expr& e) {
    const auto column = binder_.Resolve(e.parts, e.pos);
    if (!column.ok() || column->through_list) return {};
    const auto field = FieldAt(schema_, column->path);
    return field.ok() ? Stored{(*field)->type(), (*field)->nullable()} : Stored{};
  }

  // A number beside a column takes the column's type, if it can.
  static bool Adapts(const Expr& number, const Expr& beside, const TypePtr& type) {
    if (!IsLiteral(number) || beside.kind != Expr::Kind::kColumn) return false;
    const Expr& digits = number.kind == Expr::Kind::kNegate ? *number.args[0] : number;
    return IsFloat(type) || (IsInt(type) && IsWhole(digits));
  }

  Stored Arith(const Expr& e) {
    const Expr &a = *e.args[0], &b = *e.args[1];
    const Stored x = Of(a), y = Of(b);
    const bool nullable = x.nullable || y.nullable;
    if (Adapts(b, a, x.type)) return {x.type, nullable};
    if (Adapts(a, b, y.type)) return {y.type, nullable};
    return {NumberOf(x.type, y.type), nullable};
  }

  static bool IsLarge(const Stored& s) { return s.type && s.type->id() == arrow::Type::LARGE_STRING; }
  Stored Text(const Expr& e) {
    const bool large = std::any_of(e.args.begin(), e.args.end(), [&](const ExprPtr& a) { return IsLarge(Of(*a)); });
    return {large ? arrow::large_utf8() : arrow::utf8(), AnyNullable(e)};
  }

  Stored Cast(const Expr& e) {
    auto type = ParseType(e.name, e.pos);
    return {type.ok() ? *type : nullptr, e.flag || Of(*e.args[0]).nullable};
  }

  Stored Call(const Expr& e) {
    static const std::set<std::string> texts{"concat", "lower", "upper"};
    if (e.name == "coalesce") {
      const bool null = std::all_of(e.args.begin(), e.args.end(), [&](const ExprPtr& a) { return Of(*a).nullable; });
      return {nullptr, null};
    }
    if (e.args.empty()) return {};
    if (texts.contains(e.name)) return {Text(e).type, true};
    if (e.name == "abs") return {Of(*e.args[0]).type, true};
    if (e.name == "length") return {IsLarge(Of(*e.args[0])) ? arrow::int64() : arrow::int32(), true};
    if (e.name == "date_part") return {arrow::int32(), true};
    return {};
  }

  const arrow::Schema& schema_;
  const Params params_;
  Binder binder_;
};

}  // namespace

std::shared_ptr<arrow::Field> StoredField(const Expr& e, const arrow::Schema& schema,
                                          const std::shared_ptr<arrow::DataType>& bound) {
  const Stored stored = Typer(schema).Of(e);
  return arrow::field("", stored.type ? stored.type : bound, stored.nullable);
}

}  // namespace pilum
