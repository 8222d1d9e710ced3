// A literal's place beside a type: exact at any size, never through a narrower type.
#include "pilum/query/literal.h"

#include <cmath>
#include <limits>

#include <arrow/extension/uuid.h>

#include "pilum/base/types.h"
#include "pilum/query/lexer.h"
#include "pilum/values/time.h"
#include "pilum/values/value_builder.h"

namespace pilum {

const char* KindName(Literal::Kind kind) {
  switch (kind) {
    case Literal::Kind::kNull: return "NULL";
    case Literal::Kind::kBool: return "a boolean";
    case Literal::Kind::kNumber: return "a number";
    case Literal::Kind::kText: return "a text";
    case Literal::Kind::kBinary: return "a binary value";
    case Literal::Kind::kDate: return "a date";
    case Literal::Kind::kTime: return "a time";
    case Literal::Kind::kTimestamp: return "a timestamp";
    case Literal::Kind::kInterval: return "an interval";
    case Literal::Kind::kList: return "a list";
  }
  return "?";
}

std::string Literal::ToString() const {
  switch (kind) {
    case Kind::kNull: return "NULL";
    case Kind::kBool: return boolean ? "TRUE" : "FALSE";
    case Kind::kNumber: return number.ToString();
    case Kind::kText: return Value::Text(bytes).ToString();
    case Kind::kBinary: return Value::Binary(bytes).ToString();
    case Kind::kList: return fmt::format("[{} items]", items.size());
    default: return fmt::format("{} ({} ns)", KindName(kind), Value::Int(nanos).ToString());
  }
}

bool IsUuid(const arrow::DataType& type) {
  if (type.id() != arrow::Type::EXTENSION) return false;
  const auto& ext = static_cast<const arrow::ExtensionType&>(type);
  return ext.extension_name() == "arrow.uuid" && ext.storage_type()->id() == arrow::Type::FIXED_SIZE_BINARY;
}

std::shared_ptr<arrow::DataType> TypeOf(const arrow::Field& field) {
  return IsUuidField(field) ? arrow::extension::uuid() : field.type();
}

namespace {

Status Misfit(const Literal& l, const arrow::DataType& type) {
  if (l.kind == Literal::Kind::kNumber && type.id() == arrow::Type::BOOL) {
    return ErrorAt(l.pos, "numbers are not booleans: a bool is compared with TRUE or FALSE");
  }
  return ErrorAt(l.pos, "{} cannot be compared with {}; use CAST to convert one of them", KindName(l.kind),
                 type.ToString());
}

Place At(Value v, bool exact = true) { return Place{Place::Where::kAt, std::move(v), exact}; }

// floor(v) among the integers of a type.
Place IntPlace(Int128 floor, bool exact, const arrow::DataType& type) {
  IntRange range = IntRangeOf(type);
  if (floor < range.min) return {Place::Where::kBelow};
  if (floor > range.max) return {Place::Where::kAbove};
  return At(Value::Int(floor), exact);
}

Place NanosPlace(Int128 nanos, const arrow::DataType& type) {
  Int128 unit = NanosPerUnit(type);
  return IntPlace(FloorDiv(nanos, unit), nanos % unit == 0, type);
}

Place FloatPlace(const ExactNumber& n, const arrow::DataType& type) {
  if (n.kind() != ExactNumber::Kind::kFinite) return At(Value::Float(n.ToDouble()));
  const double greatest = type.id() == arrow::Type::DOUBLE  ? std::numeric_limits<double>::max()
                          : type.id() == arrow::Type::FLOAT ? std::numeric_limits<float>::max()
                                                            : 65504.0;
  const ExactNumber limit = ExactNumber::FromDouble(greatest);
  if (n.Compare(limit) > 0) return At(Value::Float(greatest), false);
  if (n.Compare(limit.Negated()) < 0) return At(Value::Float(-std::numeric_limits<double>::infinity()), false);
  return At(Value::Float(type.id() == arrow::Type::DOUBLE  ? n.ToDouble()
                         : type.id() == arrow::Type::FLOAT ? n.ToFloat()
                                                           : n.ToHalf()));
}

Result<Place> NumberPlace(const Literal& l, const ExactNumber& n, const arrow::DataType& type) {
  const Place beyond{n.negative() ? Place::Where::kBelow : Place::Where::kAbove};
  switch (type.id()) {
    case arrow::Type::HALF_FLOAT:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE: return FloatPlace(n, type);
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256: {
      auto f = n.FloorAt(static_cast<const arrow::DecimalType&>(type).scale());
      return f ? At(Value::Decimal(f->value), f->exact) : beyond;
    }
    default: break;
  }
  if (!arrow::is_integer(type.id())) return Misfit(l, type);
  auto f = n.FloorInt();
  return f ? IntPlace(f->value, f->exact, type) : beyond;
}

Result<Place> TimestampPlace(const Literal& l, Int128 nanos, bool instant, const arrow::TimestampType& type) {
  if (!instant && !type.timezone().empty()) {
    auto zone = Zone::Load(type.timezone());
    if (!zone.ok()) return WithContext(fmt::format("at {}", l.pos), zone.status());
    PILUM_ASSIGN_OR_RETURN(nanos, (*zone)->ToInstant(nanos));
  }
  return NanosPlace(nanos, type);
}

std::optional<std::string> ParseUuid(std::string_view text) {
  std::string hex;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '-' && text.size() == 36 && (i == 8 || i == 13 || i == 18 || i == 23)) continue;
    hex.push_back(text[i]);
  }
  if (hex.size() != 32 || hex.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) return std::nullopt;
  std::string bytes;
  for (size_t i = 0; i < 32; i += 2) bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::optional<bool> ParseBool(std::string_view text) {
  std::string upper = Upper(text);
  if (upper == "TRUE") return true;
  if (upper == "FALSE") return false;
  return std::nullopt;
}

// A quoted literal takes the type beside it, if its whole text is a value of that type.
Result<Literal> Retype(const Literal& l, const arrow::DataType& type) {
  Literal out;
  out.pos = l.pos;
  auto bad = [&](const char* what) -> Result<Literal> {
    return ErrorAt(l.pos, "{} is not {} (to compare with {})", Value::Text(l.bytes).ToString(), what, type.ToString());
  };
  if (type.id() == arrow::Type::BOOL) {
    auto v = ParseBool(l.bytes);
    if (!v) return bad("TRUE or FALSE");
    out.kind = Literal::Kind::kBool;
    out.boolean = *v;
  } else if (arrow::is_numeric(type.id()) || arrow::is_decimal(type.id())) {
    auto v = ExactNumber::Parse(l.bytes, arrow::is_floating(type.id()));
    if (!v) return bad("a number");
    out.kind = Literal::Kind::kNumber;
    out.number = std::move(*v);
  } else if (arrow::is_date(type.id())) {
    auto v = ParseDate(l.bytes);
    if (!v) return bad("a date, YYYY-MM-DD");
    out.kind = Literal::Kind::kDate;
    out.nanos = *v * kNanosPerDay;
  } else if (arrow::is_time(type.id())) {
    auto v = ParseTimeOfDay(l.bytes);
    if (!v) return bad("a time, HH:MM:SS[.fraction]");
    out.kind = Literal::Kind::kTime;
    out.nanos = *v;
  } else if (type.id() == arrow::Type::TIMESTAMP) {
    auto v = ParseTimestamp(l.bytes);
    if (!v) return bad("a timestamp, YYYY-MM-DD [HH:MM[:SS[.fraction]] [offset]]");
    out.kind = Literal::Kind::kTimestamp;
    out.nanos = v->nanos;
    out.instant = v->instant;
  } else if (type.id() == arrow::Type::DURATION) {
    auto v = ParseInterval(l.bytes);
    if (!v) return bad("an interval such as '3 days 2 hours'");
    out.kind = Literal::Kind::kInterval;
    out.nanos = v->nanos;
    out.months = v->months;
  } else {
    return Misfit(l, type);
  }
  return out;
}

}  // namespace

Result<Place> PlaceOf(const Literal& l, const std::shared_ptr<arrow::DataType>& full) {
  using Kind = Literal::Kind;
  const std::shared_ptr<arrow::DataType> plain = PlainType(full);
  const arrow::DataType& type = *plain;
  const Domain domain = DomainOf(type);
  if (domain == Domain::kNone) {
    return ErrorAt(l.pos, "values of type {} cannot be compared{}", full->ToString(),
                   arrow::is_nested(type.id()) ? "; name a field, or use array_has and cardinality" : "");
  }
  if (l.kind == Kind::kText && l.type == nullptr && domain != Domain::kText) {
    if (IsUuid(*full)) {
      auto bytes = ParseUuid(l.bytes);
      if (!bytes) return ErrorAt(l.pos, "{} is not a uuid", Value::Text(l.bytes).ToString());
      return At(Value::Binary(std::move(*bytes)));
    }
    PILUM_ASSIGN_OR_RETURN(Literal typed, Retype(l, type));
    return PlaceOf(typed, plain);
  }
  switch (l.kind) {
    case Kind::kBool:
      if (type.id() == arrow::Type::BOOL) return At(Value::Int(l.boolean));
      break;
    case Kind::kNumber: return NumberPlace(l, l.number, type);
    case Kind::kText:
      if (domain == Domain::kText) return At(Value::Text(l.bytes));
      break;
    case Kind::kBinary:
      if (domain == Domain::kBinary) return At(Value::Binary(l.bytes));
      break;
    case Kind::kTime:
      if (arrow::is_time(type.id())) return NanosPlace(l.nanos, type);
      break;
    case Kind::kDate:
      if (arrow::is_date(type.id())) return NanosPlace(l.nanos, type);
      if (type.id() == arrow::Type::TIMESTAMP) {
        return TimestampPlace(l, l.nanos, false, static_cast<const arrow::TimestampType&>(type));
      }
      break;
    case Kind::kTimestamp:
      if (arrow::is_date(type.id())) return NanosPlace(l.nanos, type);  // a date is its midnight, read as UTC
      if (type.id() == arrow::Type::TIMESTAMP) {
        return TimestampPlace(l, l.nanos, l.instant, static_cast<const arrow::TimestampType&>(type));
      }
      break;
    case Kind::kInterval:
      if (type.id() != arrow::Type::DURATION) break;
      if (l.months != 0) return ErrorAt(l.pos, "a duration cannot be compared with months, whose length varies");
      return NanosPlace(l.nanos, type);
    case Kind::kNull:
    case Kind::kList: break;
  }
  return Misfit(l, *full);
}

Result<ValueSet> CompareSet(const std::string& op, const Literal& literal,
                            const std::shared_ptr<arrow::DataType>& type) {
  PILUM_ASSIGN_OR_RETURN(Place p, PlaceOf(literal, type));
  auto below = [&](bool with_equal) {  // values < literal, or <= literal
    if (p.where == Place::Where::kBelow) return ValueSet::None();
    if (p.where == Place::Where::kAbove) return ValueSet::All();
    return ValueSet::Of(Interval{std::nullopt, Bound{*p.floor, with_equal || !p.exact}});
  };
  auto equal = [&] { return p.where == Place::Where::kAt && p.exact ? ValueSet::Point(*p.floor) : ValueSet::None(); };
  if (op == "=") return equal();
  if (op == "<>") return equal().Complement();
  if (op == "<") return below(false);
  if (op == "<=") return below(true);
  if (op == ">") return below(true).Complement();
  if (op == ">=") return below(false).Complement();
  return Status::UnknownError("no such comparison: ", op);
}

}  // namespace pilum
