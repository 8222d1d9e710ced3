// Cases that users of such systems met, each with the right answer (the numbers are those of the list of wild cases).
#include <cmath>

#include "pilum/query/predicate_test_support.h"

namespace pilum {
namespace {

using arrow::TimeUnit;

TEST(Wild, W01NotOverNullableBool) {
  auto b = One("v", arrow::boolean(), "[true, false, null]");
  EXPECT_EQ(Rows(b, "NOT v"), (RowList{1}));
  EXPECT_EQ(Rows(b, "v IS NOT TRUE"), (RowList{1, 2}));
  EXPECT_EQ(Rows(b, "v = false OR v IS NULL"), (RowList{1, 2}));
  EXPECT_EQ(Rows(b, "v"), (RowList{0}));
  EXPECT_EQ(Rows(b, "v IS NOT FALSE"), (RowList{0, 2}));
  EXPECT_EQ(Rows(b, "v IS UNKNOWN"), (RowList{2}));
}

TEST(Wild, W03NotEqualDoesNotReturnNulls) {
  auto b = One("c", arrow::utf8(), R"([null, "a", ""])");
  EXPECT_EQ(Rows(b, "c != 'x'"), (RowList{1, 2}));
  EXPECT_EQ(Rows(b, "c = ''"), (RowList{2}));
  EXPECT_EQ(Rows(b, "c != ''"), (RowList{1}));
  EXPECT_EQ(Rows(b, "c < 'a'"), (RowList{2}));
}

TEST(Wild, W04InListsWithNull) {
  auto b = One("x", arrow::int64(), "[1, 2, null, 3]");
  EXPECT_EQ(Rows(b, "x IN (1,2,NULL)"), (RowList{0, 1}));
  EXPECT_EQ(Rows(b, "x NOT IN (1,2)"), (RowList{3}));
  EXPECT_EQ(Rows(b, "x NOT IN (1,2,NULL)"), (RowList{}));
  EXPECT_EQ(Rows(b, "x = NULL"), (RowList{}));
  EXPECT_EQ(Rows(b, "x IS NOT DISTINCT FROM NULL"), (RowList{2}));
  EXPECT_EQ(Rows(b, "x NOT BETWEEN 2 AND 3"), (RowList{0}));
}

TEST(Wild, W05IsNotNull) {
  auto b = One("v", arrow::float64(), "[1, 2, null]");
  EXPECT_EQ(Rows(b, "v IS NOT NULL"), (RowList{0, 1}));
  EXPECT_EQ(Rows(b, "NOT (v IS NULL)"), (RowList{0, 1}));
  EXPECT_EQ(Rows(b, "v IS NOT NULL AND v > 1"), (RowList{1}));
}

TEST(Wild, W07EveryNaNIsOneValueAndTheGreatest) {
  arrow::DoubleBuilder builder;
  ASSERT_TRUE(builder.AppendValues({-std::nan(""), std::nan(""), 1, 2}).ok());
  auto b = BatchOf({{"x", builder.Finish().ValueOrDie()}});
  EXPECT_EQ(Rows(b, "x > 1"), (RowList{0, 1, 3}));
  EXPECT_EQ(Rows(b, "x < 1"), (RowList{}));
  EXPECT_EQ(Rows(b, "x = 'NaN'"), (RowList{0, 1}));
  EXPECT_EQ(Rows(b, "x <> 'NaN'"), (RowList{2, 3}));
  EXPECT_EQ(Rows(b, "x = x"), (RowList{0, 1, 2, 3}));
  EXPECT_EQ(Rows(b, "x = ?", Positional({std::make_shared<arrow::DoubleScalar>(std::nan(""))})), (RowList{0, 1}));
}

TEST(Wild, W08LiteralsAboveInt64) {
  auto b = One("u", arrow::uint64(), "[1, 9223372036854775808, 18446744073709551614]");
  EXPECT_EQ(Rows(b, "u = 18446744073709551614"), (RowList{2}));
  EXPECT_EQ(Rows(b, "u >= 9223372036854775808"), (RowList{1, 2}));
  EXPECT_EQ(Rows(b, "u IN (9223372036854775808, 18446744073709551614)"), (RowList{1, 2}));
  EXPECT_EQ(Rows(b, "u > -1"), (RowList{0, 1, 2}));
  EXPECT_EQ(Rows(b, "u < 1e30"), (RowList{0, 1, 2}));
}

TEST(Wild, W10TimestampsInEveryUnitAndZone) {
  for (auto unit : {TimeUnit::SECOND, TimeUnit::MILLI, TimeUnit::MICRO, TimeUnit::NANO}) {
    for (const char* zone : {"", "UTC", "America/New_York"}) {
      const int64_t per_second = unit == TimeUnit::SECOND  ? 1
                                 : unit == TimeUnit::MILLI ? 1000
                                 : unit == TimeUnit::MICRO ? 1000000
                                                           : 1000000000;
      const int64_t start = 1704067200 + (std::string(zone) == "America/New_York" ? 5 * 3600 : 0);  // midnight there
      arrow::TimestampBuilder builder(arrow::timestamp(unit, zone), arrow::default_memory_pool());
      for (int64_t i = 0; i < 100; ++i) ASSERT_TRUE(builder.Append((start + i * 3600) * per_second).ok());
      auto b = BatchOf({{"ts", builder.Finish().ValueOrDie()}});
      EXPECT_EQ(Rows(b, "ts > timestamp '2024-01-03 02:00:00'").size(), 49u) << zone;
      EXPECT_EQ(Rows(b, "ts > '2024-01-03 02:00'").size(), 49u) << zone;
      EXPECT_EQ(Rows(b, "ts = '2024-01-03 02:00:00'"), (RowList{50})) << zone;
      EXPECT_EQ(Rows(b, "ts >= date '2024-01-02' AND ts < date '2024-01-03'").size(), 24u) << zone;
    }
  }
}

TEST(Wild, W101OffsetsAreInstantsWhateverTheZone) {
  for (const char* zone : {"", "UTC", "America/New_York", "+09:00", "Asia/Kolkata"}) {
    arrow::TimestampBuilder builder(arrow::timestamp(TimeUnit::MICRO, zone), arrow::default_memory_pool());
    for (int64_t i = 0; i < 100; ++i) ASSERT_TRUE(builder.Append((1704067200 + i * 3600) * 1000000).ok());
    auto b = BatchOf({{"ts", builder.Finish().ValueOrDie()}});
    EXPECT_EQ(Rows(b, "ts > timestamp '2024-01-03 02:00:00Z'").size(), 49u) << zone;
    EXPECT_EQ(Rows(b, "ts = timestamp '2024-01-03 02:00:00Z'"), (RowList{50})) << zone;
    EXPECT_EQ(Rows(b, "ts = '2024-01-02T21:00:00-05:00'"), (RowList{50})) << zone;
  }
}

TEST(Wild, W26ANullStructHasNullFields) {
  auto type = arrow::struct_({arrow::field("a", arrow::int64()), arrow::field("b", arrow::int64())});
  auto a = Json(arrow::int64(), "[10, 99, 11]"), c = Json(arrow::int64(), "[1, 98, 2]");
  auto valid = Json(arrow::boolean(), "[true, false, true]");
  auto s = std::make_shared<arrow::StructArray>(type, 3, arrow::ArrayVector{a, c}, valid->data()->buffers[1]);
  auto b = BatchOf({{"s", s}});
  EXPECT_EQ(Rows(b, "s IS NULL"), (RowList{1}));
  EXPECT_EQ(Rows(b, "s.a = 99"), (RowList{}));
  EXPECT_EQ(Rows(b, "s.a IS NULL"), (RowList{1}));
  EXPECT_EQ(Rows(b, "s.a != 10"), (RowList{2}));
  EXPECT_EQ(Rows(BatchOf({{"s", s->Slice(1)}}), "s.a != 10"), (RowList{1}));
}

TEST(Wild, W38Names) {
  auto one = Json(arrow::int64(), "[1, 2, 1]");
  auto st = Json(arrow::struct_({arrow::field("c.d", arrow::int64())}), R"([{"c.d": 1}, {"c.d": 2}, {"c.d": 1}])");
  auto b = BatchOf({{"PartyAbbrev", one},
                    {"with space", one},
                    {"日本", one},
                    {"order", one},
                    {"x-y", one},
                    {"Ünï", one},
                    {"sel`ect", one},
                    {"a.b", one},
                    {"A", one},
                    {"a", Json(arrow::int64(), "[5, 6, 7]")},
                    {"st", st},
                    {"user", one}});
  const RowList want{0, 2};
  for (const char* name : {"PartyAbbrev", "partyabbrev", "\"with space\"", "`with space`", "日本",
                           "`日本`",      "order",       "`order`",        "\"x-y\"",      "Ünï",
                           "ünï",         "`sel``ect`",  "\"sel`ect\"",    "\"a.b\"",      "A",
                           "\"A\"",       "st.\"c.d\"",  "t.st.\"c.d\"",   "user",         "t.A",
                           "T.\"x-y\""}) {
    EXPECT_EQ(Rows(b, std::string(name) + " = 1"), want) << name;
  }
  EXPECT_EQ(Rows(b, "a = 6"), (RowList{1}));
  EXPECT_NE(BindError(b, "a.b = 1"), "");
  EXPECT_NE(BindError(b, "\"nope\" = 'x'"), "");  // never a text
}

void CheckDecimals(const std::shared_ptr<arrow::DataType>& type, const char* json) {
  auto b = BatchOf({{"d", Json(type, json)}});
  EXPECT_EQ(Rows(b, "d = 1.1"), (RowList{0}));
  EXPECT_EQ(Rows(b, "d > 1.105"), (RowList{3}));
  EXPECT_EQ(Rows(b, "d IN (1.1,100)"), (RowList{0, 3}));
  EXPECT_EQ(Rows(b, "d != 1.1"), (RowList{1, 3}));
  EXPECT_EQ(Rows(b, "d > -3"), (RowList{0, 1, 3}));
  EXPECT_EQ(Rows(b, "d <= 1e100"), (RowList{0, 1, 3}));
  EXPECT_EQ(Rows(b, "d = '1.10'"), (RowList{0}));
  EXPECT_EQ(Rows(b, "d NOT BETWEEN -2.5 AND 1.1"), (RowList{3}));
}

TEST(Wild, W43DecimalsAgainstPlainNumbers) {
  const char* two = R"(["1.10", "-2.50", null, "100.00"])";
  const char* four = R"(["1.1000", "-2.5000", null, "100.0000"])";
  CheckDecimals(arrow::decimal128(10, 2), two);
  CheckDecimals(arrow::decimal128(38, 4), four);
  CheckDecimals(arrow::decimal256(60, 4), four);
  CheckDecimals(arrow::decimal32(9, 2), two);
  CheckDecimals(arrow::decimal64(18, 2), two);
}

TEST(Wild, W44Like) {
  auto b = One("s", arrow::utf8(), R"(["abc", "a_c", "a%c", "ab", "", "a\\c", "ABC", "äbc", "a\nc", null])");
  EXPECT_EQ(Rows(b, "s LIKE 'a_c'"), (RowList{0, 1, 2, 5, 8}));
  EXPECT_EQ(Rows(b, "s LIKE 'a\\_c'"), (RowList{1}));
  EXPECT_EQ(Rows(b, "s LIKE 'a\\%%'"), (RowList{2}));
  EXPECT_EQ(Rows(b, "s LIKE ''"), (RowList{4}));
  EXPECT_EQ(Rows(b, "s NOT LIKE 'a%'"), (RowList{4, 6, 7}));
  EXPECT_EQ(Rows(b, "s ILIKE 'abc'"), (RowList{0, 6}));
  EXPECT_EQ(Rows(b, "starts_with(s,'')").size(), 9u);
  EXPECT_EQ(Rows(b, "s LIKE 'a!_c' ESCAPE '!'"), (RowList{1}));
  EXPECT_EQ(Rows(b, "s LIKE '_bc'"), (RowList{0, 7}));
  EXPECT_EQ(Rows(b, "s ILIKE 'ÄBC'"), (RowList{7}));
  EXPECT_EQ(BindError(b, "s LIKE 'a\\'"), "at 8: the LIKE pattern ends in its escape character");
}

TEST(Wild, W45LongSharedPrefixes) {
  arrow::StringBuilder builder;
  const std::string a300(300, 'a');
  std::string top;
  for (int i = 0; i < 40; ++i) top += "\xF4\x8F\xBF\xBF";
  for (const auto& text : {a300 + "b", a300 + "c", a300, top + "x"}) {
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(builder.Append(text).ok());
  }
  auto b = BatchOf({{"s", builder.Finish().ValueOrDie()}});
  auto count = [&](const std::string& rest) { return Rows(b, "s " + rest).size(); };
  EXPECT_EQ(count("> '" + a300 + "b'"), 100u);
  EXPECT_EQ(count("= '" + a300 + "c'"), 50u);
  EXPECT_EQ(count(">= '" + a300 + "'"), 200u);
  EXPECT_EQ(count("!= '" + a300 + "'"), 150u);
  EXPECT_EQ(count("LIKE '" + a300 + "c%'"), 50u);
}

TEST(Wild, W47EqualityOnEveryType) {
  struct Case {
    std::shared_ptr<arrow::DataType> type;
    const char *json, *literal;
  };
  std::vector<Case> cases = {{arrow::int8(), "[-9, -7, null]", "-7"},
                             {arrow::int16(), "[1, 300, null]", "300"},
                             {arrow::uint8(), "[1, 200, null]", "200"},
                             {arrow::uint16(), "[1, 60000, null]", "60000"},
                             {arrow::date32(), "[0, 19723, null]", "'2024-01-01'"},
                             {arrow::time64(TimeUnit::MICRO), "[0, 3600000000, null]", "'01:00:00'"},
                             {arrow::time32(TimeUnit::SECOND), "[0, 3600, null]", "time '01:00'"},
                             {arrow::duration(TimeUnit::MILLI), "[0, 90000, null]", "interval '1 minute 30 seconds'"},
                             {arrow::large_utf8(), R"(["a", "b", null])", "'b'"},
                             {arrow::utf8_view(), R"(["a", "b", null])", "'b'"},
                             {arrow::binary(), R"(["a", "b", null])", "X'62'"},
                             {arrow::fixed_size_binary(1), R"(["a", "b", null])", "x'62'"},
                             {arrow::boolean(), "[false, true, null]", "true"},
                             {arrow::timestamp(TimeUnit::SECOND), "[0, 60, null]", "'1970-01-01 00:01'"},
                             {arrow::float16(), "[0, 1.5, null]", "1.5"},
                             {arrow::dictionary(arrow::int8(), arrow::utf8()), R"(["a", "b", null])", "'b'"}};
  for (const auto& c : cases) {
    auto b = One("v", c.type, c.json);
    EXPECT_EQ(Truth(b, std::string("v = ") + c.literal), "FT-") << c.type->ToString();
    EXPECT_EQ(Truth(b, std::string("v IN (") + c.literal + ")"), "FT-") << c.type->ToString();
    EXPECT_EQ(Truth(b, std::string("v <> ") + c.literal), "TF-") << c.type->ToString();
    EXPECT_EQ(Truth(b, std::string(c.literal) + " <= v"), "FT-") << c.type->ToString();
    EXPECT_EQ(Rows(b, std::string("v IS DISTINCT FROM ") + c.literal), (RowList{0, 2})) << c.type->ToString();
  }
  arrow::BinaryBuilder builder;
  for (std::string v : {std::string("\0\0", 2), std::string("\0", 1), std::string()})
    ASSERT_TRUE(builder.Append(v).ok());
  auto b = BatchOf({{"v", builder.Finish().ValueOrDie()}});
  EXPECT_EQ(Rows(b, "v = X'0000'"), (RowList{0}));
  EXPECT_EQ(Rows(b, "v = X'00'"), (RowList{1}));
  EXPECT_EQ(Rows(b, "v = X''"), (RowList{2}));
}

TEST(Wild, W48LiteralsOutsideTheColumnsRange) {
  auto i8 = One("i8", arrow::int8(), "[-5, 0, 100]");
  EXPECT_EQ(Rows(i8, "i8 < 1000"), (RowList{0, 1, 2}));
  EXPECT_EQ(Rows(i8, "i8 = 300"), (RowList{}));
  EXPECT_EQ(Rows(i8, "i8 != 300"), (RowList{0, 1, 2}));
  EXPECT_EQ(Rows(i8, "i8 > 0.5"), (RowList{2}));
  EXPECT_EQ(Rows(i8, "i8 > -0.5"), (RowList{1, 2}));
  EXPECT_EQ(Rows(One("d", arrow::date32(), "[19723, 19724]"), "d = '2024-01-01'"), (RowList{0}));
  auto f = One("f", arrow::float32(), "[0.1, 0.2, 3e38]");
  EXPECT_EQ(Rows(f, "f = 0.1"), (RowList{0}));
  EXPECT_EQ(Rows(f, "f > 0.1"), (RowList{1, 2}));
  EXPECT_EQ(Rows(f, "f < 1e300"), (RowList{0, 1, 2}));
  auto ends = One("f", arrow::float32(), "[Infinity, -Infinity, 3.4028234663852886e38]");
  EXPECT_EQ(Rows(ends, "f > 1e39"), (RowList{0}));
  EXPECT_EQ(Rows(ends, "f < -1e39"), (RowList{1}));
  EXPECT_EQ(Rows(ends, "f = 1e39"), (RowList{}));
}

TEST(Wild, W49QuotesAndTrailingText) {
  auto b =
      BatchOf({{"s", Json(arrow::utf8(), R"(["O'Brien", "back\\slash"])")}, {"id", Json(arrow::int64(), "[0, 1]")}});
  EXPECT_EQ(Rows(b, "s = 'O''Brien'"), (RowList{0}));
  EXPECT_EQ(Rows(b, "s = 'back\\slash'"), (RowList{1}));
  EXPECT_EQ(Rows(b, "id IN ()"), (RowList{}));
  EXPECT_EQ(Rows(b, "id NOT IN ()"), (RowList{0, 1}));
  EXPECT_EQ(BindError(b, "id = 0; DROP TABLE x"), "at 7: one statement only; nothing may follow it, not even ';'");
  EXPECT_NE(BindError(b, "id = 0;"), "");
  EXPECT_NE(BindError(b, "id = 0 id = 1"), "");
  EXPECT_NE(BindError(b, ""), "");
  EXPECT_NE(BindError(b, "  "), "");
}

TEST(Wild, W65InstantsBefore1970) {
  auto ms = One("t", arrow::timestamp(TimeUnit::MILLI), "[-1500, -1000, 0, 1000, null, 253370764800000]");
  EXPECT_EQ(Rows(ms, "t < timestamp '1970-01-01 00:00:00'"), (RowList{0, 1}));
  EXPECT_EQ(Rows(ms, "t = timestamp '1969-12-31 23:59:59'"), (RowList{1}));
  EXPECT_EQ(Rows(ms, "t BETWEEN '1969-12-31 23:59:59' AND '1970-01-01'"), (RowList{1, 2}));
  auto s = One("t", arrow::timestamp(TimeUnit::SECOND), "[-2, -1, 0, 1, null, 253370764800]");
  EXPECT_EQ(Rows(s, "t > timestamp '1969-12-31 23:59:58.250'"), (RowList{1, 2, 3, 5}));
  EXPECT_EQ(Rows(s, "t = timestamp '1969-12-31 23:59:58.250'"), (RowList{}));
  auto ns = One("t", arrow::timestamp(TimeUnit::NANO), "[0]");
  EXPECT_EQ(Rows(ns, "t < '9999-12-31'"), (RowList{0}));  // past what nanoseconds can hold
}

TEST(Wild, W80BigInListsWithDuplicatesAndNull) {
  arrow::Int32Builder builder;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE((i % 10 == 0 ? builder.AppendNull() : builder.Append(i % 50)).ok());
  auto b = BatchOf({{"k", builder.Finish().ValueOrDie()}});
  std::string list = "7,7,NULL,13";
  for (int i = 0; i < 3000; ++i) list += "," + std::to_string(100000 + i * 3);
  EXPECT_EQ(Rows(b, "k IN (" + list + ")").size(), 40u);
  EXPECT_EQ(Rows(b, "k NOT IN (7,13)").size(), 860u);
}

TEST(Wild, W82HugeChainsAndDeepNesting) {
  arrow::Int64Builder builder;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(builder.Append(i).ok());
  auto b = BatchOf({{"id", builder.Finish().ValueOrDie()}});
  std::string ors = "id = 0", ands = "id != 1000", in = "0";
  for (int i = 1; i < 20000; ++i) ors += " OR id = " + std::to_string(i);
  for (int i = 1; i < 5000; ++i) ands += " AND id != " + std::to_string(1000 + i);
  for (int i = 1; i < 50000; ++i) in += "," + std::to_string(i);
  EXPECT_EQ(Rows(b, ors).size(), 100u);
  EXPECT_EQ(Rows(b, ands).size(), 100u);
  EXPECT_EQ(Rows(b, "id IN (" + in + ")").size(), 100u);
  auto parens = [](size_t n) { return std::string(n, '(') + "id = 1" + std::string(n, ')'); };
  EXPECT_EQ(Rows(b, parens(499)), (RowList{1}));
  EXPECT_NE(BindError(b, parens(5000)).find("nested more than 500 deep"), std::string::npos);
  std::string nots;
  for (int i = 0; i < 1000; ++i) nots += "NOT ";
  EXPECT_NE(BindError(b, nots + "id = 1").find("nested more than 500 deep"), std::string::npos);
  std::string sum = "id", nested = "id";
  for (int i = 0; i < 100000; ++i) sum += " + 1";
  EXPECT_NE(BindError(b, sum + " = 1").find("nested more than 500 deep"), std::string::npos);
  for (int i = 0; i < 400; ++i) {
    nested = "(" + nested;
    for (int k = 0; k < 100; ++k) nested += " + 1";
    nested += ")";
  }
  EXPECT_NE(BindError(b, nested + " = 1").find("nested more than 500 deep"), std::string::npos);
}

TEST(Wild, W87Lists) {
  auto n = One("n", arrow::list(arrow::int64()), "[[1, 1152921504606846976], [], null, [null, 3]]");
  EXPECT_EQ(Rows(n, "array_has(n, 1152921504606846976)"), (RowList{0}));
  EXPECT_EQ(Rows(n, "array_has(n, 1152921504606846977)"), (RowList{}));
  EXPECT_EQ(Rows(n, "cardinality(n) = 0"), (RowList{1}));
  EXPECT_EQ(Rows(n, "array_has(n, NULL)"), (RowList{}));
  EXPECT_EQ(Rows(n, "NOT array_has(n, 3)"), (RowList{0, 1}));
  auto s = One("s", arrow::utf8(), R"(["\u00e9", "e\u0301", "a\u0000b", "a"])");
  EXPECT_EQ(Rows(s, "s = 'é'"), (RowList{0}));  // NFC only
  EXPECT_EQ(Rows(s, "s = 'a'"), (RowList{3}));
  EXPECT_EQ(Rows(s, std::string("s = 'a\0b'", 9)), (RowList{2}));
}

TEST(Wild, W100DoubleQuotesAreNames) {
  auto b = One("S", arrow::utf8(), R"(["D", "R", "D"])");
  EXPECT_EQ(Rows(b, "\"S\" != 'D'"), (RowList{1}));
  EXPECT_EQ(Rows(b, "\"S\" = 'R'"), (RowList{1}));
  EXPECT_NE(BindError(b, "S = \"R\""), "");  // a name, and there is no such column
}

}  // namespace
}  // namespace pilum
