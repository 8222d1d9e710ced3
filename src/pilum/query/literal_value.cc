// Literals from values (parameters, folded expressions, rows of a CAST) and to values (CAST).
#include <cmath>

#include "pilum/query/lexer.h"
#include "pilum/query/literal.h"
#include "pilum/values/decimal.h"
#include "pilum/values/time.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

// As a person would read it: 0.1 is 0.1. Whole numbers keep their exact value.
ExactNumber AsWritten(double v, bool single) {
  if (!std::isfinite(v) || v == std::floor(v)) return ExactNumber::FromDouble(v);
  return *ExactNumber::Parse(single ? fmt::format("{}", static_cast<float>(v)) : fmt::format("{}", v));
}

}  // namespace

Result<Literal> LiteralOfValue(const Value& v, const std::shared_ptr<arrow::DataType>& full, size_t pos,
                               bool computed) {
  const std::shared_ptr<arrow::DataType> type = PlainType(full);
  Literal l;
  l.pos = pos;
  if (computed) l.type = type;
  switch (v.domain()) {
    case Domain::kFloat:
      l.kind = Literal::Kind::kNumber;
      l.number =
          computed ? ExactNumber::FromDouble(v.as_float()) : AsWritten(v.as_float(), type->id() != arrow::Type::DOUBLE);
      l.point = true;
      return l;
    case Domain::kDecimal:
      l.kind = Literal::Kind::kNumber;
      l.number = ExactNumber::FromDecimal(v.as_decimal(), static_cast<const arrow::DecimalType&>(*type).scale());
      l.point = true;
      return l;
    case Domain::kText:
      l.kind = Literal::Kind::kText;
      l.bytes = v.as_bytes();
      return l;
    case Domain::kBinary:
      l.kind = Literal::Kind::kBinary;
      l.bytes = v.as_bytes();
      return l;
    default: break;
  }
  l.nanos = v.as_int() * NanosPerUnit(*type);
  if (type->id() == arrow::Type::BOOL) {
    l.kind = Literal::Kind::kBool;
    l.boolean = v.as_int() != 0;
  } else if (arrow::is_integer(type->id())) {
    l.kind = Literal::Kind::kNumber;
    l.number = ExactNumber::FromInt(v.as_int());
  } else if (arrow::is_date(type->id())) {
    l.kind = Literal::Kind::kDate;
  } else if (arrow::is_time(type->id())) {
    l.kind = Literal::Kind::kTime;
  } else if (type->id() == arrow::Type::TIMESTAMP) {
    l.kind = Literal::Kind::kTimestamp;
    l.instant = !static_cast<const arrow::TimestampType&>(*type).timezone().empty();
  } else {
    l.kind = Literal::Kind::kInterval;
  }
  return l;
}

Result<Literal> LiteralOf(const arrow::Scalar& scalar, size_t pos, bool computed) {
  Literal l;
  l.pos = pos;
  if (!scalar.is_valid) {
    if (computed) l.type = scalar.type;
    return l;
  }
  if (arrow::is_list_like(scalar.type->id())) {
    const auto& items = *static_cast<const arrow::BaseListScalar&>(scalar).value;
    l.kind = Literal::Kind::kList;
    for (int64_t i = 0; i < items.length(); ++i) {
      PILUM_ASSIGN_OR_RETURN(auto item, items.GetScalar(i));
      PILUM_ASSIGN_OR_RETURN(Literal one, LiteralOf(*item, pos, computed));
      l.items.push_back(std::move(one));
    }
    return l;
  }
  if (!IsNormalizable(*scalar.type)) {
    return ErrorAt(pos, "a value of type {} cannot be used here", scalar.type->ToString());
  }
  PILUM_ASSIGN_OR_RETURN(auto array, arrow::MakeArrayFromScalar(scalar, 1));
  PILUM_ASSIGN_OR_RETURN(auto value, ValueAt(*array, 0));
  if (!value) return l;
  return LiteralOfValue(*value, scalar.type, pos, computed);
}

std::shared_ptr<arrow::DataType> DefaultType(const Literal& l) {
  if (l.type) return l.type;
  switch (l.kind) {
    case Literal::Kind::kBool: return arrow::boolean();
    case Literal::Kind::kNumber: {
      auto f = l.point ? std::nullopt : l.number.FloorInt();
      if (!f) return arrow::float64();
      if (f->value >= INT64_MIN && f->value <= INT64_MAX) return arrow::int64();
      return f->value >= 0 && f->value <= UINT64_MAX ? arrow::uint64() : arrow::float64();
    }
    case Literal::Kind::kText: return arrow::utf8();
    case Literal::Kind::kBinary: return arrow::binary();
    case Literal::Kind::kDate: return arrow::date32();
    case Literal::Kind::kTime: return arrow::time64(arrow::TimeUnit::NANO);
    case Literal::Kind::kTimestamp:
      return arrow::timestamp(l.nanos % 1000 == 0 ? arrow::TimeUnit::MICRO : arrow::TimeUnit::NANO,
                              l.instant ? "UTC" : "");
    case Literal::Kind::kInterval:  // the coarsest unit that holds it
      return arrow::duration(l.nanos % kNanosPerSecond == 0 ? arrow::TimeUnit::SECOND
                             : l.nanos % 1'000'000 == 0     ? arrow::TimeUnit::MILLI
                             : l.nanos % 1'000 == 0         ? arrow::TimeUnit::MICRO
                                                            : arrow::TimeUnit::NANO);
    default: return arrow::null();
  }
}

namespace {

std::optional<Value> CastNumber(const ExactNumber& n, const arrow::DataType& type) {
  if (arrow::is_integer(type.id())) {
    auto f = n.FloorInt();
    if (!f) return std::nullopt;
    Int128 v = f->value + (!f->exact && n.negative());  // toward zero
    IntRange range = IntRangeOf(type);
    if (v < range.min || v > range.max) return std::nullopt;
    return Value::Int(v);
  }
  switch (type.id()) {
    case arrow::Type::DOUBLE:
    case arrow::Type::FLOAT:
    case arrow::Type::HALF_FLOAT: {
      double v = type.id() == arrow::Type::DOUBLE  ? n.ToDouble()
                 : type.id() == arrow::Type::FLOAT ? n.ToFloat()
                                                   : n.ToHalf();
      if (!std::isfinite(v) && n.kind() == ExactNumber::Kind::kFinite) return std::nullopt;
      return Value::Float(v);
    }
    default: break;
  }
  if (!arrow::is_decimal(type.id())) return std::nullopt;
  const auto& decimal = static_cast<const arrow::DecimalType&>(type);
  auto fine = n.FloorAt(decimal.scale() + 1);  // one digit more tells how to round: half away from zero
  if (!fine) return std::nullopt;
  arrow::Decimal256 v = fine->value;
  // A negative number's floor with something cut off lies below it: step up, so that a half is recognised as less.
  if (n.negative() && !fine->exact) v += arrow::Decimal256(1);
  auto [quotient, rest] = *DivideDecimal(v, arrow::Decimal256(10));
  if (rest >= arrow::Decimal256(5)) quotient += arrow::Decimal256(1);
  if (rest <= arrow::Decimal256(-5)) quotient -= arrow::Decimal256(1);
  if (!quotient.FitsInPrecision(decimal.precision())) return std::nullopt;
  return Value::Decimal(quotient);
}

}  // namespace

Result<std::optional<Value>> CastLiteral(const Literal& l, const std::shared_ptr<arrow::DataType>& full) {
  const std::shared_ptr<arrow::DataType> type = PlainType(full);
  auto nothing = std::optional<Value>();
  if (l.kind == Literal::Kind::kNull) return nothing;
  if (l.kind == Literal::Kind::kNumber) {
    if (arrow::is_integer(type->id()) || arrow::is_floating(type->id()) || arrow::is_decimal(type->id())) {
      return CastNumber(l.number, *type);
    }
    if (type->id() == arrow::Type::BOOL && !l.point) return std::optional<Value>(Value::Int(!l.number.is_zero()));
    return nothing;
  }
  if (l.kind == Literal::Kind::kBool && arrow::is_integer(type->id()))
    return std::optional<Value>(Value::Int(l.boolean));
  if (l.kind == Literal::Kind::kText && (arrow::is_numeric(type->id()) || arrow::is_decimal(type->id()))) {
    auto n = ExactNumber::Parse(l.bytes, arrow::is_floating(type->id()));
    if (!n || (arrow::is_integer(type->id()) && !n->is_integer())) return nothing;
    return CastNumber(*n, *type);
  }
  if (l.kind == Literal::Kind::kText && DomainOf(*type) == Domain::kBinary && !IsUuid(*full)) {
    if (type->id() == arrow::Type::FIXED_SIZE_BINARY &&
        static_cast<const arrow::FixedSizeBinaryType&>(*type).byte_width() != static_cast<int32_t>(l.bytes.size())) {
      return nothing;
    }
    return std::optional<Value>(Value::Binary(l.bytes));
  }
  if (l.kind == Literal::Kind::kTimestamp && arrow::is_time(type->id())) {
    const Int128 in_day = l.nanos - FloorDiv(l.nanos, kNanosPerDay) * kNanosPerDay;
    return std::optional<Value>(Value::Int(in_day / NanosPerUnit(*type)));
  }
  Literal untyped = l;
  untyped.type = nullptr;
  auto place = PlaceOf(untyped, full);
  if (!place.ok() || place->where != Place::Where::kAt) return nothing;
  return place->floor;  // a finer time is floored to the unit
}

}  // namespace pilum
