#include "pilum/values/value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include <arrow/json/from_string.h>

namespace pilum {
namespace {

std::string HashHex(const Value& v, int32_t scale = 0) {
  std::string bytes, hex;
  AppendHashBytes(v, scale, &bytes);
  for (unsigned char c : bytes) hex += fmt::format("{:02x}", c);
  return hex;
}

arrow::Decimal256 Dec(int64_t v) { return arrow::Decimal256(arrow::Decimal128(v)); }

TEST(Value, HashBytesAreGolden) {
  EXPECT_EQ(HashHex(Value::Int(5)), "0105000000000000000000000000000000");
  EXPECT_EQ(HashHex(Value::Int(-1)), "01ffffffffffffffffffffffffffffffff");
  EXPECT_EQ(HashHex(Value::Int(std::numeric_limits<uint64_t>::max())), "01ffffffffffffffff0000000000000000");
  EXPECT_EQ(HashHex(Value::Float(-0.0)), "020000000000000000");
  EXPECT_EQ(HashHex(Value::Float(1.5)), "02000000000000f83f");
  EXPECT_EQ(HashHex(Value::Float(-std::nan(""))), "02000000000000f87f");
  EXPECT_EQ(HashHex(Value::Decimal(Dec(110)), 2), "03010b");
  EXPECT_EQ(HashHex(Value::Decimal(Dec(11)), 1), "03010b");
  EXPECT_EQ(HashHex(Value::Decimal(Dec(10000)), 2), "03fe01");
  EXPECT_EQ(HashHex(Value::Decimal(Dec(0)), 7), "030000");
  EXPECT_EQ(HashHex(Value::Decimal(Dec(-128)), 0), "030080");
  EXPECT_EQ(HashHex(Value::Decimal(Dec(128)), 0), "03008000");
  EXPECT_EQ(HashHex(Value::Text("é")), "04c3a9");
  EXPECT_EQ(HashHex(Value::Binary(std::string("\0\xff", 2))), "0500ff");
}

TEST(Value, OneOrderOfFloats) {
  double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  std::vector<double> order = {-inf, -1, 0, 1, inf, nan};
  for (size_t i = 0; i < order.size(); ++i) {
    for (size_t j = 0; j < order.size(); ++j) {
      EXPECT_EQ(CompareFloat(order[i], order[j]), i < j ? -1 : i > j) << i << " " << j;
    }
  }
  EXPECT_EQ(CompareFloat(nan, -nan), 0);
  EXPECT_EQ(CompareFloat(-0.0, 0.0), 0);
}

std::string At(const std::shared_ptr<arrow::DataType>& type, const char* json, int64_t i = 0) {
  auto array = arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
  auto v = ValueAt(*array, i).ValueOrDie();
  return v ? v->ToString() : "null";
}

TEST(Value, EveryTypeHasItsNormalForm) {
  EXPECT_EQ(At(arrow::boolean(), "[true]"), "1");
  EXPECT_EQ(At(arrow::int8(), "[-128]"), "-128");
  EXPECT_EQ(At(arrow::uint16(), "[65535]"), "65535");
  EXPECT_EQ(At(arrow::int64(), "[-9223372036854775808]"), "-9223372036854775808");
  EXPECT_EQ(At(arrow::uint64(), "[18446744073709551615]"), "18446744073709551615");
  EXPECT_EQ(At(arrow::date32(), "[7]"), "7");
  EXPECT_EQ(At(arrow::date64(), "[86400000]"), "86400000");
  EXPECT_EQ(At(arrow::time32(arrow::TimeUnit::SECOND), "[9]"), "9");
  EXPECT_EQ(At(arrow::time64(arrow::TimeUnit::NANO), "[9]"), "9");
  EXPECT_EQ(At(arrow::timestamp(arrow::TimeUnit::MICRO, "America/New_York"), "[11]"), "11");
  EXPECT_EQ(At(arrow::duration(arrow::TimeUnit::MILLI), "[-4]"), "-4");
  EXPECT_EQ(At(arrow::float16(), "[1.5]"), "1.5");
  EXPECT_EQ(At(arrow::float32(), "[0.5]"), "0.5");
  EXPECT_EQ(At(arrow::float64(), "[-0.0]"), "0");
  EXPECT_EQ(At(arrow::decimal32(5, 2), "[\"1.10\"]"), "110u");
  EXPECT_EQ(At(arrow::decimal64(12, 2), "[\"-1.10\"]"), "-110u");
  EXPECT_EQ(At(arrow::decimal128(12, 2), "[\"-2.50\"]"), "-250u");
  EXPECT_EQ(At(arrow::decimal256(60, 1), "[\"2.5\"]"), "25u");
  EXPECT_EQ(At(arrow::utf8(), "[\"a\"]"), "'a'");
  EXPECT_EQ(At(arrow::large_utf8(), "[\"a\"]"), "'a'");
  EXPECT_EQ(At(arrow::utf8_view(), "[\"a\"]"), "'a'");
  EXPECT_EQ(At(arrow::binary(), "[\"a\"]"), "x'61'");
  EXPECT_EQ(At(arrow::large_binary(), "[\"a\"]"), "x'61'");
  EXPECT_EQ(At(arrow::binary_view(), "[\"a\"]"), "x'61'");
  EXPECT_EQ(At(arrow::fixed_size_binary(2), "[\"ab\"]"), "x'6162'");
  EXPECT_EQ(At(arrow::dictionary(arrow::int8(), arrow::utf8()), "[\"x\", null]"), "'x'");
  EXPECT_EQ(At(arrow::dictionary(arrow::int8(), arrow::utf8()), "[\"x\", null]", 1), "null");
  for (auto t : {arrow::list(arrow::int8()), arrow::struct_({}), arrow::null(), arrow::month_interval()}) {
    EXPECT_FALSE(IsNormalizable(*t)) << t->ToString();
  }
  EXPECT_FALSE(ValueAt(*arrow::MakeArrayOfNull(arrow::list(arrow::int8()), 1).ValueOrDie(), 0).ok());
}

// Random sets beside brute force over a small universe. For floats and text the universe has the gaps between too.
struct Universe {
  std::vector<Value> values;
};

Universe Ints() {
  Universe u;
  for (int i = -3; i <= 12; ++i) u.values.push_back(Value::Int(i));
  return u;
}
Universe Floats() {
  Universe u;
  double inf = std::numeric_limits<double>::infinity();
  u.values.push_back(Value::Float(-inf));
  for (double d = -2; d <= 4; d += 0.5) u.values.push_back(Value::Float(d));
  u.values.push_back(Value::Float(inf));
  u.values.push_back(Value::Float(std::nan("")));
  return u;
}
Universe Texts() {
  Universe u;
  for (const char* s : {"", "a", "aa", "ab", "b", "é", "\xff"}) u.values.push_back(Value::Text(s));
  return u;
}

class Algebra : public ::testing::TestWithParam<int> {};

ValueSet RandomSet(const Universe& u, std::mt19937& rng) {
  auto pick = [&] { return u.values[rng() % u.values.size()]; };
  switch (rng() % 6) {
    case 0: return ValueSet::None();
    case 1: return ValueSet::All();
    case 2: {
      std::vector<Value> points;
      for (unsigned i = 0; i < rng() % 5; ++i) points.push_back(pick());
      return ValueSet::Points(points);
    }
    default: {
      Interval i;
      if (rng() % 4) i.lower = Bound{pick(), rng() % 2 == 0};
      if (rng() % 4) i.upper = Bound{pick(), rng() % 2 == 0};
      return ValueSet::Of(i);
    }
  }
}

TEST_P(Algebra, AgreesWithBruteForce) {
  Universe u = GetParam() == 0 ? Ints() : GetParam() == 1 ? Floats() : Texts();
  std::mt19937 rng(7 + GetParam());
  std::vector<std::pair<ValueSet, std::vector<bool>>> pool;
  auto members = [&](const ValueSet& s) {
    std::vector<bool> m;
    for (const auto& v : u.values) m.push_back(s.Contains(v));
    return m;
  };
  for (int i = 0; i < 40; ++i) {
    auto s = RandomSet(u, rng);
    std::vector<bool> brute;
    for (const auto& v : u.values) {
      bool in = false;
      for (const auto& x : s.intervals()) {
        bool low = !x.lower || Compare(x.lower->value, v) < 0 || (x.lower->inclusive && x.lower->value == v);
        bool high = !x.upper || Compare(v, x.upper->value) < 0 || (x.upper->inclusive && x.upper->value == v);
        in |= low && high;
      }
      brute.push_back(in);
    }
    EXPECT_EQ(members(s), brute) << s.ToString();
    pool.emplace_back(s, brute);
  }
  for (int step = 0; step < 3000; ++step) {
    auto [a, ma] = pool[rng() % pool.size()];
    auto [b, mb] = pool[rng() % pool.size()];
    ValueSet s;
    std::vector<bool> m(u.values.size());
    int op = rng() % 4;
    std::vector<Interval> both(b.intervals());
    both.insert(both.end(), a.intervals().begin(), a.intervals().end());
    s = op == 0 ? a.Union(b) : op == 1 ? a.Intersect(b) : op == 2 ? a.Complement() : ValueSet::OfAll(both);
    for (size_t i = 0; i < m.size(); ++i) m[i] = op == 1 ? ma[i] && mb[i] : op == 2 ? !ma[i] : ma[i] || mb[i];
    ASSERT_EQ(members(s), m) << a.ToString() << " op " << op << " " << b.ToString() << " = " << s.ToString();
    for (size_t i = 1; i < s.intervals().size(); ++i) {
      ASSERT_LT(Compare(s.intervals()[i - 1].upper->value, s.intervals()[i].lower->value), 1);
    }
    size_t lo = rng() % m.size(), hi = lo + rng() % (m.size() - lo);
    bool any = false, all = true;
    for (size_t i = lo; i <= hi; ++i) any |= m[i], all &= m[i];
    EXPECT_TRUE(!any || s.Overlaps(u.values[lo], u.values[hi])) << s.ToString();
    EXPECT_TRUE(all || !s.Covers(u.values[lo], u.values[hi])) << s.ToString();
    if (GetParam() == 0) {  // the universe holds every integer between, so both are exact
      EXPECT_EQ(s.Overlaps(u.values[lo], u.values[hi]), any);
      EXPECT_EQ(s.Covers(u.values[lo], u.values[hi]), all) << s.ToString() << lo << " " << hi;
    }
    pool[rng() % pool.size()] = {s, m};
  }
}
INSTANTIATE_TEST_SUITE_P(Domains, Algebra, ::testing::Values(0, 1, 2));

TEST(ValueSet, PointsSurvive) {
  auto s = ValueSet::Points({Value::Int(2), Value::Int(1), Value::Int(2), Value::Int(3)});
  ASSERT_TRUE(s.AsPoints());
  EXPECT_EQ(s.AsPoints()->size(), 3u);
  EXPECT_TRUE(s.Covers(Value::Int(1), Value::Int(3)));
  EXPECT_FALSE(s.Covers(Value::Int(0), Value::Int(3)));
  EXPECT_FALSE(s.Complement().AsPoints());
  EXPECT_EQ(ValueSet::All().Complement().ToString(), "nothing");
}

}  // namespace
}  // namespace pilum
