// Disjoint ranges of a time column: what they hold, what they leave out, hostile bytes.
#include "pilum/index/value_ranges.h"

#include <gtest/gtest.h>

#include <arrow/api.h>

#include <random>

namespace pilum {
namespace {

std::shared_ptr<arrow::Array> Times(const std::vector<int64_t>& v) {
  arrow::Int64Builder b;
  EXPECT_TRUE(b.AppendValues(v).ok());
  return b.Finish().ValueOrDie()->View(arrow::timestamp(arrow::TimeUnit::SECOND)).ValueOrDie();
}

ValueRanges Of(const std::vector<int64_t>& v, int64_t step = 1'000'000) {
  ValueRangesBuilder builder;
  const auto array = Times(v);
  for (int64_t at = 0; at < array->length(); at += step)
    builder.Append(*array->Slice(at, std::min(step, array->length() - at)));
  return builder.Finish();
}

TEST(ValueRanges, OneLateRowIsARangeOfItsOwn) {
  std::vector<int64_t> v;
  for (int64_t i = 0; i < 5000; ++i) v.push_back(1'000'000 + i * 10);
  v[2500] = 5;
  const ValueRanges r = Of(v);
  EXPECT_FALSE(r.MayOverlap(ValueSet::Of({Bound{Value::Int(100), true}, Bound{Value::Int(900'000), true}})));
  EXPECT_TRUE(r.MayOverlap(ValueSet::Point(Value::Int(5))));
  EXPECT_TRUE(r.MayOverlap(ValueSet::Of({Bound{Value::Int(1'020'000), true}, std::nullopt})));
  EXPECT_TRUE(r.MayOverlap(ValueSet::Point(Value::Text("x")))) << "another domain is no proof";
}

TEST(ValueRanges, HoldEveryValueWhateverTheBatches) {
  std::mt19937_64 rng(1);
  for (int round = 0; round < 60; ++round) {
    std::vector<int64_t> v(1 + rng() % 5000);
    int64_t at = 0;
    for (auto& x : v) {
      at += static_cast<int64_t>(rng() % (round % 3 ? 5 : 100000));
      if (rng() % 300 == 0) at = static_cast<int64_t>(rng());
      if (round % 5 == 0 && rng() % 100 == 0) at = rng() % 2 ? INT64_MAX : INT64_MIN;
      x = at;
      if (at > INT64_MAX / 2) at = 0;
    }
    const ValueRanges whole = Of(v);
    EXPECT_LE(whole.ranges().size(), ValueRanges::kMost);
    EXPECT_EQ(whole.ranges(), Of(v, 1 + static_cast<int64_t>(rng() % 700)).ranges());
    for (int64_t x : v) ASSERT_TRUE(whole.MayOverlap(ValueSet::Point(Value::Int(x))));
    const auto back = ValueRanges::FromBytes(whole.ToBytes(), "mem").ValueOrDie();
    EXPECT_EQ(back.ranges(), whole.ranges());
    EXPECT_TRUE(back.Covers(whole));
  }
}

TEST(ValueRanges, HostileBytes) {
  std::mt19937_64 rng(2);
  const std::string good = Of({1, 100, 10000, -5}).ToBytes();
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    bad[rng() % bad.size()] = static_cast<char>(rng());
    if (i % 3 == 0) bad.resize(rng() % (bad.size() + 1));
    auto read = ValueRanges::FromBytes(bad, "mem");
    if (!read.ok()) {
      EXPECT_NE(read.status().message().find("mem"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace pilum
