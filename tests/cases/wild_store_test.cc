// Filters that gave wrong answers in other systems once an index took part, each with the right answer (the numbers are
// those of the list of wild cases): as one part, as a part a row, with and without sidecars.
#include <gtest/gtest.h>

#include <algorithm>

#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>

#include "pilum/part/part_store.h"
#include "pilum/query/query.h"

namespace pilum {
namespace {

using arrow::TimeUnit;
using ArrayPtr = std::shared_ptr<arrow::Array>;
using Ids = std::vector<int64_t>;

ArrayPtr Json(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

ArrayPtr Texts(const std::vector<std::string>& texts) {
  arrow::StringBuilder builder;
  EXPECT_TRUE(builder.AppendValues(texts).ok());
  return builder.Finish().ValueOrDie();
}

// Rows of one column, numbered from 0 in a column `id`; each put makes a part of `rows_each` rows.
std::shared_ptr<PartStore> StoreOf(const std::string& column, const ArrayPtr& values, int64_t rows_each) {
  auto store = PartStore::OpenIn(ObjectStore::Memory(), "d").ValueOrDie();
  auto schema = arrow::schema({arrow::field("id", arrow::int64()), arrow::field(column, values->type())});
  for (int64_t at = 0; at < values->length(); at += rows_each) {
    arrow::Int64Builder ids;
    const int64_t n = std::min(rows_each, values->length() - at);
    for (int64_t i = at; i < at + n; ++i) EXPECT_TRUE(ids.Append(i).ok());
    auto batch = arrow::RecordBatch::Make(schema, n, {ids.Finish().ValueOrDie(), values->Slice(at, n)});
    auto reader = arrow::RecordBatchReader::Make({batch}, schema).ValueOrDie();
    ReadContext ctx;
    auto put = store->Put(*reader, {}, ctx);
    EXPECT_TRUE(put.ok()) << put.status().ToString();
  }
  return store;
}

Ids Matching(const PartStore& store, const std::string& where, bool use_index) {
  ReadContext ctx;
  auto snapshot = store.OpenSnapshot(use_index, ctx).ValueOrDie();
  auto query = BindQuery("SELECT id FROM t WHERE " + where, *snapshot, {});
  if (!query.ok()) {
    ADD_FAILURE() << where << ": " << query.status().ToString();
    return {-1};
  }
  QueryOptions options;
  options.use_index = use_index;
  auto result = RunQuery(snapshot, std::move(*query), options, ctx).ValueOrDie();
  Ids ids;
  while (auto batch = result->Next().ValueOrDie()) {
    const auto& column = static_cast<const arrow::Int64Array&>(*batch->column(0));
    for (int64_t i = 0; i < column.length(); ++i) ids.push_back(column.Value(i));
  }
  EXPECT_TRUE(result->counts().notes.empty()) << result->counts().notes[0];
  std::sort(ids.begin(), ids.end());
  return ids;
}

struct Filter {
  std::string where;
  Ids rows;
};

void ExpectRows(const std::string& column, const ArrayPtr& values, const std::vector<Filter>& filters) {
  for (int64_t rows_each : {values->length(), int64_t{1}, int64_t{3}}) {
    auto store = StoreOf(column, values, rows_each);
    for (const Filter& f : filters) {
      for (bool use_index : {true, false}) {
        EXPECT_EQ(Matching(*store, f.where, use_index), f.rows)
            << f.where << ", parts of " << rows_each << (use_index ? " with sidecars" : " without");
      }
    }
  }
}

TEST(WildStore, W01NotOverNullableBool) {
  ExpectRows(
      "v", Json(arrow::boolean(), "[true,false,null]"),
      {{"NOT v", {1}}, {"v IS NOT TRUE", {1, 2}}, {"v = false OR v IS NULL", {1, 2}}, {"v IS NOT FALSE", {0, 2}}});
}

TEST(WildStore, W03W04W05Nulls) {
  ExpectRows("c", Json(arrow::utf8(), R"([null,"a",""])"),
             {{"c != 'x'", {1, 2}}, {"c = ''", {2}}, {"c != ''", {1}}, {"c < 'a'", {2}}, {"NOT (c = 'x')", {1, 2}}});
  ExpectRows("x", Json(arrow::int64(), "[1,2,null,3]"),
             {{"x IN (1,2,NULL)", {0, 1}},
              {"x NOT IN (1,2)", {3}},
              {"x NOT IN (1,2,NULL)", {}},
              {"x = NULL", {}},
              {"x IS NOT DISTINCT FROM NULL", {2}},
              {"x IS DISTINCT FROM 1", {1, 2, 3}},
              {"x NOT BETWEEN 2 AND 3", {0}},
              {"NOT (x > 1 AND x < 3)", {0, 3}},
              {"NOT (x > 1 OR x IS NULL)", {0}}});
  ExpectRows("v", Json(arrow::float64(), "[1,2,null]"),
             {{"v IS NOT NULL", {0, 1}}, {"NOT (v IS NULL)", {0, 1}}, {"v IS NOT NULL AND v > 1", {1}}});
}

TEST(WildStore, W07NaN) {
  arrow::DoubleBuilder builder;
  ASSERT_TRUE(builder.AppendValues({-std::nan(""), std::nan(""), 1, 2}).ok());
  ExpectRows(
      "x", builder.Finish().ValueOrDie(),
      {{"x > 1", {0, 1, 3}}, {"x < 1", {}}, {"x = 'NaN'", {0, 1}}, {"x <> 'NaN'", {2, 3}}, {"NOT (x > 1)", {2}}});
}

TEST(WildStore, W08W43W48Numbers) {
  ExpectRows("u", Json(arrow::uint64(), "[1,9223372036854775808,18446744073709551614]"),
             {{"u = 18446744073709551614", {2}}, {"u >= 9223372036854775808", {1, 2}}, {"u > -1", {0, 1, 2}}});
  for (const auto& type : {arrow::decimal128(10, 2), arrow::decimal256(50, 2)}) {
    ExpectRows("d", Json(type, R"(["1.10","-2.50",null,"100.00"])"),
               {{"d = 1.1", {0}},
                {"d > 1.105", {3}},
                {"d IN (1.1,100)", {0, 3}},
                {"d != 1.1", {1, 3}},
                {"d > -3", {0, 1, 3}}});
  }
  ExpectRows("i8", Json(arrow::int8(), "[-5,0,100]"),
             {{"i8 < 1000", {0, 1, 2}}, {"i8 = 300", {}}, {"i8 != 300", {0, 1, 2}}, {"i8 > 0.5", {2}}});
  ExpectRows("f", Json(arrow::float32(), "[0.1,0.2,3e38]"),
             {{"f = 0.1", {0}}, {"f > 0.1", {1, 2}}, {"f < 1e300", {0, 1, 2}}});
}

TEST(WildStore, W11W44TextInside) {
  ExpectRows("s", Json(arrow::utf8(), R"(["abcd","xaby","日本語テキスト",null])"),
             {{"contains(s, 'ab')", {0, 1}},
              {"contains(s, 'a')", {0, 1}},
              {"contains(s, '')", {0, 1, 2}},
              {"contains(s, '日')", {2}},
              {"contains(s, 'ABC')", {}},
              {"NOT contains(s, 'abc')", {1, 2}},
              {"s ILIKE '%ABC%'", {0}}});
  ExpectRows("s", Json(arrow::utf8(), R"(["abc","a_c","a%c","ab","","a\\c","ABC","äbc","a\nc",null])"),
             {{"s LIKE 'a_c'", {0, 1, 2, 5, 8}},
              {"s LIKE 'a\\_c'", {1}},
              {"s LIKE 'a\\%%'", {2}},
              {"s LIKE ''", {4}},
              {"s NOT LIKE 'a%'", {4, 6, 7}},
              {"s NOT LIKE 'a%c'", {3, 4, 6, 7}},
              {"s ILIKE 'abc'", {0, 6}}});
}

TEST(WildStore, W45LongSharedPrefixes) {
  const std::string a(300, 'a');
  std::string top;
  for (int i = 0; i < 40; ++i) top += "\xF4\x8F\xBF\xBF";
  ExpectRows("s", Texts({a + "b", a + "c", a, top + "x"}),
             {{"s > '" + a + "b'", {1, 3}},
              {"s = '" + a + "c'", {1}},
              {"s >= '" + a + "'", {0, 1, 2, 3}},
              {"s != '" + a + "'", {0, 1, 3}},
              {"s LIKE '" + a + "c%'", {1}}});
}

TEST(WildStore, W47EqualityOfEveryType) {
  struct Case {
    std::shared_ptr<arrow::DataType> type;
    const char *json, *literal;
  };
  const std::vector<Case> cases = {{arrow::int8(), "[-9,-7,null]", "-7"},
                                   {arrow::int16(), "[1,300,null]", "300"},
                                   {arrow::uint8(), "[1,200,null]", "200"},
                                   {arrow::uint16(), "[1,60000,null]", "60000"},
                                   {arrow::date32(), "[0,19723,null]", "'2024-01-01'"},
                                   {arrow::time64(TimeUnit::MICRO), "[0,3600000000,null]", "'01:00:00'"},
                                   {arrow::duration(TimeUnit::MILLI), "[0,90000,null]", "interval '90 seconds'"},
                                   {arrow::large_utf8(), R"(["a","b",null])", "'b'"},
                                   {arrow::utf8_view(), R"(["a","b",null])", "'b'"},
                                   {arrow::binary(), R"(["a","b",null])", "X'62'"},
                                   {arrow::fixed_size_binary(1), R"(["a","b",null])", "x'62'"},
                                   {arrow::boolean(), "[false,true,null]", "true"},
                                   {arrow::timestamp(TimeUnit::SECOND), "[0,60,null]", "'1970-01-01 00:01'"},
                                   {arrow::float16(), "[0,1.5,null]", "1.5"},
                                   {arrow::dictionary(arrow::int8(), arrow::utf8()), R"(["a","b",null])", "'b'"}};
  for (const Case& c : cases) {
    const std::string literal = c.literal;
    ExpectRows(
        "v", Json(c.type, c.json),
        {{"v = " + literal, {1}}, {"v IN (" + literal + ")", {1}}, {"v <> " + literal, {0}}, {"v IS NULL", {2}}});
  }
}

TEST(WildStore, W65InstantsBefore1970) {
  ExpectRows("t", Json(arrow::timestamp(TimeUnit::SECOND), "[-2,-1,0,1,null,253370764800]"),
             {{"t > timestamp '1969-12-31 23:59:58.250'", {1, 2, 3, 5}},
              {"t < timestamp '1970-01-01 00:00:00'", {0, 1}},
              {"t BETWEEN '1969-12-31 23:59:59' AND '1970-01-01'", {1, 2}}});
}

// The limit is of the rows that match all of the predicate.
TEST(WildStore, W18LimitAfterTheWholePredicate) {
  arrow::StringBuilder texts;
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(texts.Append(i < 200 ? "B day" : i < 300 ? "A day" : "A night").ok());
  auto store = StoreOf("s", texts.Finish().ValueOrDie(), 100);
  const std::string where = "s LIKE 'A%' AND contains(s, 'night')";
  for (bool use_index : {true, false}) {
    EXPECT_EQ(Matching(*store, where + " LIMIT 10", use_index).size(), 10u);
    EXPECT_EQ(Matching(*store, where + " LIMIT 10 OFFSET 95", use_index), (Ids{395, 396, 397, 398, 399}));
  }
}

TEST(WildStore, W76HalfOfTheValuesAreNull) {
  arrow::StringBuilder texts;
  for (int i = 0; i < 102'400; ++i) {
    ASSERT_TRUE(i % 2 == 0 ? texts.AppendNull().ok() : texts.Append("string-" + std::to_string(i)).ok());
  }
  auto store = StoreOf("s", texts.Finish().ValueOrDie(), 102'400);
  for (bool use_index : {true, false}) {
    EXPECT_EQ(Matching(*store, "s = 'string-501'", use_index), (Ids{501}));
    EXPECT_EQ(Matching(*store, "s IS NULL", use_index).size(), 51'200u);
    EXPECT_EQ(Matching(*store, "s != 'string-501'", use_index).size(), 51'199u);
  }
  for (const auto& type : {arrow::int32(), arrow::utf8(), arrow::float64(), arrow::boolean()}) {
    ExpectRows("v", arrow::MakeArrayOfNull(type, 2).ValueOrDie(),
               {{"v IS NULL", {0, 1}}, {"v IS NOT NULL", {}}, {"v = v", {}}});
  }
}

TEST(WildStore, W80BigInLists) {
  arrow::Int32Builder k;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(i % 10 == 0 ? k.AppendNull().ok() : k.Append(i % 50).ok());
  auto store = StoreOf("k", k.Finish().ValueOrDie(), 100);
  std::string list = "7,7,NULL,13";
  for (int i = 0; i < 3000; ++i) list += "," + std::to_string(1000 + i);
  for (bool use_index : {true, false}) {
    EXPECT_EQ(Matching(*store, "k IN (" + list + ")", use_index).size(), 40u);
    EXPECT_EQ(Matching(*store, "k NOT IN (7,13)", use_index).size(), 860u);
  }
}

// NaN, -0.0, long texts and raw bytes in zones and filters (duckdb#23944, #23829, #22538, #23728).
TEST(WildStore, W57ZonesAndFilters) {
  arrow::DoubleBuilder floats;
  for (int i = 0; i < 4000; ++i) ASSERT_TRUE(floats.Append(i % 4 == 1 ? std::nan("") : i == 6 ? -0.0 : i + 1.0).ok());
  auto store = StoreOf("f", floats.Finish().ValueOrDie(), 1500);
  for (bool use_index : {true, false}) {
    EXPECT_EQ(Matching(*store, "f = 'NaN'", use_index).size(), 1000u);
    EXPECT_EQ(Matching(*store, "f = 0.0", use_index), (Ids{6}));
    EXPECT_EQ(Matching(*store, "f = -0.0", use_index), (Ids{6}));
    EXPECT_EQ(Matching(*store, "f > 3999", use_index).size(), 1001u) << "4000, and NaN, the greatest";
  }
  std::vector<std::string> texts;
  for (int i = 0; i < 2048; ++i) texts.push_back(fmt::format("a12{:0>100}", i));
  texts.push_back("A123456789");
  store = StoreOf("s", Texts(texts), 700);
  for (bool use_index : {true, false}) {
    EXPECT_EQ(Matching(*store, "s > 'a12'", use_index).size(), 2048u);
    EXPECT_EQ(Matching(*store, "s < 'a'", use_index), (Ids{2048}));
    EXPECT_EQ(Matching(*store, "s = '" + texts[700] + "'", use_index), (Ids{700}));
  }
  arrow::BinaryBuilder bytes;
  for (const char* v : {"\xFF", "\xFE\xFF", "a"}) ASSERT_TRUE(bytes.Append(v).ok());
  ASSERT_TRUE(bytes.Append(std::string("\xFF\0", 2)).ok());
  ExpectRows("b", bytes.Finish().ValueOrDie(),
             {{"b = X'ff00'", {3}}, {"b > X'ff'", {3}}, {"b >= X'ff'", {0, 3}}, {"b < X'ff'", {1, 2}}});
}

// A sidecar of a kind that is not known here stays (amoro#1959, trino#19965), whatever is put or checked beside it.
TEST(WildStore, W110UnknownSidecarsAreKept) {
  auto objects = ObjectStore::Memory();
  auto store = PartStore::OpenIn(objects, "d").ValueOrDie();
  ReadContext ctx;
  auto put = [&](const std::string& json) {
    auto batch =
        arrow::RecordBatch::Make(arrow::schema({arrow::field("x", arrow::int64())}), 1, {Json(arrow::int64(), json)});
    ASSERT_TRUE(store->Put(*arrow::RecordBatchReader::Make({batch}).ValueOrDie(), {}, ctx).ok());
  };
  put("[1]");
  const std::string part = store->List(ctx).ValueOrDie()[0].name;
  std::vector<std::string> foreign = {"d/side/" + part + ".lance.peer", "d/side/0000.lance.sketch", "d/side/note.txt"};
  for (const std::string& path : foreign) {
    auto sink = objects->Create(path).ValueOrDie();
    ASSERT_TRUE(sink->Write("theirs", 6).ok() && sink->Close().ok());
  }
  put("[2]");
  EXPECT_TRUE(store->Check(ctx).ok());
  for (const std::string& path : foreign) EXPECT_TRUE(objects->Exists(path).ValueOrDie()) << path;
  EXPECT_EQ(store->OpenSnapshot(true, ctx).ValueOrDie()->units().size(), 2u);
}

}  // namespace
}  // namespace pilum
