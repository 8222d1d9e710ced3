// A decimal number of any size, exactly: what a numeric literal is before it meets a column. Called by query.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pilum/values/value.h"

namespace pilum {

class ExactNumber {
 public:
  enum class Kind { kFinite, kInfinite, kNaN };
  ExactNumber() = default;  // zero
  // The whole text: [+-]digits[.digits][e[+-]digits]; also (any case) nan, inf and infinity where `named` allows.
  static std::optional<ExactNumber> Parse(std::string_view text, bool named = false);
  static ExactNumber FromInt(Int128 v);
  static ExactNumber FromDouble(double v);  // its exact binary value
  static ExactNumber FromDecimal(const arrow::Decimal256& unscaled, int32_t scale);

  Kind kind() const { return kind_; }
  bool negative() const { return negative_; }
  bool is_zero() const { return kind_ == Kind::kFinite && digits_.empty(); }
  bool is_integer() const { return kind_ == Kind::kFinite && exponent_ >= 0; }
  ExactNumber Negated() const;
  // By value; NaN is the greatest.
  int Compare(const ExactNumber& o) const;

  // floor(x * 10^scale), and whether nothing was cut off. nullopt: not finite, or 10^76 and more in magnitude.
  struct Floor {
    arrow::Decimal256 value;
    bool exact;
  };
  std::optional<Floor> FloorAt(int32_t scale) const;
  // floor(x); nullopt: not finite, or 10^38 and more.
  struct IntFloor {
    Int128 value;
    bool exact;
  };
  std::optional<IntFloor> FloorInt() const;
  // Correctly rounded to nearest even; overflow gives infinity.
  double ToDouble() const;
  float ToFloat() const;
  double ToHalf() const;  // the float16 nearest, as a double
  std::string ToString() const;

 private:
  template <typename T>
  T Round() const;
  // Decimal digits before the point of |x| (zero or less for |x| < 1).
  int64_t magnitude() const { return static_cast<int64_t>(digits_.size()) + exponent_; }

  Kind kind_ = Kind::kFinite;
  bool negative_ = false;
  std::string digits_;    // no zeros at either end; empty is zero
  int64_t exponent_ = 0;  // value = digits * 10^exponent
};

}  // namespace pilum
