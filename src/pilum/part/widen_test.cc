// Widening holds every value exactly, in any order of the two; and a question about the wide column, put to the narrow
// one, has the same answer.
#include "pilum/part/widen.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include "pilum/index/index_test_data.h"
#include "pilum/part/union_schema.h"

namespace pilum {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;
using arrow::TimeUnit;

void ExpectCommon(const TypePtr& a, const TypePtr& b, const TypePtr& want) {
  for (const auto& got : {CommonType(a, b), CommonType(b, a)}) {
    if (!want) {
      EXPECT_EQ(got, nullptr) << a->ToString() << " with " << b->ToString() << " gives " << got->ToString();
    } else {
      ASSERT_NE(got, nullptr) << a->ToString() << " with " << b->ToString();
      EXPECT_TRUE(got->Equals(*want)) << a->ToString() << " with " << b->ToString() << " gives " << got->ToString();
    }
  }
}

TEST(CommonType, Table) {
  ExpectCommon(arrow::int8(), arrow::int32(), arrow::int32());
  ExpectCommon(arrow::uint8(), arrow::int8(), arrow::int16());
  ExpectCommon(arrow::uint32(), arrow::int32(), arrow::int64());
  ExpectCommon(arrow::uint16(), arrow::uint64(), arrow::uint64());
  ExpectCommon(arrow::int64(), arrow::uint64(), arrow::decimal128(20, 0));
  ExpectCommon(arrow::int8(), arrow::uint64(), arrow::decimal128(20, 0));
  ExpectCommon(arrow::float16(), arrow::float64(), arrow::float64());
  ExpectCommon(arrow::int8(), arrow::float16(), arrow::float16());
  ExpectCommon(arrow::int16(), arrow::float16(), arrow::float32());
  ExpectCommon(arrow::int32(), arrow::float32(), arrow::float64());
  ExpectCommon(arrow::uint32(), arrow::float64(), arrow::float64());
  ExpectCommon(arrow::int64(), arrow::float64(), nullptr);
  ExpectCommon(arrow::uint64(), arrow::float32(), nullptr);
  ExpectCommon(arrow::decimal128(5, 2), arrow::decimal128(6, 4), arrow::decimal128(7, 4));
  ExpectCommon(arrow::decimal128(38, 0), arrow::decimal128(10, 10), arrow::decimal256(48, 10));
  ExpectCommon(arrow::decimal256(76, 0), arrow::decimal128(10, 10), nullptr);
  ExpectCommon(arrow::int32(), arrow::decimal128(5, 2), arrow::decimal128(12, 2));
  ExpectCommon(arrow::float64(), arrow::decimal128(5, 2), nullptr);
  ExpectCommon(arrow::utf8(), arrow::large_utf8(), arrow::large_utf8());
  ExpectCommon(arrow::utf8_view(), arrow::utf8(), arrow::utf8());
  ExpectCommon(arrow::fixed_size_binary(4), arrow::fixed_size_binary(8), arrow::binary());
  ExpectCommon(arrow::fixed_size_binary(4), arrow::large_binary(), arrow::large_binary());
  ExpectCommon(arrow::utf8(), arrow::binary(), nullptr);
  ExpectCommon(arrow::boolean(), arrow::int8(), nullptr);
  ExpectCommon(arrow::date32(), arrow::date64(), arrow::date64());
  ExpectCommon(arrow::date32(), arrow::timestamp(TimeUnit::MILLI), nullptr);
  ExpectCommon(arrow::time32(TimeUnit::SECOND), arrow::time64(TimeUnit::MICRO), arrow::time64(TimeUnit::MICRO));
  ExpectCommon(arrow::timestamp(TimeUnit::SECOND), arrow::timestamp(TimeUnit::NANO), arrow::timestamp(TimeUnit::NANO));
  ExpectCommon(arrow::timestamp(TimeUnit::SECOND, "UTC"), arrow::timestamp(TimeUnit::SECOND), nullptr);
  ExpectCommon(arrow::duration(TimeUnit::SECOND), arrow::duration(TimeUnit::MICRO), arrow::duration(TimeUnit::MICRO));
  ExpectCommon(arrow::null(), arrow::list(arrow::int8()), arrow::list(arrow::int8()));
  ExpectCommon(arrow::dictionary(arrow::int8(), arrow::utf8()), arrow::utf8(), arrow::utf8());
  ExpectCommon(arrow::dictionary(arrow::int8(), arrow::int16()), arrow::dictionary(arrow::int16(), arrow::int64()),
               arrow::int64());
  ExpectCommon(arrow::list(arrow::int8()), arrow::large_list(arrow::int64()), arrow::large_list(arrow::int64()));
  ExpectCommon(arrow::fixed_size_list(arrow::float32(), 3), arrow::fixed_size_list(arrow::float64(), 3),
               arrow::fixed_size_list(arrow::float64(), 3));
  ExpectCommon(arrow::fixed_size_list(arrow::float32(), 3), arrow::fixed_size_list(arrow::float32(), 4), nullptr);
  ExpectCommon(arrow::map(arrow::utf8(), arrow::int8()), arrow::map(arrow::utf8(), arrow::int16()),
               arrow::map(arrow::utf8(), arrow::int16()));
  ExpectCommon(arrow::list(arrow::int8()), arrow::int8(), nullptr);
}

// Set in the wide type's normal form, from values around those of the array.
ValueSet SetAround(testdata::Rng& rng, const std::vector<std::optional<Value>>& values, Domain domain) {
  auto pick = [&]() {
    for (int i = 0; i < 30; ++i) {
      const auto& v = values[rng() % values.size()];
      if (!v) continue;
      const int64_t by = static_cast<int64_t>(rng() % 3) - 1;
      if (domain == Domain::kInt) return Value::Int(v->as_int() + by);
      if (domain == Domain::kFloat)
        return rng() % 9 == 0 ? Value::Float(std::nan("")) : Value::Float(v->as_float() + double(by) / 2);
      if (domain == Domain::kDecimal) return Value::Decimal(v->as_decimal() + arrow::Decimal256(by));
      return domain == Domain::kText ? Value::Text(v->as_bytes() + (by > 0 ? "x" : "")) : Value::Binary(v->as_bytes());
    }
    return domain == Domain::kInt      ? Value::Int(0)
           : domain == Domain::kFloat  ? Value::Float(0)
           : domain == Domain::kText   ? Value::Text("")
           : domain == Domain::kBinary ? Value::Binary("")
                                       : Value::Decimal(arrow::Decimal256(0));
  };
  ValueSet set;
  for (int i = 0; i < 3; ++i) {
    switch (rng() % 3) {
      case 0: set = set.Union(ValueSet::Of({Bound{pick(), rng() % 2 == 0}, Bound{pick(), rng() % 2 == 0}})); break;
      case 1: set = set.Union(ValueSet::Points({pick(), pick()})); break;
      default:
        if (rng() % 4 == 0) set = set.Union(ValueSet::Of({std::nullopt, Bound{pick(), rng() % 2 == 0}}));
    }
  }
  return rng() % 3 == 0 ? set.Complement() : set;
}

TEST(Widen, ValuesStayAndQuestionsMove) {
  testdata::Rng rng(77);
  std::vector<TypePtr> types = testdata::OrderedTypes();
  for (const TypePtr& more :
       std::vector<TypePtr>{arrow::time32(TimeUnit::SECOND), arrow::timestamp(TimeUnit::SECOND),
                            arrow::duration(TimeUnit::MILLI), arrow::decimal128(9, 5), arrow::decimal256(40, 0)}) {
    types.push_back(more);
  }
  int pairs = 0;
  for (const TypePtr& narrow : types) {
    for (const TypePtr& other : types) {
      const TypePtr wide = CommonType(narrow, other);
      if (!wide || wide->Equals(*narrow)) continue;
      ++pairs;
      const std::string what = narrow->ToString() + " as " + wide->ToString();
      auto array = testdata::RandomArray(rng, narrow, 300,
                                         rng() % 2 ? testdata::Spread::kFew : testdata::Spread::kAscending, 10);
      array = array->Slice(7, 250);
      auto widened = WidenArray(array, wide, arrow::default_memory_pool());
      ASSERT_TRUE(widened.ok()) << what << ": " << widened.status().ToString();
      ASSERT_TRUE((*widened)->type()->Equals(*wide)) << what;
      ASSERT_TRUE((*widened)->Validate().ok()) << what;
      std::vector<std::optional<Value>> own, wider;
      for (int64_t i = 0; i < array->length(); ++i) {
        own.push_back(ValueAt(*array, i).ValueOrDie());
        wider.push_back(ValueAt(**widened, i).ValueOrDie());
        ASSERT_EQ(own.back().has_value(), wider.back().has_value()) << what;
      }
      for (int q = 0; q < 60; ++q) {
        const ValueSet set = SetAround(rng, wider, DomainOf(*wide));
        const auto moved = NarrowSet(set, *wide, *narrow);
        ASSERT_TRUE(moved.has_value()) << what;
        for (size_t i = 0; i < own.size(); ++i) {
          if (!own[i]) continue;
          ASSERT_EQ(set.Contains(*wider[i]), moved->Contains(*own[i]))
              << what << " " << set.ToString() << " became " << moved->ToString() << " at " << own[i]->ToString();
        }
      }
    }
  }
  EXPECT_GT(pairs, 90);
}

// A long NOT IN: as many intervals as values.
TEST(Widen, ManyIntervalsCostLittle) {
  std::vector<Value> points;
  for (int i = 0; i < 100'000; ++i) points.push_back(Value::Float(i * 0.5));
  const ValueSet set = ValueSet::Points(points).Complement();
  const auto moved = NarrowSet(set, *arrow::float64(), *arrow::int32());
  ASSERT_TRUE(moved.has_value());
  EXPECT_FALSE(moved->Contains(Value::Int(49'999)));
  EXPECT_TRUE(moved->Contains(Value::Int(50'000)));
  EXPECT_TRUE(moved->Contains(Value::Int(-1)));
  EXPECT_EQ(moved->intervals().size(), 2u);
}

TEST(Widen, WhatDoesNotFitIsAnError) {
  auto far = arrow::json::ArrayFromJSONString(arrow::timestamp(TimeUnit::SECOND), "[10000000000000]").ValueOrDie();
  EXPECT_FALSE(WidenArray(far, arrow::timestamp(TimeUnit::NANO), arrow::default_memory_pool()).ok());
}

TEST(Widen, NestedSlices) {
  auto narrow = arrow::list(arrow::struct_({arrow::field("a", arrow::int8())}));
  auto wide = arrow::large_list(arrow::struct_({arrow::field("b", arrow::utf8()), arrow::field("a", arrow::int64())}));
  auto array = arrow::json::ArrayFromJSONString(narrow, "[[[1]],null,[[2],null,[null]],[]]").ValueOrDie()->Slice(1);
  auto got = WidenArray(array, wide, arrow::default_memory_pool()).ValueOrDie();
  ASSERT_TRUE(got->ValidateFull().ok());
  auto want = arrow::json::ArrayFromJSONString(wide, "[null,[[null,2],null,[null,null]],[]]").ValueOrDie();
  EXPECT_TRUE(got->Equals(*want)) << got->ToString();
  auto map = arrow::json::ArrayFromJSONString(arrow::map(arrow::utf8(), arrow::int8()), R"([[["x",1]],null,[["y",2]]])")
                 .ValueOrDie()
                 ->Slice(1);
  auto map_type = arrow::map(arrow::utf8(), arrow::int32());
  auto wide_map = WidenArray(map, map_type, arrow::default_memory_pool()).ValueOrDie();
  EXPECT_TRUE(wide_map->Equals(*arrow::json::ArrayFromJSONString(map_type, R"([null,[["y",2]]])").ValueOrDie()));
  auto fixed = arrow::json::ArrayFromJSONString(arrow::fixed_size_list(arrow::int8(), 2), "[[1,2],null,[3,4]]")
                   .ValueOrDie()
                   ->Slice(1);
  auto fixed_type = arrow::fixed_size_list(arrow::float32(), 2);
  auto wide_fixed = WidenArray(fixed, fixed_type, arrow::default_memory_pool()).ValueOrDie();
  EXPECT_TRUE(wide_fixed->Equals(*arrow::json::ArrayFromJSONString(fixed_type, "[null,[3,4]]").ValueOrDie()));
}

TEST(UnionSchema, OrderNullabilityAndNames) {
  auto a = arrow::schema({arrow::field("x", arrow::int8(), false), arrow::field("y", arrow::utf8(), false)});
  auto b = arrow::schema({arrow::field("z", arrow::int8()), arrow::field("x", arrow::int16(), false)});
  auto both = UnionSchema::Of({{"part 1", a}, {"part 2", b}, {"part 3", b}});
  EXPECT_EQ(both.schema->field_names(), (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_FALSE(both.schema->field(0)->nullable());
  EXPECT_TRUE(both.schema->field(1)->nullable()) << "a part lacks it";
  EXPECT_TRUE(both.clashes.empty());
  auto c = arrow::schema({arrow::field("x", arrow::utf8())});
  auto clash = UnionSchema::Of({{"part 1", a}, {"part 2", b}, {"part 3", c}, {"part 4", c}});
  ASSERT_EQ(clash.clashes.count("x"), 1u);
  EXPECT_NE(clash.clashes["x"].find("part 1"), std::string::npos);
  EXPECT_NE(clash.clashes["x"].find("part 3"), std::string::npos);
  auto twice = arrow::schema({arrow::field("x", arrow::int8()), arrow::field("x", arrow::int8())});
  EXPECT_EQ(UnionSchema::Of({{"part 1", twice}}).clashes.count("x"), 1u);
}

}  // namespace
}  // namespace pilum
