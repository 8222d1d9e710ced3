// A question about a widened column, asked of a part in the part's own type. Widening is strictly increasing, so each
// end of an interval moves to the nearest value of the narrower type inside it.
#include <cmath>

#include <arrow/type.h>

#include "pilum/part/widen.h"
#include "pilum/values/decimal.h"
#include "pilum/values/time.h"

namespace pilum {
namespace {

using arrow::DataType;
using arrow::Type;

const DataType& Plain(const DataType& t) {
  if (t.id() == Type::DICTIONARY) return Plain(*static_cast<const arrow::DictionaryType&>(t).value_type());
  if (t.id() == Type::EXTENSION) return Plain(*static_cast<const arrow::ExtensionType&>(t).storage_type());
  return t;
}

// How many ticks of `to` one tick of `from` is; nullopt where they are not of one kind.
std::optional<Int128> TimeFactor(const DataType& to, const DataType& from) {
  const bool times = arrow::is_time(to.id()) && arrow::is_time(from.id());
  const bool dates = arrow::is_date(to.id()) && arrow::is_date(from.id());
  if (to.id() != from.id() && !times && !dates) return std::nullopt;
  const int64_t fine = NanosPerUnit(to), coarse = NanosPerUnit(from);
  if (fine == 0 || coarse % fine != 0) return std::nullopt;
  return coarse / fine;
}

bool IsPlainInteger(const DataType& t) { return arrow::is_integer(t.id()); }

int32_t ScaleOf(const DataType& t) {
  return arrow::is_decimal(t.id()) ? static_cast<const arrow::DecimalType&>(t).scale() : 0;
}

// An end of an interval in the narrower type. `exact`: the narrower value is the very one asked for, so that an
// exclusive end stays exclusive; otherwise the end was moved inward and includes its value.
struct Moved {
  Value value;
  bool exact;
};
// nullopt inside: past every value of the narrower type in that direction.
using Move = std::optional<Moved>;

Move MoveInt(Int128 v, Int128 factor, bool up) {
  const Int128 floor = FloorDiv(v, factor);
  const bool exact = floor * factor == v;
  return Moved{Value::Int(floor + (up && !exact)), exact};
}

// A double to integers. Everything past the range of any integer type becomes its far end, which no value reaches.
Move MoveFloat(double v, bool up) {
  constexpr double kFar = 1e30;  // beyond every 64-bit integer, within Int128
  if (std::isnan(v)) return Moved{Value::Int(static_cast<Int128>(kFar)), false};
  if (v > kFar) v = kFar;
  if (v < -kFar) v = -kFar;
  const double whole = up ? std::ceil(v) : std::floor(v);
  return Moved{Value::Int(static_cast<Int128>(whole)), whole == v};
}

// Divides an unscaled decimal by 10^drop, rounding to the side asked for.
std::optional<std::pair<arrow::Decimal256, bool>> DropDigits(arrow::Decimal256 v, int32_t drop, bool up) {
  if (drop < 0 || drop > 76) return std::nullopt;
  const auto divisor = arrow::Decimal256::GetScaleMultiplier(drop);
  auto [quotient, rest] = *DivideDecimal(v, divisor);
  const arrow::Decimal256 zero, one(1);
  if (rest == zero) return std::pair(quotient, true);
  if (up && zero < v) quotient += one;
  if (!up && v < zero) quotient -= one;
  return std::pair(quotient, false);
}

std::optional<Int128> ToInt128(const arrow::Decimal256& v) {
  const auto& w = v.little_endian_array();
  const uint64_t fill = static_cast<uint64_t>(static_cast<int64_t>(w[1]) >> 63);
  if (w[2] != fill || w[3] != fill) return std::nullopt;
  return static_cast<Int128>((static_cast<unsigned __int128>(w[1]) << 64) | w[0]);
}

enum class Way { kSame, kTime, kFloatToInt, kDecimalToInt, kDecimal };

struct Narrowing {
  Way way = Way::kSame;
  Int128 factor = 1;
  int32_t drop = 0;

  std::optional<Moved> End(const Value& v, bool up) const {
    switch (way) {
      case Way::kSame: return Moved{v, true};
      case Way::kTime: return MoveInt(v.as_int(), factor, up);
      case Way::kFloatToInt: return MoveFloat(v.as_float(), up);
      case Way::kDecimal:
      case Way::kDecimalToInt: {
        auto moved = DropDigits(v.as_decimal(), drop, up);
        if (!moved) return std::nullopt;
        if (way == Way::kDecimal) return Moved{Value::Decimal(moved->first), moved->second};
        const auto whole = ToInt128(moved->first);
        if (!whole) return std::nullopt;
        return Moved{Value::Int(*whole), moved->second};
      }
    }
    return std::nullopt;
  }
};

std::optional<Narrowing> NarrowingOf(const DataType& to, const DataType& from) {
  if (to.Equals(from)) return Narrowing{};
  const Domain wide = DomainOf(to), narrow = DomainOf(from);
  if (wide == Domain::kText || wide == Domain::kBinary) {
    if (wide != narrow) return std::nullopt;
    return Narrowing{};
  }
  if (wide == Domain::kFloat) {
    if (narrow == Domain::kFloat) return Narrowing{};
    if (IsPlainInteger(from)) return Narrowing{Way::kFloatToInt};
    return std::nullopt;
  }
  if (wide == Domain::kDecimal) {
    if (narrow == Domain::kDecimal) return Narrowing{Way::kDecimal, 1, ScaleOf(to) - ScaleOf(from)};
    if (IsPlainInteger(from)) return Narrowing{Way::kDecimalToInt, 1, ScaleOf(to)};
    return std::nullopt;
  }
  if (IsPlainInteger(to) && IsPlainInteger(from)) return Narrowing{};
  if (const auto factor = TimeFactor(to, from)) return Narrowing{Way::kTime, *factor};
  return std::nullopt;
}

}  // namespace

std::optional<ValueSet> NarrowSet(const ValueSet& set, const DataType& to_type, const DataType& from_type) {
  const auto narrowing = NarrowingOf(Plain(to_type), Plain(from_type));
  if (!narrowing) return std::nullopt;
  if (narrowing->way == Way::kSame) return set;
  std::vector<Interval> out;
  for (const Interval& i : set.intervals()) {
    Interval moved;
    const bool is_point = i.lower && i.upper && Compare(i.lower->value, i.upper->value) == 0;
    if (i.lower) {
      const auto end = narrowing->End(i.lower->value, true);
      if (!end) return std::nullopt;
      if (is_point) {
        if (end->exact) out.push_back(Interval{Bound{end->value, true}, Bound{end->value, true}});
        continue;
      }
      moved.lower = Bound{end->value, i.lower->inclusive || !end->exact};
    }
    // An upper end at NaN lies above every integer.
    const bool above_all =
        i.upper && i.upper->value.domain() == Domain::kFloat && std::isnan(i.upper->value.as_float());
    if (i.upper && !above_all) {
      const auto end = narrowing->End(i.upper->value, false);
      if (!end) return std::nullopt;
      moved.upper = Bound{end->value, i.upper->inclusive || !end->exact};
    }
    out.push_back(std::move(moved));
  }
  return ValueSet::OfAll(std::move(out));
}

}  // namespace pilum
