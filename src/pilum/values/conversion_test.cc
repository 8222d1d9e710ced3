#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

#include "pilum/values/exact_number.h"
#include "pilum/values/text.h"
#include "pilum/values/time.h"

namespace pilum {
namespace {

ExactNumber Num(const char* text) { return ExactNumber::Parse(text, true).value(); }

TEST(ExactNumber, ParsesWholeTextOnly) {
  for (const char* bad : {"", "-", ".", "1e", "1e+", "1.2.3", "12a", " 1", "1 ", "nan", "0x1", "+-1"}) {
    EXPECT_FALSE(ExactNumber::Parse(bad)) << bad;
  }
  EXPECT_EQ(Num("-00120.50").ToString(), "-120.5");
  EXPECT_EQ(Num(".5").ToString(), "0.5");
  EXPECT_EQ(Num("-0.0").ToString(), "0");
  EXPECT_EQ(Num("1e400").ToString(), "1e400");
  EXPECT_EQ(Num("Infinity").kind(), ExactNumber::Kind::kInfinite);
}

TEST(ExactNumber, OrdersByValue) {
  const char* order[] = {"-inf", "-1e400", "-2", "-1.5", "-1e-400", "0",   "1e-400",
                         "0.1",  "0.5",    "2",  "10",   "1e400",   "inf", "nan"};
  for (size_t i = 0; i < std::size(order); ++i) {
    for (size_t j = 0; j < std::size(order); ++j) {
      EXPECT_EQ(Num(order[i]).Compare(Num(order[j])), i < j ? -1 : i > j) << order[i] << " " << order[j];
    }
  }
  EXPECT_EQ(Num("1.50").Compare(Num("15e-1")), 0);
}

TEST(ExactNumber, FloorsExactly) {
  EXPECT_EQ(Num("-0.5").FloorInt()->value, -1);
  EXPECT_FALSE(Num("-0.5").FloorInt()->exact);
  EXPECT_EQ(Num("18446744073709551615").FloorInt()->value, static_cast<Int128>(18446744073709551615ull));
  EXPECT_EQ(Num("-9223372036854775809").FloorInt()->value, static_cast<Int128>(INT64_MIN) - 1);
  EXPECT_FALSE(Num("1e39").FloorInt());
  EXPECT_EQ(Num("1.105").FloorAt(2)->value, arrow::Decimal256(110));
  EXPECT_FALSE(Num("1.105").FloorAt(2)->exact);
  EXPECT_EQ(Num("-1.105").FloorAt(2)->value, arrow::Decimal256(-111));
  EXPECT_EQ(Num("100").FloorAt(-2)->value, arrow::Decimal256(1));
  EXPECT_FALSE(Num("1e76").FloorAt(2));
}

TEST(ExactNumber, RoundsToFloats) {
  EXPECT_EQ(Num("0.1").ToDouble(), 0.1);
  EXPECT_EQ(Num("0.1").ToFloat(), 0.1f);
  EXPECT_EQ(Num("1e300").ToFloat(), HUGE_VALF);
  EXPECT_EQ(Num("4.9e-324").ToDouble(), 4.9e-324);
  EXPECT_EQ(Num("1e-5000").ToDouble(), 0.0);
  EXPECT_EQ(ExactNumber::FromDouble(0.1).ToDouble(), 0.1);
  EXPECT_GT(ExactNumber::FromDouble(0.1).Compare(Num("0.1")), 0);
  EXPECT_EQ(ExactNumber::FromDouble(DBL_MAX).ToDouble(), DBL_MAX);
  EXPECT_EQ(ExactNumber::FromDouble(DBL_TRUE_MIN).ToDouble(), DBL_TRUE_MIN);
  // Half way between two float16 (1 and 1 + 2^-10), and a hair above it: only the exact value tells.
  EXPECT_EQ(Num("1.00048828125").ToHalf(), 1.0);
  EXPECT_EQ(Num("1.000488281250000000000000000001").ToHalf(), 1.0009765625);
}

TEST(Time, CalendarRoundTrips) {
  for (int64_t d = -800'000; d < 3'000'000; d += 997) {
    auto c = CivilFromDays(d);
    ASSERT_EQ(DaysFromCivil(c.year, c.month, c.day), d);
  }
  EXPECT_EQ(DaysFromCivil(1970, 1, 1), 0);
  EXPECT_EQ(DaysFromCivil(2024, 2, 29), 19782);
  EXPECT_EQ(DaysFromCivil(1, 1, 1), -719162);
}

TEST(Time, ParsesWholeTextOnly) {
  EXPECT_EQ(ParseDate("2024-02-29"), 19782);
  for (const char* bad :
       {"2023-02-29", "2024-13-01", "0000-01-01", "24-01-01", "2024-1-1", "2024-01-01 ", "10000-01-01"}) {
    EXPECT_FALSE(ParseDate(bad)) << bad;
  }
  EXPECT_EQ(ParseTimeOfDay("01:02:03.5"), 3723'500'000'000);
  EXPECT_FALSE(ParseTimeOfDay("24:00:00"));
  EXPECT_FALSE(ParseTimeOfDay("01:02:60"));
  EXPECT_FALSE(ParseTimeOfDay("01:02:03.1234567890"));
  auto at = [](const char* text) { return static_cast<int64_t>(ParseTimestamp(text)->nanos); };
  EXPECT_EQ(at("1970-01-02"), 86'400'000'000'000);
  EXPECT_EQ(at("1970-01-01T00:00:01.000000001Z"), 1'000'000'001);
  EXPECT_EQ(at("1970-01-01 00:00:00-05:00"), 5 * 3600'000'000'000);
  EXPECT_EQ(at("1970-01-01 00:00:00 +09"), -9 * 3600'000'000'000);
  EXPECT_EQ(at("1969-12-31 23:59:58.25"), -1'750'000'000);
  EXPECT_TRUE(ParseTimestamp("1970-01-01 00:00+0530")->instant);
  EXPECT_FALSE(ParseTimestamp("1970-01-01 00:00")->instant);
  for (const char* bad :
       {"1970-01-01 ", "1970-01-01 00", "1970-01-01 00:00:00X", "1970-01-01 00:00+5", "1970-01-01+05:00"}) {
    EXPECT_FALSE(ParseTimestamp(bad)) << bad;
  }
  EXPECT_TRUE(ParseTimestamp("9999-12-31 23:59:59.999999999-05:00"));
  auto i = ParseInterval("1 year 2 months -3 days 04:05:06.5");
  ASSERT_TRUE(i);
  EXPECT_EQ(i->months, 14);
  EXPECT_EQ(static_cast<int64_t>(i->nanos), -3 * 86400'000'000'000 + 14706'500'000'000);
  EXPECT_FALSE(ParseInterval(""));
  EXPECT_FALSE(ParseInterval("3"));
  EXPECT_FALSE(ParseInterval("1.5 months"));
}

TEST(Time, WallClockGapsMoveForwardAndOverlapsTakeTheEarlier) {
  auto zone = Zone::Load("America/New_York").ValueOrDie();
  auto instant = [&](const char* wall) {
    return static_cast<int64_t>(zone->ToInstant(ParseTimestamp(wall)->nanos).ValueOrDie() / kNanosPerSecond);
  };
  auto utc = [](const char* text) { return static_cast<int64_t>(ParseTimestamp(text)->nanos / kNanosPerSecond); };
  EXPECT_EQ(instant("2024-01-10 00:00"), utc("2024-01-10 05:00"));
  EXPECT_EQ(instant("2024-07-10 00:00"), utc("2024-07-10 04:00"));
  EXPECT_EQ(instant("2024-03-10 01:59:59"), utc("2024-03-10 06:59:59"));
  EXPECT_EQ(instant("2024-03-10 02:30"), utc("2024-03-10 07:30"));  // = 03:30 on the wall
  EXPECT_EQ(instant("2024-03-10 03:00"), utc("2024-03-10 07:00"));
  EXPECT_EQ(instant("2024-11-03 01:30"), utc("2024-11-03 05:30"));  // the earlier, still summer time
  EXPECT_EQ(instant("2024-11-03 02:00"), utc("2024-11-03 07:00"));
  EXPECT_EQ(instant("1900-01-01 00:00"), utc("1900-01-01 05:00"));
  EXPECT_EQ(*Zone::Load("+09:00").ValueOrDie()->fixed_offset(), 9 * 3600);
  EXPECT_FALSE(Zone::Load("Mars/Base").ok());
}

TEST(Text, FoldsSimply) {
  EXPECT_EQ(FoldCase("AbÉΣς"), "abéσσ");
  EXPECT_EQ(FoldCase("ß"), "ß");  // simple folding never changes the number of code points
  EXPECT_EQ(FoldCase("\xff"
                     "A"),
            "\xff"
            "a");
  EXPECT_EQ(CountCodePoints("é検a"), 3);
}

}  // namespace
}  // namespace pilum
