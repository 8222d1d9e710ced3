// Is a value in a set? One matcher a physical form, chosen once at bind; dictionary columns are matched entry by entry.
#include <bit>
#include <limits>
#include <unordered_set>

#include <arrow/util/float16.h>

#include "pilum/query/evaluate.h"
#include "pilum/query/selectivity.h"
#include "pilum/query/sieve.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

using Bits = std::vector<uint64_t>;

template <typename Test>
Bits Fill(int64_t rows, Test test) {
  Bits bits(WordsFor(rows), 0);
  for (int64_t from = 0; from < rows; from += 64) {
    const int64_t to = std::min<int64_t>(from + 64, rows);
    uint64_t word = 0;
    for (int64_t i = from; i < to; ++i) word |= static_cast<uint64_t>(test(i)) << (i - from);
    bits[static_cast<size_t>(from / 64)] = word;
  }
  return bits;
}

// The same of `test`, which is asked only where `sieve` passes: few rows, so that the first loop has no branch to miss.
template <typename Sieve, typename Test>
Bits FillBy(int64_t rows, Sieve sieve, Test test) {
  Bits bits = Fill(rows, sieve);
  for (size_t w = 0; w < bits.size(); ++w) {
    for (uint64_t left = bits[w]; left != 0; left &= left - 1) {
      const int bit = std::countr_zero(left);
      if (!test(static_cast<int64_t>(w) * 64 + bit)) bits[w] &= ~(uint64_t{1} << bit);
    }
  }
  return bits;
}

class Matcher {
 public:
  virtual ~Matcher() = default;
  // One bit a row; null rows may say anything. `array` is plain and of the type the matcher was made for.
  virtual Result<Bits> Match(const arrow::Array& array) const = 0;
};

// Sorted disjoint closed ranges of an ordered C++ type.
template <typename T>
class Ranges {
 public:
  void Add(T lo, T hi) {
    lo_.push_back(lo);
    hi_.push_back(hi);
  }
  // No more ranges. Small spans of integers with many ranges become one bit a value; of many points elsewhere a sieve
  // keeps nearly all others from being searched.
  void Finish() {
    if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
      constexpr uint64_t kMost = 1 << 22;
      constexpr size_t kMany = 16, kFewPoints = 4;
      uint64_t span = lo_.empty() ? 0 : static_cast<uint64_t>(hi_.back()) - static_cast<uint64_t>(lo_.front());
      if (lo_.size() < kMany || span >= kMost) {
        if (lo_.size() >= kFewPoints && lo_ == hi_) {
          sieve_.Make(lo_.size());
          for (const T v : lo_) sieve_.Add(static_cast<uint64_t>(v));
        }
        return;
      }
      base_ = static_cast<uint64_t>(lo_.front());
      dense_.assign(span / 64 + 1, 0);
      for (size_t i = 0; i < lo_.size(); ++i) {
        for (uint64_t v = static_cast<uint64_t>(lo_[i]) - base_, end = static_cast<uint64_t>(hi_[i]) - base_; v <= end;
             ++v) {
          dense_[v / 64] |= uint64_t{1} << (v % 64);
        }
      }
      span_ = span;
    }
  }
  bool Has(T v) const {
    auto it = std::upper_bound(lo_.begin(), lo_.end(), v);
    return it != lo_.begin() && !(hi_[static_cast<size_t>(it - lo_.begin()) - 1] < v);
  }
  // `get(i)`: the value of row i.
  template <typename Get>
  Bits Match(int64_t rows, Get get) const {
    if (lo_.empty()) return Bits(WordsFor(rows), 0);
    if (lo_.size() == 1) {
      const T lo = lo_[0], hi = hi_[0];
      return Fill(rows, [&](int64_t i) {
        const T v = get(i);
        return !(v < lo) & !(hi < v);
      });
    }
    if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
      if (!dense_.empty()) {
        return Fill(rows, [&](int64_t i) {
          const uint64_t at = static_cast<uint64_t>(get(i)) - base_;
          return at <= span_ && (dense_[at / 64] >> (at % 64) & 1) != 0;
        });
      }
      if (sieve_.made()) {
        return FillBy(
            rows, [&](int64_t i) { return sieve_.MayHold(static_cast<uint64_t>(get(i))); },
            [&](int64_t i) { return Has(get(i)); });
      }
    }
    return Fill(rows, [&](int64_t i) { return Has(get(i)); });
  }

 private:
  std::vector<T> lo_, hi_;
  std::vector<uint64_t> dense_;
  Sieve sieve_;
  uint64_t base_ = 0, span_ = 0;
};

template <typename T>
Ranges<T> IntRanges(const ValueSet& set, IntRange range) {
  Ranges<T> out;
  for (const auto& i : set.intervals()) {
    Int128 lo = i.lower ? i.lower->value.as_int() + !i.lower->inclusive : range.min;
    Int128 hi = i.upper ? i.upper->value.as_int() - !i.upper->inclusive : range.max;
    lo = std::max(lo, range.min);
    hi = std::min(hi, range.max);
    if (lo <= hi) out.Add(static_cast<T>(lo), static_cast<T>(hi));
  }
  out.Finish();
  return out;
}

// `Type`: the Arrow type; `Wide`: int64_t, or uint64_t for uint64.
template <typename Type, typename Wide>
class IntMatcher : public Matcher {
 public:
  IntMatcher(const ValueSet& set, const arrow::DataType& type) : ranges_(IntRanges<Wide>(set, IntRangeOf(type))) {}
  Result<Bits> Match(const arrow::Array& array) const override {
    const auto* values = static_cast<const typename arrow::TypeTraits<Type>::ArrayType&>(array).raw_values();
    return ranges_.Match(array.length(), [&](int64_t i) { return static_cast<Wide>(values[i]); });
  }

 private:
  Ranges<Wide> ranges_;
};

class BoolMatcher : public Matcher {
 public:
  explicit BoolMatcher(const ValueSet& set) : no_(set.Contains(Value::Int(0))), yes_(set.Contains(Value::Int(1))) {}
  Result<Bits> Match(const arrow::Array& array) const override {
    const auto& b = static_cast<const arrow::BooleanArray&>(array);
    return Fill(array.length(), [&](int64_t i) { return b.Value(i) ? yes_ : no_; });
  }

 private:
  bool no_, yes_;
};

// The one order of floats as an order of integers: NaN on top, one zero.
int64_t OrderOf(double v) {
  if (v != v) return std::numeric_limits<int64_t>::max();
  v += 0.0;  // -0.0 becomes 0.0
  int64_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return bits >= 0 ? bits
                   : static_cast<int64_t>(static_cast<uint64_t>(std::numeric_limits<int64_t>::min()) -
                                          static_cast<uint64_t>(bits));
}

class FloatMatcher : public Matcher {
 public:
  explicit FloatMatcher(const ValueSet& set) {
    for (const auto& i : set.intervals()) {
      constexpr auto kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();
      int64_t lo = kMin, hi = kMax;
      if (i.lower) {
        lo = OrderOf(i.lower->value.as_float());
        if (!i.lower->inclusive && lo == kMax) continue;  // above NaN: nothing
        lo += !i.lower->inclusive;
      }
      if (i.upper) hi = OrderOf(i.upper->value.as_float()) - !i.upper->inclusive;
      if (lo <= hi) ranges_.Add(lo, hi);
    }
    ranges_.Finish();
  }
  Result<Bits> Match(const arrow::Array& array) const override {
    const int64_t rows = array.length();
    switch (array.type_id()) {
      case arrow::Type::DOUBLE: {
        const double* v = static_cast<const arrow::DoubleArray&>(array).raw_values();
        return ranges_.Match(rows, [=](int64_t i) { return OrderOf(v[i]); });
      }
      case arrow::Type::FLOAT: {
        const float* v = static_cast<const arrow::FloatArray&>(array).raw_values();
        return ranges_.Match(rows, [=](int64_t i) { return OrderOf(v[i]); });
      }
      default: {
        const uint16_t* v = static_cast<const arrow::HalfFloatArray&>(array).raw_values();
        return ranges_.Match(rows, [=](int64_t i) { return OrderOf(arrow::util::Float16::FromBits(v[i]).ToDouble()); });
      }
    }
  }

 private:
  Ranges<int64_t> ranges_;
};

arrow::Decimal256 DecimalEnd(bool greatest) {
  using Words = std::array<uint64_t, 4>;
  const uint64_t all = ~uint64_t{0}, top = uint64_t{1} << 63;
  return arrow::Decimal256(greatest ? Words{all, all, all, top - 1} : Words{0, 0, 0, top});
}

// Bounds clipped to what a decimal of 128 bits or less can hold.
Int128 Clip128(const arrow::Decimal256& v) {
  static const arrow::Decimal256 least(arrow::Decimal128(std::numeric_limits<int64_t>::min(), 0));
  static const arrow::Decimal256 most(arrow::Decimal128(std::numeric_limits<int64_t>::max(), ~uint64_t{0}));
  auto words = (v < least ? least : v > most ? most : v).little_endian_array();
  return static_cast<Int128>(static_cast<unsigned __int128>(words[1]) << 64 | words[0]);
}

class DecimalMatcher : public Matcher {
 public:
  explicit DecimalMatcher(const ValueSet& set) {
    const arrow::Decimal256 one(1), least = DecimalEnd(false), most = DecimalEnd(true);
    const arrow::Decimal256 narrow_most(arrow::Decimal128(std::numeric_limits<int64_t>::max(), ~uint64_t{0}));
    const arrow::Decimal256 narrow_least(arrow::Decimal128(std::numeric_limits<int64_t>::min(), 0));
    for (const auto& i : set.intervals()) {
      arrow::Decimal256 lo = i.lower ? i.lower->value.as_decimal() : least;
      arrow::Decimal256 hi = i.upper ? i.upper->value.as_decimal() : most;
      if (i.lower && !i.lower->inclusive) lo += one;
      if (i.upper && !i.upper->inclusive) hi -= one;
      if (hi < lo) continue;
      wide_.Add(lo, hi);
      if (!(narrow_most < lo) && !(hi < narrow_least)) narrow_.Add(Clip128(lo), Clip128(hi));
    }
  }
  Result<Bits> Match(const arrow::Array& array) const override {
    const int64_t rows = array.length();
    if (array.type_id() == arrow::Type::DECIMAL128) {
      const auto& a = static_cast<const arrow::Decimal128Array&>(array);
      const uint8_t* bytes = a.raw_values();
      return narrow_.Match(rows, [=](int64_t i) {
        Int128 v;
        std::memcpy(&v, bytes + i * 16, 16);
        return v;
      });
    }
    PILUM_ASSIGN_OR_RETURN(auto values, DecimalsOf(array));
    return wide_.Match(rows, [&](int64_t i) { return values[static_cast<size_t>(i)]; });
  }

 private:
  Ranges<arrow::Decimal256> wide_;
  Ranges<Int128> narrow_;
};

class BytesMatcher : public Matcher {
 public:
  explicit BytesMatcher(ValueSet set) : set_(std::move(set)) {
    auto points = set_.AsPoints();
    if (!points) {
      points = set_.Complement().AsPoints();
      negate_ = points.has_value();
    }
    if (!points) return;
    by_points_ = true;
    points_ = std::move(*points);
    views_.reserve(points_.size() * 2);
    sieve_.Make(points_.size());
    for (const auto& p : points_) {
      views_.insert(p.as_bytes());
      sieve_.Add(Sieve::FingerprintOf(p.as_bytes()));
    }
  }

  template <typename ArrayType>
  Bits MatchViews(const arrow::Array& array) const {
    const auto& a = static_cast<const ArrayType&>(array);
    const int64_t rows = array.length();
    auto get = [&](int64_t i) { return a.IsValid(i) ? std::string_view(a.GetView(i)) : std::string_view(); };
    if (by_points_ && points_.size() == 1) {
      const std::string_view wanted = points_[0].as_bytes();
      return Fill(rows, [&](int64_t i) { return (get(i) == wanted) != negate_; });
    }
    if (by_points_) {
      Bits bits = FillBy(
          rows, [&](int64_t i) { return sieve_.MayHold(Sieve::FingerprintOf(get(i))); },
          [&](int64_t i) { return views_.count(get(i)) > 0; });
      if (negate_) {
        for (uint64_t& word : bits) word = ~word;
      }
      return bits;
    }
    return Fill(rows, [&](int64_t i) { return InIntervals(get(i)); });
  }

  Result<Bits> Match(const arrow::Array& array) const override {
    switch (array.type_id()) {
      case arrow::Type::STRING: return MatchViews<arrow::StringArray>(array);
      case arrow::Type::LARGE_STRING: return MatchViews<arrow::LargeStringArray>(array);
      case arrow::Type::STRING_VIEW: return MatchViews<arrow::StringViewArray>(array);
      case arrow::Type::BINARY: return MatchViews<arrow::BinaryArray>(array);
      case arrow::Type::LARGE_BINARY: return MatchViews<arrow::LargeBinaryArray>(array);
      case arrow::Type::BINARY_VIEW: return MatchViews<arrow::BinaryViewArray>(array);
      case arrow::Type::FIXED_SIZE_BINARY: return MatchViews<arrow::FixedSizeBinaryArray>(array);
      default: return Status::TypeError("not text or binary: ", array.type()->ToString());
    }
  }

 private:
  bool InIntervals(std::string_view v) const {
    const auto& all = set_.intervals();
    auto it = std::partition_point(all.begin(), all.end(), [&](const Interval& i) {
      if (!i.upper) return false;
      int c = std::string_view(i.upper->value.as_bytes()).compare(v);
      return c < 0 || (c == 0 && !i.upper->inclusive);
    });
    if (it == all.end()) return false;
    if (!it->lower) return true;
    int c = std::string_view(it->lower->value.as_bytes()).compare(v);
    return c < 0 || (c == 0 && it->lower->inclusive);
  }

  ValueSet set_;
  bool by_points_ = false, negate_ = false;
  std::vector<Value> points_;
  std::unordered_set<std::string_view> views_;
  Sieve sieve_;
};

std::unique_ptr<const Matcher> MakeMatcher(const ValueSet& set, const arrow::DataType& t) {
  using arrow::Type;
  switch (t.id()) {
    case Type::BOOL: return std::make_unique<BoolMatcher>(set);
    case Type::INT8: return std::make_unique<IntMatcher<arrow::Int8Type, int64_t>>(set, t);
    case Type::INT16: return std::make_unique<IntMatcher<arrow::Int16Type, int64_t>>(set, t);
    case Type::INT32: return std::make_unique<IntMatcher<arrow::Int32Type, int64_t>>(set, t);
    case Type::INT64: return std::make_unique<IntMatcher<arrow::Int64Type, int64_t>>(set, t);
    case Type::UINT8: return std::make_unique<IntMatcher<arrow::UInt8Type, int64_t>>(set, t);
    case Type::UINT16: return std::make_unique<IntMatcher<arrow::UInt16Type, int64_t>>(set, t);
    case Type::UINT32: return std::make_unique<IntMatcher<arrow::UInt32Type, int64_t>>(set, t);
    case Type::UINT64: return std::make_unique<IntMatcher<arrow::UInt64Type, uint64_t>>(set, t);
    case Type::DATE32: return std::make_unique<IntMatcher<arrow::Date32Type, int64_t>>(set, t);
    case Type::DATE64: return std::make_unique<IntMatcher<arrow::Date64Type, int64_t>>(set, t);
    case Type::TIME32: return std::make_unique<IntMatcher<arrow::Time32Type, int64_t>>(set, t);
    case Type::TIME64: return std::make_unique<IntMatcher<arrow::Time64Type, int64_t>>(set, t);
    case Type::TIMESTAMP: return std::make_unique<IntMatcher<arrow::TimestampType, int64_t>>(set, t);
    case Type::DURATION: return std::make_unique<IntMatcher<arrow::DurationType, int64_t>>(set, t);
    case Type::HALF_FLOAT:
    case Type::FLOAT:
    case Type::DOUBLE: return std::make_unique<FloatMatcher>(set);
    default: break;
  }
  if (arrow::is_decimal(t.id())) return std::make_unique<DecimalMatcher>(set);
  return std::make_unique<BytesMatcher>(set);
}

// Of one row, by the matcher that is used.
double CostOf(const ValueExpr& value, const ValueSet& set) {
  const bool one = set.intervals().size() <= 1;
  if (value.type()->id() == arrow::Type::DICTIONARY) return 1.5 + value.cost();
  switch (DomainOf(*value.type())) {
    case Domain::kText:
    case Domain::kBinary: return (one ? 5 : 15) + value.cost();
    case Domain::kDecimal: return (one ? 4 : 10) + value.cost();
    default: return (one ? 1 : 4) + value.cost();
  }
}

class InSet : public BoolExpr {
 public:
  InSet(std::shared_ptr<const Node> node, ValuePtr value, ValueSet set)
      : BoolExpr(std::move(node)), value_(std::move(value)), set_(std::move(set)) {
    plain_ = PlainType(value_->type());
    matcher_ = MakeMatcher(set_, *plain_);
  }
  const ValueSet* set() const override { return &set_; }
  ValuePtr operand() const override { return value_; }

  Result<Tri> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto array, value_->Eval(in));
    array = Storage(std::move(array));
    if (array->type_id() == arrow::Type::DICTIONARY) {
      const auto& d = static_cast<const arrow::DictionaryArray&>(*array);
      if (d.dictionary()->length() <= in.rows && d.dictionary()->type_id() != arrow::Type::DICTIONARY)
        return ByEntry(d);
      PILUM_ASSIGN_OR_RETURN(array, Plain(array));
    }
    if (!array->type()->Equals(*plain_)) {
      return Status::TypeError("column of type ", array->type()->ToString(), " where ", value_->type()->ToString(),
                               " was bound");
    }
    PILUM_ASSIGN_OR_RETURN(Bits bits, matcher_->Match(*array));
    return Tri::FromMatches(*array, std::move(bits));
  }

 private:
  Result<Tri> ByEntry(const arrow::DictionaryArray& d) const {
    PILUM_ASSIGN_OR_RETURN(auto entries, Plain(d.dictionary()));
    PILUM_ASSIGN_OR_RETURN(Bits bits, matcher_->Match(*entries));
    return Tri::FromEntries(d, Tri::FromMatches(*entries, std::move(bits)));
  }

  ValuePtr value_;
  ValueSet set_;
  std::shared_ptr<arrow::DataType> plain_;
  std::unique_ptr<const Matcher> matcher_;
};

}  // namespace

BoolPtr MakeInSet(ValuePtr value, ValueSet set, std::string text) {
  auto node = std::make_shared<BoundPredicate::Node>();
  node->text = std::move(text);
  node->cost = CostOf(*value, set);
  node->guess = GuessIn(set);
  if (value->column() != nullptr && !value->through_list()) {
    node->probe = Probe{Probe::Kind::kInSet, *value->column(), set, true};
  }
  return std::make_shared<InSet>(std::move(node), std::move(value), std::move(set));
}

}  // namespace pilum
