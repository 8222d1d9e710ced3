// Calendar, time-of-day and time zones, without a default zone anywhere. Called by query.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"
#include "pilum/values/value.h"

namespace pilum {

constexpr int64_t kNanosPerSecond = 1'000'000'000;
constexpr int64_t kSecondsPerDay = 86'400;
constexpr Int128 kNanosPerDay = static_cast<Int128>(kSecondsPerDay) * kNanosPerSecond;

struct CivilDate {
  int64_t year;
  int month, day;
};
int64_t DaysFromCivil(int64_t year, int month, int day);  // since 1970-01-01, proleptic Gregorian
CivilDate CivilFromDays(int64_t days);
int DaysInMonth(int64_t year, int month);

template <typename T>
T FloorDiv(T a, T b) {
  T q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

// Nanoseconds in one unit of the type (date32: a day, date64: a millisecond). 0 for other types.
int64_t NanosPerUnit(const arrow::DataType& type);

// The whole text or nothing. Years 1 to 9999, fractions up to 9 digits.
std::optional<int64_t> ParseDate(std::string_view text);       // days
std::optional<int64_t> ParseTimeOfDay(std::string_view text);  // nanoseconds since midnight
struct ParsedTimestamp {
  Int128 nanos;  // since 1970: UTC where `instant`, else on the wall
  bool instant;  // the text had an offset
};
std::optional<ParsedTimestamp> ParseTimestamp(std::string_view text);  // a date alone is its midnight
struct ParsedInterval {
  int64_t months;
  Int128 nanos;
};                                                                   // days are 24 hours
std::optional<ParsedInterval> ParseInterval(std::string_view text);  // '3 days 2 hours', '1 month', '02:30:00'

// One time zone: an IANA name from the system's tz database, or +HH:MM. Immutable, thread-safe.
class Zone {
 public:
  static Result<std::shared_ptr<const Zone>> Load(const std::string& name);  // kQuery if unknown
  const std::string& name() const { return name_; }
  std::optional<int64_t> fixed_offset() const { return fixed_; }  // seconds east of UTC
  Result<int64_t> OffsetAt(int64_t utc_seconds) const;
  // Wall-clock to instant: a gap moves forward by its length, an overlap takes the earlier.
  Result<Int128> ToInstant(Int128 wall_nanos) const;
  // A timestamp array of this zone -> the wall clock, as a zone-less timestamp of the same unit.
  Result<std::shared_ptr<arrow::Array>> ToWall(const std::shared_ptr<arrow::Array>& instants) const;

 private:
  std::string name_;
  std::optional<int64_t> fixed_;
};

}  // namespace pilum
