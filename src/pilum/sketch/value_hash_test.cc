#include "pilum/sketch/value_hash.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "pilum/sketch/bloom.h"

namespace pilum {
namespace {

void ExpectSame(const Value& v, int32_t scale = 0) {
  std::string bytes;
  AppendHashBytes(v, scale, &bytes);
  EXPECT_EQ(HashValue(v, scale), BloomFilter::HashOf(bytes)) << v.ToString() << " scale " << scale;
}

TEST(ValueHash, EqualsTheHashOfTheHashBytes) {
  std::mt19937_64 rng(5);
  for (int64_t v : {0l, 1l, -1l, 127l, 128l, -128l, -129l, 255l, 256l, 100l, -1000l,
                    std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    ExpectSame(Value::Int(v));
    ExpectSame(Value::Int(static_cast<Int128>(static_cast<uint64_t>(v))));
    for (int32_t scale : {0, 2, 38, -3}) ExpectSame(Value::Decimal(arrow::Decimal256(v)), scale);
  }
  for (int i = 0; i < 2000; ++i) {
    const int64_t v = static_cast<int64_t>(rng()) >> (rng() % 64);
    ExpectSame(Value::Int(v));
    ExpectSame(Value::Float(static_cast<double>(v) / 7));
    ExpectSame(Value::Decimal(arrow::Decimal256(v)), static_cast<int32_t>(rng() % 10));
    ExpectSame(Value::Decimal(arrow::Decimal256(v) * arrow::Decimal256(static_cast<int64_t>(rng()))), 5);
    std::string s(rng() % 600, 0);
    for (char& c : s) c = static_cast<char>(rng());
    ExpectSame(Value::Text(s));
    ExpectSame(Value::Binary(s));
  }
  for (double d : {0.0, -0.0, 1e300, std::numeric_limits<double>::infinity(), std::nan("7")})
    ExpectSame(Value::Float(d));
  EXPECT_EQ(HashFloat(-0.0), HashFloat(0.0));
  EXPECT_EQ(HashDecimal(arrow::Decimal256(1200), 2), HashDecimal(arrow::Decimal256(12), 0));
}

}  // namespace
}  // namespace pilum
