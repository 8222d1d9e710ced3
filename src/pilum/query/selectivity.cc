#include "pilum/query/selectivity.h"

#include <algorithm>
#include <cmath>

#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "pilum/sketch/sort_keys.h"
#include "pilum/sketch/value_hash.h"
#include "pilum/values/exact_number.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

constexpr size_t kMostPoints = 1000;  // looked at one by one; more are taken to be like these

bool IsPoint(const Interval& i) { return i.lower && i.upper && i.lower->value == i.upper->value; }

bool AllPoints(const ValueSet& set) { return std::all_of(set.intervals().begin(), set.intervals().end(), IsPoint); }

// What "not these" leaves out, where it is a few values.
std::optional<ValueSet> LeftOut(const ValueSet& set) {
  if (set.intervals().size() > kMostPoints || AllPoints(set)) return std::nullopt;
  ValueSet out = set.Complement();
  return AllPoints(out) ? std::optional(std::move(out)) : std::nullopt;
}

// The values that the sketch of top values knows by name, with what it surely counted of each.
struct Known {
  std::vector<std::pair<Value, double>> values;
  double rows = 0;   // of them
  bool all = false;  // the column has no other values
};

Known KnownValues(const ColumnStats& stats, const arrow::DataType& type) {
  Known known;
  if (!stats.top()) return known;
  known.all = stats.top()->error() == 0;
  for (const auto& item : stats.top()->Top(stats.top()->params().capacity)) {
    auto value = item.truncated ? std::nullopt : ValueOfHashBytes(item.hash_bytes, type);
    if (!value) {
      known.all = false;
      continue;
    }
    known.rows += static_cast<double>(item.low);
    known.values.emplace_back(std::move(*value), static_cast<double>(item.low));
  }
  return known;
}

// Where a value lies on a line of numbers: enough to see how far it is from others.
double Position(const Value& v, const arrow::DataType& type) {
  switch (v.domain()) {
    case Domain::kInt: return static_cast<double>(v.as_int());
    case Domain::kFloat: return v.as_float();
    case Domain::kDecimal: return v.as_decimal().ToDouble(static_cast<const arrow::DecimalType&>(type).scale());
    default: break;
  }
  double at = 0, unit = 1;
  for (size_t i = 0; i < 12; ++i) {
    unit /= 256;
    at += unit * (i < v.as_bytes().size() ? static_cast<uint8_t>(v.as_bytes()[i]) : 0);
  }
  return at;
}

// The share of values up to the bound's.
double Below(const Bound& bound, bool upper, const ColumnStats& stats, const arrow::DataType& type) {
  if (stats.quantiles() && stats.quantiles()->count() > 0) {
    const double at = Position(bound.value, type);
    int64_t key = 0;
    if (stats.quantiles()->params().kind == Kll::Kind::kFloat) {
      key = KeyOf(std::isnan(at) ? std::numeric_limits<double>::quiet_NaN() : at + 0.0);
    } else {
      key = static_cast<int64_t>(std::clamp<Int128>(bound.value.as_int(), INT64_MIN, INT64_MAX));
    }
    const bool with_it = upper == bound.inclusive;  // x <= 5 and not x >= 5 count the fives below
    if (!with_it && key > INT64_MIN) --key;
    return stats.quantiles()->RankOfKey(key);
  }
  if (!stats.has_extremes() || !stats.min()) return 0.5;
  const double low = Position(*stats.min(), type), high = Position(*stats.max(), type);
  const double at = Position(bound.value, type);
  if (!(high > low)) return at < low ? 0 : 1;
  return std::clamp((at - low) / (high - low), 0.0, 1.0);
}

bool OutOfReach(const Value& v, const ColumnStats& stats) {
  return stats.has_extremes() && stats.min() && (v < *stats.min() || *stats.max() < v);
}

}  // namespace

double ShareIn(const ValueSet& set, const ColumnStats& stats, const arrow::DataType& given) {
  const double count = static_cast<double>(stats.rows() - stats.nulls());
  if (count == 0 || set.empty()) return 0;
  if (set.is_all()) return 1;
  const auto plain = PlainType(given.GetSharedPtr());
  const arrow::DataType& type = *plain;
  if (auto out = LeftOut(set)) return 1 - ShareIn(*out, stats, type);
  const Known known = KnownValues(stats, type);
  double met = 0;
  for (const auto& [value, rows] : known.values) met += set.Contains(value) ? rows : 0;
  if (known.all) return met / count;

  const double others = std::max(0.0, count - known.rows);
  const double distinct = stats.distinct() ? stats.distinct()->Count().value : count;
  const double each = others / std::max(1.0, distinct - static_cast<double>(known.values.size()));
  double points = 0, ranges = 0;
  size_t looked = 0, num_points = 0;
  for (const Interval& i : set.intervals()) {
    if (!IsPoint(i)) {
      ranges += std::max(0.0, (i.upper ? Below(*i.upper, true, stats, type) : 1) -
                                  (i.lower ? Below(*i.lower, false, stats, type) : 0));
      continue;
    }
    if (++num_points > kMostPoints) continue;
    ++looked;
    const Value& v = i.lower->value;
    const bool is_known =
        std::any_of(known.values.begin(), known.values.end(), [&](const auto& k) { return k.first == v; });
    if (!is_known && !OutOfReach(v, stats)) points += each;
  }
  if (looked < num_points) points *= static_cast<double>(num_points) / static_cast<double>(looked);
  const double share = ranges > 0 ? std::max(met / count, ranges + points / count) : (met + points) / count;
  return std::clamp(share, 0.0, 1.0);
}

double GuessIn(const ValueSet& set) {
  if (set.empty()) return 0;
  if (set.is_all()) return 1;
  auto of_points = [](const ValueSet& points) {
    return std::min(0.5, 0.02 * static_cast<double>(points.intervals().size()));
  };
  if (AllPoints(set)) return of_points(set);
  if (auto out = LeftOut(set)) return 1 - of_points(*out);
  const bool closed =
      std::all_of(set.intervals().begin(), set.intervals().end(), [](const Interval& i) { return i.lower && i.upper; });
  return closed ? 0.1 : 1.0 / 3;
}

std::optional<Chances> ChancesOf(const Probe& probe, const ColumnStats& stats, const arrow::DataType& type) {
  if (stats.rows() == 0) return std::nullopt;
  const double nulls = static_cast<double>(stats.nulls()) / static_cast<double>(stats.rows());
  if (probe.kind == Probe::Kind::kIsNull) return Chances{nulls, 0};
  if (probe.kind != Probe::Kind::kInSet) return std::nullopt;  // statistics know no parts of texts and no elements
  if (!stats.distinct() && !stats.top() && !stats.has_extremes()) return std::nullopt;
  const double share = ShareIn(probe.set, stats, type) * (1 - nulls);
  return Chances{probe.exact ? share : share / 2, nulls};
}

Chances Combined(BoundPredicate::Node::Kind kind, const std::vector<Chances>& children) {
  using Kind = BoundPredicate::Node::Kind;
  if (kind == Kind::kNot) return {children.at(0).is_false(), children.at(0).is_null};
  double all = 1, none = 1;  // every child is TRUE (AND) or FALSE (OR); no child is FALSE (AND) or TRUE (OR)
  for (const Chances& c : children) {
    all *= kind == Kind::kAnd ? c.is_true : c.is_false();
    none *= 1 - (kind == Kind::kAnd ? c.is_false() : c.is_true);
  }
  return kind == Kind::kAnd ? Chances{all, none - all} : Chances{1 - none, none - all};
}

}  // namespace pilum
