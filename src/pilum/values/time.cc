#include "pilum/values/time.h"

namespace pilum {

int64_t DaysFromCivil(int64_t y, int m, int d) {
  // Years start in March here, so that the leap day comes last.
  y -= m <= 2;
  int64_t era = FloorDiv<int64_t>(y, 400);
  int64_t year_of_era = y - era * 400;
  int64_t day_of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

CivilDate CivilFromDays(int64_t days) {
  days += 719468;
  int64_t era = FloorDiv<int64_t>(days, 146097);
  int64_t day_of_era = days - era * 146097;
  int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  int64_t shifted = (5 * day_of_year + 2) / 153;
  int day = static_cast<int>(day_of_year - (153 * shifted + 2) / 5 + 1);
  int month = static_cast<int>(shifted < 10 ? shifted + 3 : shifted - 9);
  return {year_of_era + era * 400 + (month <= 2), month, day};
}

int DaysInMonth(int64_t year, int month) {
  static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : kDays[month - 1];
}

int64_t NanosPerUnit(const arrow::DataType& type) {
  auto of = [](arrow::TimeUnit::type unit) -> int64_t {
    switch (unit) {
      case arrow::TimeUnit::SECOND: return 1'000'000'000;
      case arrow::TimeUnit::MILLI: return 1'000'000;
      case arrow::TimeUnit::MICRO: return 1'000;
      case arrow::TimeUnit::NANO: return 1;
    }
    return 0;
  };
  switch (type.id()) {
    case arrow::Type::DATE32: return kSecondsPerDay * kNanosPerSecond;
    case arrow::Type::DATE64: return 1'000'000;
    case arrow::Type::TIME32:
    case arrow::Type::TIME64: return of(static_cast<const arrow::TimeType&>(type).unit());
    case arrow::Type::TIMESTAMP: return of(static_cast<const arrow::TimestampType&>(type).unit());
    case arrow::Type::DURATION: return of(static_cast<const arrow::DurationType&>(type).unit());
    default: return 0;
  }
}

namespace {

// Reads forward over a text; every step says whether it fitted.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool done() const { return at_ == text_.size(); }
  char peek() const { return done() ? '\0' : text_[at_]; }
  bool Take(char c) {
    if (peek() != c || done()) return false;
    ++at_;
    return true;
  }
  void SkipSpaces() {
    while (Take(' ')) {
    }
  }
  // Between `least` and `most` digits.
  bool Number(size_t least, size_t most, int64_t* out) {
    size_t n = 0;
    *out = 0;
    while (n < most && peek() >= '0' && peek() <= '9') {
      *out = *out * 10 + (text_[at_++] - '0');
      ++n;
    }
    return n >= least;
  }
  // Up to 9 digits as nanoseconds.
  bool Fraction(int64_t* nanos) {
    size_t from = at_;
    if (!Number(1, 9, nanos)) return false;
    for (size_t n = at_ - from; n < 9; ++n) *nanos *= 10;
    return true;
  }
  std::string Word() {
    std::string w;
    while ((peek() >= 'a' && peek() <= 'z') || (peek() >= 'A' && peek() <= 'Z')) {
      w += static_cast<char>(text_[at_++] | 0x20);
    }
    return w;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

bool ReadDate(Reader* in, int64_t* days) {
  int64_t y, m, d;
  if (!in->Number(4, 4, &y) || !in->Take('-') || !in->Number(2, 2, &m) || !in->Take('-') || !in->Number(2, 2, &d)) {
    return false;
  }
  if (y < 1 || m < 1 || m > 12 || d < 1 || d > DaysInMonth(y, static_cast<int>(m))) return false;
  *days = DaysFromCivil(y, static_cast<int>(m), static_cast<int>(d));
  return true;
}

bool ReadTime(Reader* in, int64_t* nanos) {
  int64_t h, m, s = 0, fraction = 0;
  if (!in->Number(2, 2, &h) || !in->Take(':') || !in->Number(2, 2, &m)) return false;
  if (in->Take(':')) {
    if (!in->Number(2, 2, &s)) return false;
    if (in->Take('.') && !in->Fraction(&fraction)) return false;
  }
  if (h > 23 || m > 59 || s > 59) return false;
  *nanos = ((h * 60 + m) * 60 + s) * kNanosPerSecond + fraction;
  return true;
}

// Z, or +HH, +HHMM, +HH:MM.
bool ReadOffset(Reader* in, int64_t* seconds) {
  if (in->Take('Z') || in->Take('z')) {
    *seconds = 0;
    return true;
  }
  bool west = in->peek() == '-';
  if (!in->Take('+') && !in->Take('-')) return false;
  int64_t h, m = 0;
  if (!in->Number(2, 2, &h)) return false;
  bool colon = in->Take(':');
  if ((colon || !in->done()) && !in->Number(2, 2, &m)) return false;
  if (h > 23 || m > 59) return false;
  *seconds = (west ? -1 : 1) * (h * 3600 + m * 60);
  return true;
}

}  // namespace

std::optional<int64_t> ParseDate(std::string_view text) {
  Reader in(text);
  int64_t days;
  if (!ReadDate(&in, &days) || !in.done()) return std::nullopt;
  return days;
}

std::optional<int64_t> ParseTimeOfDay(std::string_view text) {
  Reader in(text);
  int64_t nanos;
  if (!ReadTime(&in, &nanos) || !in.done()) return std::nullopt;
  return nanos;
}

std::optional<ParsedTimestamp> ParseTimestamp(std::string_view text) {
  Reader in(text);
  int64_t days, nanos = 0, offset = 0;
  if (!ReadDate(&in, &days)) return std::nullopt;
  bool instant = false;
  if (!in.done()) {
    if (!in.Take('T') && !in.Take('t') && !in.Take(' ')) return std::nullopt;
    if (!ReadTime(&in, &nanos)) return std::nullopt;
    if (!in.done()) {
      in.Take(' ');
      if (in.peek() == 'U' || in.peek() == 'u') {
        if (in.Word() != "utc") return std::nullopt;
      } else if (!ReadOffset(&in, &offset)) {
        return std::nullopt;
      }
      instant = true;
    }
  }
  if (!in.done()) return std::nullopt;
  return ParsedTimestamp{days * kNanosPerDay + nanos - static_cast<Int128>(offset) * kNanosPerSecond, instant};
}

std::optional<ParsedInterval> ParseInterval(std::string_view text) {
  Reader in(text);
  ParsedInterval out{0, 0};
  bool any = false;
  for (in.SkipSpaces(); !in.done(); in.SkipSpaces(), any = true) {
    bool negative = in.peek() == '-';
    if (!in.Take('-')) in.Take('+');
    int64_t n, fraction = 0;
    if (!in.Number(1, 15, &n)) return std::nullopt;
    int sign = negative ? -1 : 1;
    if (in.Take(':')) {  // HH:MM[:SS[.fraction]]
      int64_t m, s = 0;
      if (!in.Number(2, 2, &m) || m > 59) return std::nullopt;
      if (in.Take(':') && (!in.Number(2, 2, &s) || s > 59)) return std::nullopt;
      if (in.Take('.') && !in.Fraction(&fraction)) return std::nullopt;
      out.nanos += sign * ((static_cast<Int128>(n) * 3600 + m * 60 + s) * kNanosPerSecond + fraction);
      continue;
    }
    if (in.Take('.') && !in.Fraction(&fraction)) return std::nullopt;
    in.SkipSpaces();
    std::string unit = in.Word();
    if (unit.size() > 2 && unit.back() == 's') unit.pop_back();
    int64_t months = unit == "year" ? 12 : unit == "quarter" ? 3 : unit == "month" || unit == "mon" ? 1 : 0;
    if (months != 0) {
      if (fraction != 0 || n > 1'000'000) return std::nullopt;
      out.months += sign * months * n;
      continue;
    }
    int64_t nanos = unit == "week"                                     ? 7 * kSecondsPerDay * kNanosPerSecond
                    : unit == "day"                                    ? kSecondsPerDay * kNanosPerSecond
                    : unit == "hour" || unit == "h"                    ? 3600 * kNanosPerSecond
                    : unit == "minute" || unit == "min" || unit == "m" ? 60 * kNanosPerSecond
                    : unit == "second" || unit == "sec" || unit == "s" ? kNanosPerSecond
                    : unit == "millisecond" || unit == "ms"            ? 1'000'000
                    : unit == "microsecond" || unit == "us"            ? 1'000
                    : unit == "nanosecond" || unit == "ns"             ? 1
                                                                       : 0;
    if (nanos == 0) return std::nullopt;
    out.nanos += sign * (static_cast<Int128>(n) * nanos + static_cast<Int128>(fraction) * nanos / kNanosPerSecond);
  }
  if (!any) return std::nullopt;
  return out;
}

}  // namespace pilum
