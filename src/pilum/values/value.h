// The normal form of a value, and the one order. Builder, planner and recheck all go through this, so that no index can
// disagree with a scan. One function says what a value is.
//
//   bool, all integers, date, time, timestamp, duration -> Int (exact, in the column's own unit; uint64 never wraps)
//   float16/32/64                                       -> Float (double; NaN is one value; -0.0 is 0.0)
//   decimal128/256                                      -> Decimal (unscaled, at the column's own scale)
//   (large) string, string_view                         -> Text (bytes);  binary kinds, fixed_size_binary -> Binary (bytes)
//   dictionary -> its value type; extension -> its storage type
//   list, struct, map, null, interval: no normal form (IsNormalizable is false); a null is no value.
// Order: integers by value; floats -inf < … < +inf < NaN; decimals by value; text and binary by bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>
#include <arrow/util/decimal.h>

#include "pilum/base/status.h"

namespace pilum {

enum class Domain { kNone, kInt, kFloat, kDecimal, kText, kBinary };
Domain DomainOf(const arrow::DataType& type);
inline bool IsNormalizable(const arrow::DataType& type) { return DomainOf(type) != Domain::kNone; }

using Int128 = __int128;

// One non-null value in normal form. Comparable only within one domain (and, for decimals, one scale).
class Value {
 public:
  static Value Int(Int128 v) { return Value(Domain::kInt, v); }
  static Value Float(double v);  // canonical NaN, 0.0 for -0.0
  static Value Decimal(const arrow::Decimal256& unscaled);
  static Value Text(std::string v) { return Value(Domain::kText, std::move(v)); }
  static Value Binary(std::string v) { return Value(Domain::kBinary, std::move(v)); }

  Domain domain() const { return domain_; }
  Int128 as_int() const { return int_; }
  double as_float() const { return float_; }
  const arrow::Decimal256& as_decimal() const { return decimal_; }
  const std::string& as_bytes() const { return bytes_; }

  std::string ToString() const;  // for messages

 private:
  Value(Domain d, Int128 v) : domain_(d), int_(v) {}
  Value(Domain d, std::string v) : domain_(d), bytes_(std::move(v)) {}
  explicit Value(Domain d) : domain_(d) {}
  Domain domain_;
  Int128 int_ = 0;
  double float_ = 0;
  arrow::Decimal256 decimal_;
  std::string bytes_;
};

// <0, 0, >0. Same domain required.
int Compare(const Value& a, const Value& b);
inline bool operator==(const Value& a, const Value& b) { return Compare(a, b) == 0; }
inline bool operator<(const Value& a, const Value& b) { return Compare(a, b) < 0; }

// The total order of floats used everywhere: -inf < … < +inf < NaN (all NaN equal), -0.0 = 0.0.
int CompareFloat(double a, double b);

// Slot i of an array (dictionary and extension are looked through); nullopt for null. Type must be normalizable.
Result<std::optional<Value>> ValueAt(const arrow::Array& array, int64_t i);

// The bytes that stand for a value wherever one is hashed (Bloom filters, later sketches and fingerprints): one tag byte a
// domain, then: Int 16 bytes LE two's complement; Float 8 bytes LE of the normal double; Decimal 1 byte trimmed scale and
// minimal two's complement LE of the unscaled value with trailing decimal zeros removed; Text and Binary the bytes.
// `scale`: of the decimal's column. Golden bytes are in the tests.
void AppendHashBytes(const Value& value, int32_t scale, std::string* out);

// A set of values of one domain as sorted disjoint intervals: what a comparison with literals says about one column, exactly.
// Empty: no value. Bounds absent: unbounded. Floats: NaN is the greatest value, an unbounded upper end holds it.
struct Bound {
  Value value;
  bool inclusive;
};
struct Interval {
  std::optional<Bound> lower, upper;
};

class ValueSet {
 public:
  static ValueSet None() { return ValueSet(); }
  static ValueSet All();
  static ValueSet Of(Interval interval);  // empty if lower > upper
  static ValueSet Point(const Value& v);
  static ValueSet Points(std::vector<Value> values);       // any order, duplicates
  static ValueSet OfAll(std::vector<Interval> intervals);  // their union; any order, may overlap
  bool empty() const { return intervals_.empty(); }
  bool is_all() const;
  const std::vector<Interval>& intervals() const { return intervals_; }
  // All intervals are points: the values, sorted; else nullopt.
  std::optional<std::vector<Value>> AsPoints() const;
  ValueSet Union(const ValueSet& o) const;
  ValueSet Intersect(const ValueSet& o) const;
  ValueSet Complement() const;
  bool Contains(const Value& v) const;  // binary search
  // Does any value of [lo, hi] belong? (lo <= hi, both inclusive)
  bool Overlaps(const Value& lo, const Value& hi) const;
  // Does every value of [lo, hi] belong?
  bool Covers(const Value& lo, const Value& hi) const;
  std::string ToString() const;

 private:
  static ValueSet Merge(std::vector<Interval> sorted);
  std::vector<Interval> intervals_;
};

}  // namespace pilum
