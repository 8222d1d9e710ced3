#include "pilum/values/exact_number.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include <arrow/util/float16.h>

namespace pilum {
namespace {

constexpr int64_t kExponentLimit = 1'000'000'000;  // beyond this an exponent means only "huge" or "tiny"

bool EqualsFolded(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() && std::equal(text.begin(), text.end(), lower.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
         });
}

// Reads "e[+-]digits"; false when malformed.
bool ReadExponent(std::string_view text, int64_t* out) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.empty()) return false;
  int64_t v = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return false;
    v = std::min(kExponentLimit, v * 10 + (c - '0'));
  }
  *out = negative ? -v : v;
  return true;
}

}  // namespace

std::optional<ExactNumber> ExactNumber::Parse(std::string_view text, bool named) {
  ExactNumber n;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    n.negative_ = text[0] == '-';
    text.remove_prefix(1);
  }
  if (named && (EqualsFolded(text, "inf") || EqualsFolded(text, "infinity"))) {
    n.kind_ = Kind::kInfinite;
    return n;
  }
  if (named && EqualsFolded(text, "nan")) {
    n.kind_ = Kind::kNaN;
    n.negative_ = false;
    return n;
  }
  size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos) {
    if (!ReadExponent(text.substr(e + 1), &n.exponent_)) return std::nullopt;
    text = text.substr(0, e);
  }
  size_t dot = text.find('.');
  std::string_view whole = text.substr(0, dot);
  std::string_view fraction = dot == std::string_view::npos ? std::string_view() : text.substr(dot + 1);
  if (whole.empty() && fraction.empty()) return std::nullopt;
  n.digits_.reserve(whole.size() + fraction.size());
  n.digits_.append(whole).append(fraction);
  for (char c : n.digits_) {
    if (c < '0' || c > '9') return std::nullopt;
  }
  n.exponent_ -= static_cast<int64_t>(fraction.size());
  while (!n.digits_.empty() && n.digits_.back() == '0') {
    n.digits_.pop_back();
    ++n.exponent_;
  }
  n.digits_.erase(0, std::min(n.digits_.find_first_not_of('0'), n.digits_.size()));
  if (n.digits_.empty()) {
    n.exponent_ = 0;
    n.negative_ = false;
  }
  return n;
}

ExactNumber ExactNumber::FromInt(Int128 v) { return *Parse(Value::Int(v).ToString()); }

ExactNumber ExactNumber::FromDouble(double v) {
  if (std::isnan(v) || std::isinf(v)) return *Parse(std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf", true);
  char buffer[1600];  // 309 digits before the point and 1074 after are the most a double has
  int size = std::snprintf(buffer, sizeof buffer, "%.1074f", v);
  std::string text(buffer, static_cast<size_t>(size));
  std::replace(text.begin(), text.end(), ',', '.');  // whatever the C locale says
  return *Parse(text);
}

ExactNumber ExactNumber::FromDecimal(const arrow::Decimal256& unscaled, int32_t scale) {
  return *Parse(unscaled.ToIntegerString() + "e" + std::to_string(-scale));
}

ExactNumber ExactNumber::Negated() const {
  ExactNumber n = *this;
  n.negative_ = !is_zero() && kind_ != Kind::kNaN && !negative_;
  return n;
}

int ExactNumber::Compare(const ExactNumber& o) const {
  auto rank = [](const ExactNumber& n) {
    if (n.kind_ == Kind::kNaN) return 3;
    int size = n.kind_ == Kind::kInfinite ? 2 : n.is_zero() ? 0 : 1;
    return n.negative_ ? -size : size;
  };
  int a = rank(*this), b = rank(o);
  if (a != b || (a != 1 && a != -1)) return a < b ? -1 : a > b;
  int c = magnitude() != o.magnitude() ? (magnitude() < o.magnitude() ? -1 : 1) : digits_.compare(o.digits_);
  c = c < 0 ? -1 : c > 0;
  return negative_ ? -c : c;
}

std::optional<ExactNumber::Floor> ExactNumber::FloorAt(int32_t scale) const {
  if (kind_ != Kind::kFinite) return std::nullopt;
  if (is_zero()) return Floor{arrow::Decimal256(0), true};
  int64_t before = magnitude() + scale;  // digits of |x| * 10^scale before its point
  if (before > 76) return std::nullopt;
  bool exact = exponent_ + scale >= 0;
  std::string kept = before <= 0 ? "0" : digits_.substr(0, static_cast<size_t>(before));
  if (exact) kept.append(static_cast<size_t>(exponent_ + scale), '0');
  auto parsed = arrow::Decimal256::FromString(kept);
  if (!parsed.ok()) return std::nullopt;
  arrow::Decimal256 v = *parsed;
  if (negative_) {
    v.Negate();
    if (!exact) v -= arrow::Decimal256(1);
  }
  return Floor{v, exact};
}

std::optional<ExactNumber::IntFloor> ExactNumber::FloorInt() const {
  if (kind_ != Kind::kFinite || magnitude() > 38) return std::nullopt;
  auto f = FloorAt(0);
  if (!f) return std::nullopt;
  auto words = f->value.little_endian_array();  // |value| <= 10^38, so the low 128 bits hold it
  auto low = static_cast<unsigned __int128>(words[1]) << 64 | words[0];
  return IntFloor{static_cast<Int128>(low), f->exact};
}

template <typename T>
T ExactNumber::Round() const {
  if (kind_ == Kind::kNaN) return std::numeric_limits<T>::quiet_NaN();
  T v = 0;
  if (kind_ == Kind::kInfinite || magnitude() > 400) {
    v = std::numeric_limits<T>::infinity();
  } else if (!is_zero() && magnitude() > -400) {
    std::string text = digits_ + "e" + std::to_string(exponent_);
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (error == std::errc::result_out_of_range) v = magnitude() > 0 ? std::numeric_limits<T>::infinity() : T(0);
  }
  return negative_ ? -v : v;
}

double ExactNumber::ToDouble() const { return Round<double>(); }
float ExactNumber::ToFloat() const { return Round<float>(); }

double ExactNumber::ToHalf() const {
  // Rounding twice is safe only if the first rounding is to odd.
  double d = ToDouble();
  if (std::isfinite(d)) {
    int c = Compare(FromDouble(d));
    uint64_t bits;
    std::memcpy(&bits, &d, sizeof bits);
    if (c != 0 && bits % 2 == 0) d = std::nextafter(d, c > 0 ? HUGE_VAL : -HUGE_VAL);
  }
  return arrow::util::Float16::FromDouble(d).ToDouble();
}

std::string ExactNumber::ToString() const {
  std::string sign = negative_ ? "-" : "";
  if (kind_ == Kind::kNaN) return "NaN";
  if (kind_ == Kind::kInfinite) return sign + "inf";
  if (digits_.empty()) return "0";
  if (exponent_ >= 0 && magnitude() <= 40) return sign + digits_ + std::string(static_cast<size_t>(exponent_), '0');
  if (exponent_ < 0 && magnitude() > 0) {
    auto point = static_cast<size_t>(magnitude());
    return sign + digits_.substr(0, point) + "." + digits_.substr(point);
  }
  if (exponent_ < 0 && magnitude() > -6) {
    return sign + "0." + std::string(static_cast<size_t>(-magnitude()), '0') + digits_;
  }
  return sign + digits_ + "e" + std::to_string(exponent_);
}

}  // namespace pilum
