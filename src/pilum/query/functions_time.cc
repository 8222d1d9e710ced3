// date_trunc, date_part and months on the wall clock of the column's zone; to_timestamp; arrow_cast.
#include <chrono>

#include "pilum/query/functions.h"
#include "pilum/values/time.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

std::string ZoneOf(const arrow::DataType& t) {
  return t.id() == arrow::Type::TIMESTAMP ? static_cast<const arrow::TimestampType&>(t).timezone() : std::string();
}

Int128 FloorTo(Int128 v, Int128 unit) { return FloorDiv(v, unit) * unit; }
constexpr Int128 kMicro = 1'000;

std::optional<Int128> Truncate(const std::string& field, Int128 wall) {
  if (field == "microsecond") return FloorTo(wall, kMicro);
  if (field == "millisecond") return FloorTo(wall, 1000 * kMicro);
  if (field == "second") return FloorTo(wall, kNanosPerSecond);
  if (field == "minute") return FloorTo(wall, static_cast<Int128>(60) * kNanosPerSecond);
  if (field == "hour") return FloorTo(wall, static_cast<Int128>(3600) * kNanosPerSecond);
  const auto days = static_cast<int64_t>(FloorDiv(wall, kNanosPerDay));
  const CivilDate c = CivilFromDays(days);
  int64_t first = days;
  if (field == "week") first = FloorDiv<int64_t>(days + 3, 7) * 7 - 3;  // Monday; 1970-01-01 was a Thursday
  if (field == "month") first = DaysFromCivil(c.year, c.month, 1);
  if (field == "quarter") first = DaysFromCivil(c.year, (c.month - 1) / 3 * 3 + 1, 1);
  if (field == "year") first = DaysFromCivil(c.year, 1, 1);
  return first * kNanosPerDay;
}

Int128 Part(const std::string& field, Int128 wall) {
  const Int128 in_day = wall - FloorTo(wall, kNanosPerDay);
  const auto days = static_cast<int64_t>(FloorDiv(wall, kNanosPerDay));
  if (field == "hour") return in_day / kNanosPerSecond / 3600;
  if (field == "minute") return in_day / kNanosPerSecond / 60 % 60;
  if (field == "second") return in_day / kNanosPerSecond % 60;
  if (field == "millisecond") return in_day / (1000 * kMicro) % 60'000;
  if (field == "microsecond") return in_day / kMicro % 60'000'000;
  if (field == "epoch") return FloorDiv<Int128>(wall, kNanosPerSecond);
  const CivilDate c = CivilFromDays(days);
  if (field == "year") return c.year;
  if (field == "quarter") return (c.month - 1) / 3 + 1;
  if (field == "month") return c.month;
  if (field == "day") return c.day;
  if (field == "doy") return days - DaysFromCivil(c.year, 1, 1) + 1;
  const int64_t monday = FloorDiv<int64_t>(days + 3, 7) * 7 - 3;
  if (field == "dow") return (days - monday + 1) % 7;  // Sunday is 0
  if (field == "isodow") return days - monday + 1;
  // ISO week: the week's Thursday says which year it belongs to.
  const int64_t thursday = monday + 3;
  return (thursday - DaysFromCivil(CivilFromDays(thursday).year, 1, 1)) / 7 + 1;
}

class TimeFunction : public ValueExpr {
 public:
  TimeFunction(bool truncate, std::string field, ValuePtr value, std::shared_ptr<const Zone> zone,
               std::shared_ptr<arrow::DataType> type)
      : ValueExpr(std::move(type)),
        truncate_(truncate),
        field_(std::move(field)),
        value_(std::move(value)),
        zone_(std::move(zone)) {}
  std::string ToString() const override {
    return fmt::format("{}('{}', {})", truncate_ ? "date_trunc" : "date_part", field_, value_->ToString());
  }

  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto array, EvalPlain(*value_, in));
    const Int128 unit = NanosPerUnit(*array->type());
    // The epoch is an instant's; all other parts are the wall's.
    if (zone_ && field_ != "epoch") {
      PILUM_ASSIGN_OR_RETURN(array, zone_->ToWall(array));
    }
    PILUM_ASSIGN_OR_RETURN(auto ints, IntsOf(*array));
    std::vector<std::optional<Value>> out(ints.size());
    for (size_t i = 0; i < ints.size(); ++i) {
      if (array->IsNull(static_cast<int64_t>(i))) continue;
      if (!truncate_) {
        out[i] = Value::Int(Part(field_, ints[i] * unit));
        continue;
      }
      auto wall = Truncate(field_, ints[i] * unit);
      if (wall && zone_) {
        PILUM_ASSIGN_OR_RETURN(wall, zone_->ToInstant(*wall));
      }
      const Int128 v = FloorDiv<Int128>(*wall, NanosPerUnit(*type()));
      const IntRange range = IntRangeOf(*type());
      if (v >= range.min && v <= range.max) out[i] = Value::Int(v);
    }
    return MakeArrayOf(type(), out);
  }

 private:
  bool truncate_;
  std::string field_;
  ValuePtr value_;
  std::shared_ptr<const Zone> zone_;
};

// The same day of another month, or that month's last day.
std::optional<Int128> MoveMonths(Int128 wall, int64_t months) {
  const auto days = static_cast<int64_t>(FloorDiv(wall, kNanosPerDay));
  const CivilDate c = CivilFromDays(days);
  const int64_t month = c.year * 12 + (c.month - 1) + months;
  const int64_t year = FloorDiv<int64_t>(month, 12);
  if (year < -200'000 || year > 200'000) return std::nullopt;
  const int m = static_cast<int>(month - year * 12) + 1;
  const int64_t moved = DaysFromCivil(year, m, std::min(c.day, DaysInMonth(year, m)));
  return wall + (moved - days) * kNanosPerDay;
}

class Months : public ValueExpr {
 public:
  Months(ValuePtr value, int64_t months, std::shared_ptr<const Zone> zone)
      : ValueExpr(PlainType(value->type())), value_(std::move(value)), months_(months), zone_(std::move(zone)) {}
  std::string ToString() const override { return fmt::format("({} + {} months)", value_->ToString(), months_); }

  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto array, EvalPlain(*value_, in));
    if (zone_) {
      PILUM_ASSIGN_OR_RETURN(array, zone_->ToWall(array));
    }
    PILUM_ASSIGN_OR_RETURN(auto ints, IntsOf(*array));
    const Int128 unit = NanosPerUnit(*type());
    const IntRange range = IntRangeOf(*type());
    std::vector<std::optional<Value>> out(ints.size());
    for (size_t i = 0; i < ints.size(); ++i) {
      if (array->IsNull(static_cast<int64_t>(i))) continue;
      auto moved = MoveMonths(ints[i] * unit, months_);
      if (moved && zone_) {
        PILUM_ASSIGN_OR_RETURN(moved, zone_->ToInstant(*moved));
      }
      if (!moved) continue;
      const Int128 v = FloorDiv<Int128>(*moved, unit);
      if (v >= range.min && v <= range.max) out[i] = Value::Int(v);
    }
    return MakeArrayOf(type(), out);
  }

 private:
  ValuePtr value_;
  int64_t months_;
  std::shared_ptr<const Zone> zone_;
};

Result<Operand> BindTime(FunctionCall f, bool truncate, const std::vector<std::string>& fields) {
  if (IsNullOperand(f.args[1])) return NullOperand(f.call.pos);
  const auto& l = f.args[0].literal;
  if (!l || l->kind != Literal::Kind::kText) return WrongArgument(f, 0, "the name of a field ('year', 'hour', …)");
  std::string field = Upper(l->bytes);
  for (char& c : field) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  if (field.size() > 3 && field.back() == 's') field.pop_back();
  if (std::find(fields.begin(), fields.end(), field) == fields.end()) {
    return ErrorAt(f.args[0].pos, "{} does not know the field '{}'{}", f.call.name, l->bytes, NearNames(field, fields));
  }
  PILUM_ASSIGN_OR_RETURN(ValuePtr v, f.binder.AsValue(f.args[1]));
  auto type = PlainType(v->type());
  if (!arrow::is_date(type->id()) && type->id() != arrow::Type::TIMESTAMP)
    return WrongArgument(f, 1, "a date or timestamp");
  std::shared_ptr<const Zone> zone;
  if (!ZoneOf(*type).empty()) {
    PILUM_ASSIGN_OR_RETURN(zone, Zone::Load(ZoneOf(*type)));
  }
  if (truncate && arrow::is_date(type->id())) type = arrow::timestamp(arrow::TimeUnit::MICRO);
  if (!truncate) type = arrow::int64();
  return ValueResult(std::make_shared<TimeFunction>(truncate, field, std::move(v), std::move(zone), std::move(type)),
                     f.call.pos);
}

}  // namespace

Result<ValuePtr> MakeMonths(ValuePtr value, int64_t months) {
  const auto type = PlainType(value->type());
  if (!arrow::is_date(type->id()) && type->id() != arrow::Type::TIMESTAMP) {
    return QueryError("months can be added to dates and timestamps only, not to {}", type->ToString());
  }
  std::shared_ptr<const Zone> zone;
  if (!ZoneOf(*type).empty()) {
    PILUM_ASSIGN_OR_RETURN(zone, Zone::Load(ZoneOf(*type)));
  }
  return std::make_shared<Months>(std::move(value), months, std::move(zone));
}

Result<Operand> BindDateTrunc(FunctionCall f) {
  return BindTime(
      std::move(f), true,
      {"microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year"});
}

Result<Operand> BindDatePart(FunctionCall f) {
  return BindTime(std::move(f), false,
                  {"microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year",
                   "doy", "dow", "isodow", "epoch"});
}

// Of UTC, when the statement is bound.
Result<Operand> BindCurrentDate(FunctionCall f) {
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()).time_since_epoch().count();
  return ValueResult(MakeConstant(std::make_shared<arrow::Date32Scalar>(static_cast<int32_t>(today))), f.call.pos);
}

// Text is parsed as a timestamp literal is; whole numbers are seconds since 1970, so instants.
Result<Operand> BindToTimestamp(FunctionCall f) {
  if (IsNullOperand(f.args[0])) return NullOperand(f.call.pos);
  if (f.args[0].literal && f.args[0].literal->kind == Literal::Kind::kText) {
    auto v = ParseTimestamp(f.args[0].literal->bytes);
    if (!v) return ErrorAt(f.args[0].pos, "{} is not a timestamp", f.args[0].literal->ToString());
    Literal l;
    l.kind = Literal::Kind::kTimestamp;
    l.pos = f.args[0].pos;
    l.nanos = v->nanos;
    l.instant = v->instant;
    return Operand{std::move(l), nullptr, nullptr, f.call.pos};
  }
  PILUM_ASSIGN_OR_RETURN(ValuePtr v, f.binder.AsValue(f.args[0]));
  const auto type = PlainType(v->type());
  if (DomainOf(*type) == Domain::kText || arrow::is_date(type->id())) {
    PILUM_ASSIGN_OR_RETURN(ValuePtr cast, MakeCast(std::move(v), arrow::timestamp(arrow::TimeUnit::MICRO)));
    return ValueResult(std::move(cast), f.call.pos);
  }
  if (!arrow::is_integer(type->id())) return WrongArgument(f, 0, "a text or whole seconds");
  auto zero =
      MakeConstant(std::make_shared<arrow::TimestampScalar>(0, arrow::timestamp(arrow::TimeUnit::SECOND, "UTC")));
  PILUM_ASSIGN_OR_RETURN(ValuePtr seconds, MakeCast(std::move(v), arrow::int64()));
  class AsDuration : public ValueExpr {
   public:
    explicit AsDuration(ValuePtr v) : ValueExpr(arrow::duration(arrow::TimeUnit::SECOND)), v_(std::move(v)) {}
    std::string ToString() const override { return v_->ToString(); }
    Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
      PILUM_ASSIGN_OR_RETURN(auto a, EvalPlain(*v_, in));
      return a->View(type());
    }

   private:
    ValuePtr v_;
  };
  PILUM_ASSIGN_OR_RETURN(ValuePtr sum,
                         MakeArith("+", std::move(zero), std::make_shared<AsDuration>(std::move(seconds))));
  return ValueResult(std::move(sum), f.call.pos);
}

namespace {

// Arrow's own spelling: Int32, Utf8, Timestamp(Microsecond, Some("UTC")), Decimal128(10, 2), …
Result<std::shared_ptr<arrow::DataType>> ParseArrowType(const std::string& text, size_t pos) {
  const std::string word = text.substr(0, text.find('('));
  static const std::map<std::string, std::shared_ptr<arrow::DataType>> plain = {{"Boolean", arrow::boolean()},
                                                                                {"Int8", arrow::int8()},
                                                                                {"Int16", arrow::int16()},
                                                                                {"Int32", arrow::int32()},
                                                                                {"Int64", arrow::int64()},
                                                                                {"UInt8", arrow::uint8()},
                                                                                {"UInt16", arrow::uint16()},
                                                                                {"UInt32", arrow::uint32()},
                                                                                {"UInt64", arrow::uint64()},
                                                                                {"Float16", arrow::float16()},
                                                                                {"Float32", arrow::float32()},
                                                                                {"Float64", arrow::float64()},
                                                                                {"Utf8", arrow::utf8()},
                                                                                {"LargeUtf8", arrow::large_utf8()},
                                                                                {"Utf8View", arrow::utf8_view()},
                                                                                {"Binary", arrow::binary()},
                                                                                {"LargeBinary", arrow::large_binary()},
                                                                                {"Date32", arrow::date32()},
                                                                                {"Date64", arrow::date64()}};
  auto it = plain.find(text);
  if (it != plain.end()) return it->second;
  auto unknown = [&] { return ErrorAt(pos, "arrow_cast does not know the type '{}'", text); };
  if (text.back() != ')' || word.size() + 2 > text.size()) return unknown();
  std::vector<std::string> args = {""};
  for (char c : text.substr(word.size() + 1, text.size() - word.size() - 2)) {
    if (c == ',') args.emplace_back();
    if (c != ',' && c != ' ') args.back() += c;
  }
  static const std::map<std::string, arrow::TimeUnit::type> units = {{"Second", arrow::TimeUnit::SECOND},
                                                                     {"Millisecond", arrow::TimeUnit::MILLI},
                                                                     {"Microsecond", arrow::TimeUnit::MICRO},
                                                                     {"Nanosecond", arrow::TimeUnit::NANO}};
  auto unit = units.find(args[0]);
  if (word == "Timestamp" && args.size() == 2 && unit != units.end()) {
    if (args[1] == "None") return arrow::timestamp(unit->second);
    if (args[1].starts_with("Some(\"") && args[1].ends_with("\")")) {
      return arrow::timestamp(unit->second, args[1].substr(6, args[1].size() - 8));
    }
  }
  if (word == "Duration" && args.size() == 1 && unit != units.end()) return arrow::duration(unit->second);
  if ((word == "Decimal128" || word == "Decimal256") && args.size() == 2) {
    return ParseType(fmt::format("decimal({},{})", args[0].substr(0, 4), args[1].substr(0, 4)), pos);
  }
  return unknown();
}

}  // namespace

Result<Operand> BindArrowCast(FunctionCall f) {
  const auto& name = f.args[1].literal;
  if (!name || name->kind != Literal::Kind::kText || name->bytes.empty())
    return WrongArgument(f, 1, "the name of an Arrow type");
  PILUM_ASSIGN_OR_RETURN(auto type, ParseArrowType(name->bytes, f.args[1].pos));
  if (f.args[0].literal && f.args[0].literal->kind != Literal::Kind::kList && DomainOf(*type) != Domain::kText) {
    PILUM_ASSIGN_OR_RETURN(auto value, CastLiteral(*f.args[0].literal, type));
    if (!value) return NullOperand(f.call.pos);
    PILUM_ASSIGN_OR_RETURN(Literal l, LiteralOfValue(*value, type, f.call.pos, true));
    return Operand{std::move(l), nullptr, nullptr, f.call.pos};
  }
  PILUM_ASSIGN_OR_RETURN(ValuePtr v, f.binder.AsValue(f.args[0]));
  PILUM_ASSIGN_OR_RETURN(v, MakeCast(std::move(v), std::move(type)));
  return ValueResult(std::move(v), f.call.pos);
}

}  // namespace pilum
