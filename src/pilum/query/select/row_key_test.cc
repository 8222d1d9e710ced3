#include "pilum/query/select/row_key.h"

#include <random>

#include <arrow/array.h>
#include <arrow/json/from_string.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include "pilum/query/evaluate.h"
#include "pilum/query/select/group_table.h"
#include "pilum/values/value.h"

namespace pilum {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

ArrayPtr Json(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

// Values in the one order, then NULL: every pair of keys compares as their places do.
void CheckOrder(const ArrayPtr& sorted, const std::vector<int>& places) {
  for (bool descending : {false, true}) {
    const KeyOrder order{descending, false};
    auto keys = RowKeys::Encode({sorted}, {&order, 1}, sorted->length()).ValueOrDie();
    for (size_t i = 0; i < keys.size(); ++i) {
      for (size_t k = 0; k < keys.size(); ++k) {
        const bool null = sorted->IsNull(static_cast<int64_t>(i)) || sorted->IsNull(static_cast<int64_t>(k));
        const int want = (places[i] > places[k]) - (places[i] < places[k]);
        const int got = keys[i].compare(keys[k]);
        EXPECT_EQ((got > 0) - (got < 0), descending && !null ? -want : want)
            << sorted->ToString() << " " << i << " " << k << (descending ? " descending" : "");
      }
    }
  }
}

std::vector<int> Rising(int64_t n) {
  std::vector<int> out;
  for (int i = 0; i < n; ++i) out.push_back(i);
  return out;
}

TEST(RowKeys, OneOrderOfEachType) {
  for (const auto& a : {
           Json(arrow::int8(), "[-128, -1, 0, 1, 127, null]"),
           Json(arrow::int64(), "[-9223372036854775808, -1, 0, 5, 9223372036854775807, null]"),
           Json(arrow::uint64(), "[0, 1, 9223372036854775807, 9223372036854775808, 18446744073709551615, null]"),
           Json(arrow::boolean(), "[false, true, null]"),
           Json(arrow::float64(), "[-Inf, -1e300, -1, -5e-324, 0, 5e-324, 1, Inf, NaN, null]"),
           Json(arrow::float32(), "[-Inf, -2.5, 0, 2.5, Inf, NaN, null]"),
           Json(arrow::decimal128(10, 2), R"(["-99999999.99", "-0.01", "0.00", "0.01", "99999999.99", null])"),
           Json(arrow::utf8(),
                R"(["", "\u0000", "\u0000\u0000", "\u0000a", "a", "a\u0000", "a\u0000b", "aa", "b", "é", null])"),
           Json(arrow::timestamp(arrow::TimeUnit::MICRO),
                R"(["1969-12-31 23:59:59", "1970-01-01", "2024-02-29", null])"),
       }) {
    CheckOrder(a, Rising(a->length()));
  }
  CheckOrder(Json(arrow::float64(), "[-0.0, 0.0, NaN, NaN]"), {0, 0, 1, 1});
}

TEST(RowKeys, LaterColumnsDecideTies) {
  auto a = Json(arrow::utf8(), R"(["a", "a", "ab", null, null])");
  auto b = Json(arrow::int32(), "[1, 2, 0, 5, 4]");
  auto keys = RowKeys::Encode({a, b}, {}, 5).ValueOrDie();
  EXPECT_LT(keys[0], keys[1]);
  EXPECT_LT(keys[1], keys[2]);
  EXPECT_LT(keys[2], keys[4]);
  EXPECT_LT(keys[4], keys[3]);
  const std::vector<KeyOrder> orders = {{false, true}, {true, false}};
  auto first = RowKeys::Encode({a, b}, orders, 5).ValueOrDie();
  EXPECT_LT(first[3], first[4]);
  EXPECT_LT(first[4], first[1]);
  EXPECT_LT(first[1], first[0]);
}

TEST(RowKeys, WhatHasNoOrderIsRefused) {
  auto lists = Json(arrow::list(arrow::int32()), "[[1]]");
  EXPECT_FALSE(RowKeys::CanEncode(*lists->type()));
  EXPECT_FALSE(RowKeys::Encode({lists}, {}, 1).ok());
}

TEST(GroupTable, NumbersKeysInOrderOfAppearance) {
  GroupTable table;
  std::mt19937 random(7);
  std::map<std::string, uint32_t> want;
  for (int i = 0; i < 20'000; ++i) {
    std::string key(random() % 4, 'x');
    key += std::to_string(random() % 3000);
    bool fresh = false;
    const uint32_t got = table.Find(key, &fresh);
    auto [it, added] = want.emplace(key, static_cast<uint32_t>(want.size()));
    ASSERT_EQ(got, it->second);
    ASSERT_EQ(fresh, added);
    ASSERT_EQ(table.key(got), key);
  }
  EXPECT_EQ(table.size(), want.size());
}

}  // namespace
}  // namespace pilum
