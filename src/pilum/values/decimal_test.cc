#include "pilum/values/decimal.h"

#include <gtest/gtest.h>

#include <random>
#include <tuple>

namespace pilum {
namespace {

using arrow::Decimal256;

Decimal256 Dec(const char* text) { return Decimal256::FromString(text).ValueOrDie(); }

void ExpectDivides(const Decimal256& a, const Decimal256& b) {
  const auto got = DivideDecimal(a, b);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->quotient * b + got->rest, a) << a.ToIntegerString() << " / " << b.ToIntegerString();
  EXPECT_LT(Decimal256::Abs(got->rest), Decimal256::Abs(b)) << a.ToIntegerString() << " / " << b.ToIntegerString();
  const Decimal256 zero(0);
  EXPECT_TRUE(got->rest == zero || (got->rest < zero) == (a < zero));
}

TEST(DivideDecimal, WhereArrowIsWrong) {
  for (int scale = 0; scale <= 47; ++scale) {
    const Decimal256 unit(Decimal256::GetScaleMultiplier(scale));
    for (const char* text :
         {"18446744073709551615", "18446744073709551614", "4294967295", "79228162514264337593543950335"}) {
      const auto got = DivideDecimal(Dec(text) * unit, unit);
      ASSERT_TRUE(got);
      EXPECT_EQ(got->quotient, Dec(text)) << scale;
      EXPECT_EQ(got->rest, Decimal256(0)) << scale;
    }
  }
}

TEST(DivideDecimal, TruncatesTowardZeroAndTheRestHasTheDividendsSign) {
  const auto check = [](const char* a, const char* b, const char* q, const char* rest) {
    const auto got = DivideDecimal(Dec(a), Dec(b));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->quotient, Dec(q)) << a << " / " << b;
    EXPECT_EQ(got->rest, Dec(rest)) << a << " / " << b;
  };
  check("7", "2", "3", "1");
  check("-7", "2", "-3", "-1");
  check("7", "-2", "-3", "1");
  check("-7", "-2", "3", "-1");
  check("0", "-5", "0", "0");
  check("5", "100000000000000000000000000000000000000", "0", "5");
  check("-100000000000000000000000000000000000000", "-100000000000000000000000000000000000000", "1", "0");
  EXPECT_FALSE(DivideDecimal(Dec("1"), Dec("0")));
}

TEST(DivideRounded, HalfAwayFromZero) {
  for (const auto& [a, b, q] : {std::tuple{"5", "2", "3"},
                                {"-5", "2", "-3"},
                                {"5", "-2", "-3"},
                                {"-5", "-2", "3"},
                                {"4", "3", "1"},
                                {"-4", "3", "-1"},
                                {"1", "3", "0"},
                                {"-1", "2", "-1"},
                                {"0", "-7", "0"},
                                {"6", "2", "3"}}) {
    EXPECT_EQ(*DivideRounded(Dec(a), Dec(b)), Dec(q)) << a << " / " << b;
  }
  EXPECT_FALSE(DivideRounded(Dec("1"), Dec("0")));
}

TEST(DivideDecimal, RandomOperands) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i) {
    std::array<uint64_t, 4> words[2] = {};
    for (auto& w : words) {
      for (size_t k = 0; k <= random() % 4; ++k)
        w[k] = random() % 5 == 0 ? ~uint64_t{0} - random() % 2 : random() >> random() % 64;
      w[3] >>= 1;
    }
    Decimal256 a(Decimal256::LittleEndianArray, words[0]), b(Decimal256::LittleEndianArray, words[1]);
    if (random() % 2) a.Negate();
    if (random() % 2) b.Negate();
    if (b != Decimal256(0)) ExpectDivides(a, b);
  }
}

}  // namespace
}  // namespace pilum
