// Count, nulls, minimum, maximum and sum of a column, all exact and all mergeable exactly: integers and times in 128 bits,
// decimals in 256, floats without rounding (exact_sum.h; rounded once, when the sum is asked for). Text and binary have no
// sum. The one order of values/value.h: NaN is the greatest float, -0.0 is 0.0.
#pragma once

#include <optional>

#include "pilum/sketch/exact_sum.h"
#include "pilum/sketch/sketch.h"
#include "pilum/values/value.h"

namespace pilum {

class Moments {
 public:
  struct Params {
    Domain domain = Domain::kInt;
    int32_t scale = 0;  // of decimals
    bool operator==(const Params&) const = default;
    std::string ToString() const;
  };
  static constexpr std::string_view kName = "Moments";
  static constexpr Laws kLaws{Same::kBytes, Same::kBytes, Same::kBytes, false, ~0ull};

  static Result<Params> ParamsFor(const arrow::DataType& type);  // kUsage: a type without a normal form
  static Result<Moments> Empty(const Params& params);
  Status Update(const arrow::Array& array);  // kUsage: another domain or scale. A null array counts as nulls
  Status Merge(const Moments& other);
  std::string ToBytes() const;
  static Result<Moments> FromBytes(std::string_view bytes, std::string_view source);
  const Params& params() const { return params_; }

  uint64_t count() const { return count_; }  // values
  uint64_t nulls() const { return nulls_; }
  const std::optional<Value>& min() const { return min_; }  // absent: no values
  const std::optional<Value>& max() const { return max_; }
  // Int or Decimal exactly; Float rounded once (NaN and infinities as IEEE adds them). Absent: text, binary, no values.
  std::optional<Value> sum() const;
  std::optional<double> mean() const;  // of numbers; decimals as numbers. Absent: text, binary, no values

 private:
  explicit Moments(const Params& params) : params_(params) {}
  void Widen(const Value& low, const Value& high);
  Status UpdateInts(const arrow::Array& array);
  Status UpdateFloats(const arrow::Array& array);
  Status UpdateValues(const arrow::Array& array);
  Status AddDecimal(const arrow::Decimal256& v);

  Params params_;
  uint64_t count_ = 0, nulls_ = 0;
  std::optional<Value> min_, max_;
  Int128 int_sum_ = 0;
  arrow::Decimal256 decimal_sum_;
  ExactSum float_sum_;  // of the finite ones
  uint64_t low_infinities_ = 0, high_infinities_ = 0, nans_ = 0;
};

}  // namespace pilum
