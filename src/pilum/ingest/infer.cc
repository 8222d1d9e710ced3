#include "pilum/ingest/infer.h"

#include <algorithm>

#include <arrow/type.h>
#include <arrow/util/value_parsing.h>

namespace pilum::ingest {
namespace {

enum Bit : uint32_t {
  kInt64 = 1,
  kUint64 = 2,
  kDouble = 4,
  kBool = 8,
  kDate = 16,
  kMicros = 32,
  kNanos = 64,
  kZonedMicros = 128,
  kZonedNanos = 256,
};
constexpr uint32_t kNumbers = kInt64 | kUint64 | kDouble;
constexpr uint32_t kTimes = kDate | kMicros | kNanos | kZonedMicros | kZonedNanos;

std::string_view Trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

bool IsDigits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Texts that a number parser would take and that lose something as a number: 007 (zip codes), +49301234 (phone numbers),
// 0x1f.
bool StaysText(std::string_view s) {
  if (s.starts_with('+') && IsDigits(s.substr(1))) return true;
  if (s.starts_with('-')) s.remove_prefix(1);
  return s.size() > 1 && s[0] == '0' && ((s[1] >= '0' && s[1] <= '9') || s[1] == 'x' || s[1] == 'X');
}

// Without point and exponent: as a double it may lose its last digits.
bool IsWhole(std::string_view value) {
  value = Trim(value);
  if (value.starts_with('-')) value.remove_prefix(1);
  return IsDigits(value);
}

uint32_t NumberBits(std::string_view value, uint32_t mask) {
  value = Trim(value);
  if (value.empty() || StaysText(value)) return 0;
  int64_t i;
  if ((mask & kInt64) && arrow::internal::ParseValue<arrow::Int64Type>(value.data(), value.size(), &i)) {
    return i >= 0 ? kInt64 | kDouble | kUint64 : kInt64 | kDouble;
  }
  uint32_t bits = 0;
  uint64_t u;
  if ((mask & kUint64) && arrow::internal::ParseValue<arrow::UInt64Type>(value.data(), value.size(), &u))
    bits |= kUint64;
  double d;
  if ((mask & kDouble) && arrow::internal::ParseValue<arrow::DoubleType>(value.data(), value.size(), &d))
    bits |= kDouble;
  return bits;
}

bool IsBool(std::string_view v) {
  return v == "true" || v == "false" || v == "True" || v == "False" || v == "TRUE" || v == "FALSE";
}

uint32_t TimeBits(std::string_view v, uint32_t mask) {
  if (v.size() < 10 || v[0] < '0' || v[0] > '9') return 0;
  uint32_t bits = 0;
  int32_t day;
  if ((mask & kDate) && arrow::internal::ParseValue<arrow::Date32Type>(v.data(), v.size(), &day)) bits |= kDate;
  int64_t out;
  bool zoned = false;
  if (arrow::internal::ParseTimestampISO8601(v.data(), v.size(), arrow::TimeUnit::MICRO, &out, &zoned)) {
    bits |= zoned ? kZonedMicros : kMicros;
  }
  if (arrow::internal::ParseTimestampISO8601(v.data(), v.size(), arrow::TimeUnit::NANO, &out, &zoned)) {
    bits |= zoned ? kZonedNanos : kNanos;
  }
  return bits;
}

}  // namespace

TextInference::TextInference(bool numbers) : mask_(numbers ? kNumbers | kBool | kTimes : kTimes) {}

void TextInference::Add(std::string_view value) {
  seen_ = true;
  if (mask_ == 0) return;
  uint32_t bits = 0;
  if (mask_ & kNumbers) bits |= NumberBits(value, mask_);
  all_whole_ = all_whole_ && (mask_ & kDouble) && IsWhole(value);
  if (bits == 0 && (mask_ & kBool) && IsBool(value)) bits |= kBool;
  if (bits == 0 && (mask_ & kTimes)) bits |= TimeBits(value, mask_);
  mask_ &= bits;
}

std::shared_ptr<arrow::DataType> TextInference::type() const {
  using arrow::TimeUnit;
  if (!seen_) return arrow::null();
  if (mask_ & kInt64) return arrow::int64();
  if (mask_ & kUint64) return arrow::uint64();
  if (mask_ & kDouble)
    return all_whole_ ? arrow::utf8() : arrow::float64();  // whole numbers that no integer type holds
  if (mask_ & kBool) return arrow::boolean();
  if (mask_ & kDate) return arrow::date32();
  if (mask_ & kMicros) return arrow::timestamp(TimeUnit::MICRO);
  if (mask_ & kNanos) return arrow::timestamp(TimeUnit::NANO);
  if (mask_ & kZonedMicros) return arrow::timestamp(TimeUnit::MICRO, "UTC");
  if (mask_ & kZonedNanos) return arrow::timestamp(TimeUnit::NANO, "UTC");
  return arrow::utf8();
}

}  // namespace pilum::ingest
