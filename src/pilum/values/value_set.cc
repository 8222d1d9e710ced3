// The algebra of value sets. An interval is two cuts; a cut lies just before or just after a value, or at an end.
#include "pilum/values/value.h"

namespace pilum {
namespace {

// end: -1 below every value, +1 above every value, 0 beside `value`: side -1 just before it, +1 just after it.
struct Cut {
  int end = 0;
  const Value* value = nullptr;
  int side = 0;
};

Cut LowerCut(const Interval& i) {
  if (!i.lower) return {-1};
  return {0, &i.lower->value, i.lower->inclusive ? -1 : 1};
}
Cut UpperCut(const Interval& i) {
  if (!i.upper) return {1};
  return {0, &i.upper->value, i.upper->inclusive ? 1 : -1};
}

int CompareCut(const Cut& a, const Cut& b) {
  if (a.end != 0 || b.end != 0) return a.end - b.end;
  int c = Compare(*a.value, *b.value);
  return c != 0 ? c : a.side - b.side;
}

// Integers are discrete: exclusive bounds become inclusive ones, so that (1, 2) is seen to be empty.
void MakeInclusive(Interval* i) {
  if (i->lower && i->lower->value.domain() == Domain::kInt && !i->lower->inclusive) {
    i->lower = Bound{Value::Int(i->lower->value.as_int() + 1), true};
  }
  if (i->upper && i->upper->value.domain() == Domain::kInt && !i->upper->inclusive) {
    i->upper = Bound{Value::Int(i->upper->value.as_int() - 1), true};
  }
}

bool IsEmpty(const Interval& i) { return CompareCut(LowerCut(i), UpperCut(i)) >= 0; }

bool BeginsBefore(const Interval& a, const Interval& b) { return CompareCut(LowerCut(a), LowerCut(b)) < 0; }

// Two integer intervals without a gap between them, e.g. [1, 1] and [2, 2].
bool Adjacent(const Interval& a, const Interval& b) {
  if (!a.upper || !b.lower) return false;
  if (a.upper->value.domain() != Domain::kInt) return CompareCut(UpperCut(a), LowerCut(b)) == 0;
  return a.upper->value.as_int() + 1 == b.lower->value.as_int();
}

// First interval whose upper end is not below `v`.
std::vector<Interval>::const_iterator Find(const std::vector<Interval>& intervals, const Value& v) {
  const Cut before{0, &v, -1};
  return std::partition_point(intervals.begin(), intervals.end(),
                              [&](const Interval& i) { return CompareCut(UpperCut(i), before) <= 0; });
}

}  // namespace

ValueSet ValueSet::All() {
  ValueSet s;
  s.intervals_.push_back(Interval{});
  return s;
}

ValueSet ValueSet::Of(Interval interval) {
  ValueSet s;
  MakeInclusive(&interval);
  if (!IsEmpty(interval)) s.intervals_.push_back(std::move(interval));
  return s;
}

ValueSet ValueSet::Point(const Value& v) { return Of(Interval{Bound{v, true}, Bound{v, true}}); }

ValueSet ValueSet::Points(std::vector<Value> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  ValueSet s;
  s.intervals_.reserve(values.size());
  for (auto& v : values) s.intervals_.push_back(Interval{Bound{v, true}, Bound{v, true}});
  return s;
}

bool ValueSet::is_all() const { return intervals_.size() == 1 && !intervals_[0].lower && !intervals_[0].upper; }

std::optional<std::vector<Value>> ValueSet::AsPoints() const {
  std::vector<Value> out;
  out.reserve(intervals_.size());
  for (const auto& i : intervals_) {
    if (!i.lower || !i.upper || !(i.lower->value == i.upper->value)) return std::nullopt;
    out.push_back(i.lower->value);
  }
  return out;
}

ValueSet ValueSet::Union(const ValueSet& o) const {
  std::vector<Interval> all;
  all.reserve(intervals_.size() + o.intervals_.size());
  std::merge(intervals_.begin(), intervals_.end(), o.intervals_.begin(), o.intervals_.end(), std::back_inserter(all),
             BeginsBefore);
  return Merge(std::move(all));
}

ValueSet ValueSet::OfAll(std::vector<Interval> intervals) {
  for (Interval& i : intervals) MakeInclusive(&i);
  std::erase_if(intervals, IsEmpty);
  std::sort(intervals.begin(), intervals.end(), BeginsBefore);
  return Merge(std::move(intervals));
}

// Of intervals in the order of their lower ends.
ValueSet ValueSet::Merge(std::vector<Interval> sorted) {
  ValueSet out;
  for (auto& i : sorted) {
    // Touching intervals become one; integer neighbours stay apart, so that a list of points remains one.
    if (!out.intervals_.empty() && CompareCut(LowerCut(i), UpperCut(out.intervals_.back())) <= 0) {
      auto& last = out.intervals_.back();
      if (CompareCut(UpperCut(last), UpperCut(i)) < 0) last.upper = std::move(i.upper);
    } else {
      out.intervals_.push_back(std::move(i));
    }
  }
  return out;
}

ValueSet ValueSet::Intersect(const ValueSet& o) const {
  ValueSet out;
  size_t a = 0, b = 0;
  while (a < intervals_.size() && b < o.intervals_.size()) {
    const Interval &x = intervals_[a], &y = o.intervals_[b];
    Interval both{CompareCut(LowerCut(x), LowerCut(y)) >= 0 ? x.lower : y.lower,
                  CompareCut(UpperCut(x), UpperCut(y)) <= 0 ? x.upper : y.upper};
    if (!IsEmpty(both)) out.intervals_.push_back(std::move(both));
    if (CompareCut(UpperCut(x), UpperCut(y)) <= 0) {
      ++a;
    } else {
      ++b;
    }
  }
  return out;
}

ValueSet ValueSet::Complement() const {
  ValueSet out;
  auto add = [&](std::optional<Bound> lower, std::optional<Bound> upper) {
    if (lower) lower->inclusive = !lower->inclusive;
    if (upper) upper->inclusive = !upper->inclusive;
    Interval gap{std::move(lower), std::move(upper)};
    MakeInclusive(&gap);
    if (!IsEmpty(gap)) out.intervals_.push_back(std::move(gap));
  };
  if (intervals_.empty()) return All();
  if (intervals_.front().lower) add(std::nullopt, intervals_.front().lower);
  for (size_t i = 0; i + 1 < intervals_.size(); ++i) add(intervals_[i].upper, intervals_[i + 1].lower);
  if (intervals_.back().upper) add(intervals_.back().upper, std::nullopt);
  return out;
}

bool ValueSet::Contains(const Value& v) const { return Overlaps(v, v); }

bool ValueSet::Overlaps(const Value& lo, const Value& hi) const {
  auto it = Find(intervals_, lo);
  return it != intervals_.end() && CompareCut(LowerCut(*it), Cut{0, &hi, 1}) < 0;
}

bool ValueSet::Covers(const Value& lo, const Value& hi) const {
  auto it = Find(intervals_, lo);
  if (it == intervals_.end() || CompareCut(LowerCut(*it), Cut{0, &lo, -1}) > 0) return false;
  const Cut end{0, &hi, 1};
  while (CompareCut(UpperCut(*it), end) < 0) {
    auto next = it + 1;
    if (next == intervals_.end() || !Adjacent(*it, *next)) return false;
    it = next;
  }
  return true;
}

std::string ValueSet::ToString() const {
  if (empty()) return "nothing";
  if (is_all()) return "anything";
  std::string out;
  size_t shown = 0;
  for (const auto& i : intervals_) {
    if (shown == 8) {
      out += fmt::format(", … ({} in all)", intervals_.size());
      break;
    }
    if (shown++ > 0) out += ", ";
    if (i.lower && i.upper && i.lower->value == i.upper->value) {
      out += i.lower->value.ToString();
      continue;
    }
    out += i.lower ? (i.lower->inclusive ? "[" : "(") + i.lower->value.ToString() : "(-∞";
    out += " .. ";
    out += i.upper ? i.upper->value.ToString() + (i.upper->inclusive ? "]" : ")") : "∞)";
  }
  return "{" + out + "}";
}

}  // namespace pilum
