#include "pilum/query/predicate_test_support.h"
#include "pilum/values/jsonb.h"

namespace pilum {
namespace {

std::shared_ptr<arrow::RecordBatch> Docs() {
  arrow::StringBuilder texts;
  arrow::LargeBinaryBuilder binary;
  for (const char* doc : {R"({"n": "Ann", "a": 30, "t": ["x", 1], "o": {"p": {"q": 2.5}}})",
                          R"({"n": 7, "a": "25", "t": []})", R"([10, {"a": 1}])", "null", "true"}) {
    EXPECT_TRUE(texts.Append(doc).ok());
    EXPECT_TRUE(binary.Append(*JsonbOfText(doc)).ok());
  }
  EXPECT_TRUE(texts.AppendNull().ok() && binary.AppendNull().ok());
  EXPECT_TRUE(texts.Append("no json").ok() && binary.Append("\x20").ok());
  return BatchOf({{"j", *texts.Finish()}, {"b", *binary.Finish()}});
}

TEST(JsonFunctions, OfTextAndOfJsonb) {
  const auto docs = Docs();
  const std::pair<const char*, RowList> cases[] = {
      {"json_get_string(%, 'n') = 'Ann'", {0}},
      {"json_get_string(%, 'n') = '7'", {1}},
      {"json_get_int(%, 'a') > 20", {0, 1}},
      {"json_get_float(%, 'a') = 25.0", {1}},
      {"json_get_int(%, 'n') = 7", {1}},
      {"json_get_int(%, '0') = 10", {2}},
      {"json_get(%, '1') = '{\"a\":1}'", {2}},
      {"json_get(%, 'n') IS NOT NULL", {0, 1}},
      {"json_get_int('{\"0\": 5}', '0') = 5", {0, 1, 2, 3, 4, 5, 6}},
      {"json_get_string(json_get(json_get(%, 'o'), 'p'), 'q') = '2.5'", {0}},
      {"json_extract(%, '$.o.p') = '{\"q\":2.5}'", {0}},
      {"json_extract(%, '$') = 'null'", {3}},
      {"json_extract(%, '$.n') = '\"Ann\"'", {0}},
      {"json_extract(%, '$.t[*]') = '[\"x\",1]'", {0}},
      {"json_exists(%, '$.t[0]')", {0}},
      {"NOT json_exists(%, '$.t')", {2, 3, 4}},
      {"json_exists(%, '$?(@.a == 30)')", {0}},
      {"json_array_contains(%, '$.t', 'x')", {0}},
      {"json_array_contains(%, '$', '10')", {2}},
      {"json_array_length(%, '$.t') = 0", {1}},
      {"json_array_length(%, '$') = 2", {2}},
      {"json_extract(%, '$.x') IS NULL", {0, 1, 2, 3, 4, 5, 6}}};
  for (const auto& [sql, rows] : cases) {
    for (const char* column : {"j", "b"}) {
      std::string text = sql;
      for (size_t at; (at = text.find('%')) != std::string::npos;) text.replace(at, 1, column);
      EXPECT_EQ(Rows(docs, text), rows) << text;
    }
  }
  EXPECT_EQ(Rows(docs, "json_get_int('{\"a\":1}', 'a') = 1"), (RowList{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Rows(docs, "json_get_int(NULL, 'a') IS NULL"), (RowList{0, 1, 2, 3, 4, 5, 6}));
}

// A column of JSON is text where it is bound, and may come as it is stored.
TEST(JsonFunctions, OfAColumnThatComesAsStored) {
  const auto docs = Docs();
  const auto texts = One("j", arrow::utf8(), "[]");
  const auto stored = [&](int64_t rows) { return BatchOf({{"j", docs->column(1)->Slice(0, rows)}}); };
  ReadContext ctx;
  for (const char* sql :
       {"json_get_int(j, 'a') > 20", "json_extract(j, '$.t[*]') = '[\"x\",1]'", "json_exists(j, '$.a')"}) {
    const auto bound = BindPredicate(sql, *texts->schema(), {}).ValueOrDie();
    EXPECT_EQ(bound->json_only(), std::vector<FieldPath>{{{"j"}}});
    const auto of_text = Rows(docs, sql);
    const auto answer = bound->Evaluate(*stored(6), ctx).ValueOrDie();
    for (int64_t i = 0; i < 6; ++i) {
      EXPECT_EQ(answer->IsValid(i) && answer->Value(i), std::find(of_text.begin(), of_text.end(), i) != of_text.end())
          << sql;
    }
    const Status damaged = bound->Evaluate(*stored(7), ctx).status();  // the last row is no JSONB
    EXPECT_EQ(KindOf(damaged), ErrorKind::kCorrupt) << sql;
  }
  const auto json_only = [&](const char* sql) {
    return BindPredicate(sql, *texts->schema(), {}).ValueOrDie()->json_only();
  };
  EXPECT_TRUE(json_only("json_exists(j, '$.a') AND j <> ''").empty());
  EXPECT_TRUE(json_only("json_exists(lower(j), '$.a')").empty());
  EXPECT_EQ(json_only("json_get_int(json_get(j, 'o'), 'p') = 1 OR json_exists(j, '$.a')").size(), 1u);
}

TEST(JsonFunctions, WhatTheyDoNotTake) {
  const auto docs = Docs();
  const auto fails = [&](const std::string& sql) { return BindPredicate(sql, *docs->schema(), {}).status().message(); };
  EXPECT_NE(fails("json_exists(j, '$.')").find("JSON path, byte 2"), std::string::npos);
  EXPECT_NE(fails("json_exists(j, j)").find("not a literal"), std::string::npos);
  EXPECT_NE(fails("json_get(j)").find("takes 2 arguments"), std::string::npos);
  EXPECT_NE(fails("json_get(7, 'a') = 'x'").find("takes JSON"), std::string::npos);
  EXPECT_NE(fails("json_got(j, 'a')").find("json_get"), std::string::npos);
}

}  // namespace
}  // namespace pilum
