// Statements over a snapshot: what they return, and what is refused by name.
#include "pilum/query/predicate_test_support.h"
#include "pilum/query/select/select.h"

namespace pilum {
namespace {

class FakeSnapshot : public Snapshot {
 public:
  FakeSnapshot(std::shared_ptr<arrow::Schema> schema, std::string clash = "")
      : schema_(std::move(schema)), clash_(std::move(clash)) {}
  const std::string& name() const override { return name_; }
  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  const std::vector<std::shared_ptr<const Unit>>& units() const override { return units_; }
  Status CheckColumn(const std::string& column) const override {
    return column == clash_ ? QueryError("column '{}' differs", column) : Status::OK();
  }

 private:
  std::string name_ = "fake", clash_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::shared_ptr<const Unit>> units_;
};

std::shared_ptr<arrow::Schema> TestSchema() {
  return arrow::schema({arrow::field("a", arrow::int64()), arrow::field("B", arrow::utf8()),
                        arrow::field("order", arrow::int64()),
                        arrow::field("st", arrow::struct_({arrow::field("x", arrow::int64())}))});
}

std::string Shown(const std::string& sql, const Params& params = {}, const std::string& clash = "") {
  auto q = BindQuery(sql, FakeSnapshot(TestSchema(), clash), params);
  if (!q.ok()) return q.status().message();
  std::string out;
  for (size_t i = 0; i < q->columns.size(); ++i) {
    out += (i > 0 ? "," : "") + q->columns[i].ToString();
    if (q->output_names[i] != q->columns[i].steps.back()) out += " as " + q->output_names[i];
  }
  if (q->bare_predicate) out += " bare";
  if (q->where) out += " where";
  if (q->limit) out += fmt::format(" limit {}", *q->limit);
  if (q->offset) out += fmt::format(" offset {}", q->offset);
  return out;
}

TEST(Select, ColumnsAliasesAndStars) {
  EXPECT_EQ(Shown("SELECT * FROM t"), "a,B,order,st");
  EXPECT_EQ(Shown("select t.* from flights as t"), "a,B,order,st");
  EXPECT_EQ(Shown("SELECT a, b AS name, st.x y, order FROM t WHERE a = 1 LIMIT 5 OFFSET 2"),
            "a,B as name,st.x as y,order where limit 5 offset 2");
  EXPECT_EQ(Shown("SELECT a WHERE order > 1"), "a where");
  EXPECT_EQ(Shown("SELECT f.a FROM \"my flights\" f OFFSET 3 LIMIT 1"), "a limit 1 offset 3");
  EXPECT_EQ(Shown("a = 1"), "a,B,order,st bare where");
}

TEST(Select, LimitsAndParameters) {
  auto n = std::make_shared<arrow::Int64Scalar>(7);
  EXPECT_EQ(Shown("SELECT a WHERE a = ? LIMIT ? OFFSET ?", Positional({n, n, n})), "a where limit 7 offset 7");
  EXPECT_EQ(Shown("SELECT a LIMIT 18446744073709551615"), "a limit 18446744073709551615");
  EXPECT_NE(Shown("SELECT a LIMIT 1.5").find("takes a whole number"), std::string::npos);
  EXPECT_NE(Shown("SELECT a LIMIT -1").find("at 16"), std::string::npos);
  EXPECT_NE(Shown("SELECT a LIMIT 1 LIMIT 2").find("at 18"), std::string::npos);
}

// The columns of the answer, by name and type.
std::string Answer(const std::string& sql, const Params& params = {}) {
  auto q = BindQuery(sql, FakeSnapshot(TestSchema()), params);
  if (!q.ok()) return q.status().message();
  if (!q->tail) return "plain columns";
  std::string out;
  for (const auto& f : q->tail->schema->fields())
    out += (out.empty() ? "" : ", ") + f->name() + " " + f->type()->ToString();
  return out;
}

TEST(Select, ExpressionsHaveNamesAndTypes) {
  EXPECT_EQ(Answer("SELECT a, B FROM t"), "plain columns");
  EXPECT_EQ(Answer("SELECT a+1, a * (order -1) AS x, upper(b), 'x', a IS NULL, -a, a BETWEEN 1 AND 2 FROM t"),
            "a + 1 int64, x int64, upper(b) string, 'x' string, a IS NULL bool, -a int64, a BETWEEN 1 AND 2 bool");
  EXPECT_EQ(Answer("SELECT CASE WHEN a > 1 THEN 1.5 END, st.x + 0.5, CAST(a AS decimal(10, 2)), [1] FROM t"),
            "at 77: a list cannot be used here");
  EXPECT_EQ(Answer("SELECT *, a / 2 FROM t"), "a int64, B string, order int64, st struct<x: int64>, a / 2 int64");
  EXPECT_EQ(Answer("SELECT COUNT(*), Count(a), COUNT(DISTINCT b), SUM(a), AVG(a), MIN(b), MAX(st.x), MEDIAN(a) FROM t"),
            "count(*) int64, count(a) int64, count(DISTINCT b) int64, sum(a) int64, avg(a) double, min(b) string, "
            "max(st.x) int64, median(a) double");
  EXPECT_EQ(Answer("SELECT a + 1 AS k, SUM(a) / COUNT(*) FROM t GROUP BY 1"), "k int64, sum(a) / count(*) int64");
  EXPECT_EQ(Answer("SELECT (a+1)*2 FROM t GROUP BY A + 1"), "(a + 1) * 2 int64");
  EXPECT_EQ(Answer("SELECT a AS key FROM t GROUP BY key HAVING COUNT(*) > 1 ORDER BY count(*) DESC NULLS FIRST"),
            "key int64");
  EXPECT_EQ(Answer("SELECT DISTINCT a, b FROM t ORDER BY B"), "a int64, b string");
}

TEST(Select, WrongGroupsAndOrders) {
  EXPECT_EQ(Answer("SELECT a, COUNT(*) FROM t"), "at 8: column 'a' must stand in GROUP BY or inside an aggregate");
  EXPECT_EQ(Answer("SELECT a FROM t HAVING a = 1"), "at 8: column 'a' must stand in GROUP BY or inside an aggregate");
  EXPECT_EQ(Answer("SELECT * FROM t GROUP BY a"),
            "at 8: '*' cannot stand beside GROUP BY or an aggregate; name the columns");
  EXPECT_EQ(Answer("SELECT COUNT(*) AS n FROM t GROUP BY n"), "at 38: an aggregate cannot stand in GROUP BY");
  EXPECT_EQ(Answer("SELECT SUM(COUNT(*)) FROM t"),
            "at 12: count is an aggregate: it may stand in SELECT, HAVING and ORDER BY, not inside another");
  EXPECT_EQ(Answer("a = 1 AND COUNT(*) > 1"),
            "at 11: count is an aggregate: it may stand in SELECT, HAVING and ORDER BY, not inside another");
  EXPECT_EQ(Answer("SELECT SUM(b) FROM t"), "at 8: sum is not defined for string");
  EXPECT_EQ(Answer("SELECT SUM(a, a) FROM t"), "at 8: sum takes one argument, not 2");
  EXPECT_EQ(Answer("SELECT SUM(*) FROM t"), "at 8: '*' is for count(*)");
  EXPECT_EQ(Answer("SELECT COUNT(DISTINCT *) FROM t").substr(0, 5), "at 23");
  EXPECT_EQ(Answer("SELECT MIN(st) FROM t"), "at 8: min is not defined for struct<x: int64>");
  EXPECT_EQ(Answer("SELECT lower(DISTINCT b) FROM t"), "at 8: DISTINCT belongs to aggregates; lower is none");
  EXPECT_EQ(Answer("SELECT COUNT(*) FROM t GROUP BY st"), "at 33: GROUP BY is not defined for struct<x: int64>");
  EXPECT_EQ(Answer("SELECT a FROM t ORDER BY 2"), "at 26: ORDER BY 2: there are 1 items in SELECT");
  EXPECT_EQ(Answer("SELECT a + 0 FROM t ORDER BY st"), "at 30: ORDER BY is not defined for struct<x: int64>");
  EXPECT_EQ(Answer("SELECT DISTINCT a FROM t ORDER BY b"),
            "at 35: with DISTINCT, ORDER BY takes what stands in SELECT");
  EXPECT_EQ(Answer("SELECT CAST('x' AS int) FROM t"), "at 8: 'x' is no value of type int32; TRY_CAST gives NULL");
  EXPECT_EQ(Answer("SELECT stddev(a) FROM t"), "at 8: the aggregate stddev is not supported yet");
  EXPECT_EQ(Answer("SELECT a FROM t LIMIT 1 GROUP BY a"),
            "at 25: GROUP cannot stand here; the order is SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT");
  EXPECT_EQ(Answer("SELECT a FROM t GROUP a"), "at 23: expected BY, found 'a'");
}

TEST(Select, QuestionMarksCountFromLeftToRight) {
  auto scalar = [](int64_t v) { return std::make_shared<arrow::Int64Scalar>(v); };
  auto q = BindQuery("SELECT a + ?, SUM(order * ?) FROM t WHERE a > ? GROUP BY a + ? HAVING COUNT(*) > ? LIMIT ?",
                     FakeSnapshot(TestSchema()),
                     Positional({scalar(1), scalar(2), scalar(3), scalar(1), scalar(5), scalar(6)}));
  // ?1 and ?4 are two parameters, whatever their values.
  EXPECT_EQ(q.status().message(), "at 8: column 'a' must stand in GROUP BY or inside an aggregate");
  q = BindQuery("SELECT a + $1, SUM(order * $2) FROM t WHERE a > 3 GROUP BY a + $1 LIMIT $3",
                FakeSnapshot(TestSchema()), Positional({scalar(1), scalar(2), scalar(3)}));
  ASSERT_TRUE(q.ok()) << q.status().ToString();
  EXPECT_EQ(q->limit, 3u);
}

TEST(Select, WhatIsNotPartOfTheLanguageIsRefusedByName) {
  EXPECT_EQ(Shown("SELECT a FROM (SELECT 1)"), "at 15: a query inside a query is not supported yet");
  EXPECT_EQ(Shown("SELECT a FROM t WHERE a IN (SELECT 1)"), "at 29: a query inside a query is not supported yet");
  EXPECT_EQ(Shown("SELECT a FROM t, u"), "at 16: one source only");
  EXPECT_EQ(Shown("SELECT a FROM t JOIN u"), "at 17: JOIN is not part of this language: one SELECT over one source");
  EXPECT_EQ(Shown("SELECT a FROM t UNION SELECT a FROM t"),
            "at 17: UNION is not part of this language: one SELECT over one source");
  EXPECT_EQ(Shown("SELECT a FROM t; DROP TABLE t"), "at 16: one statement only; nothing may follow it, not even ';'");
  EXPECT_EQ(Shown("SELECT FROM t"), "at 8: expected an expression, found 'FROM'");
  EXPECT_EQ(Shown("SELECT a, nope FROM t"), "at 11: there is no column 'nope'");
  EXPECT_EQ(Shown("DELETE FROM t"), "at 8: the statement should end before 'FROM'");
}

TEST(Select, OnlyColumnsThatAreNamedAreChecked) {
  EXPECT_EQ(Shown("SELECT a WHERE a = 1", {}, "B"), "a where");
  EXPECT_EQ(Shown("SELECT a WHERE b = 'x'", {}, "B"), "column 'B' differs");
  EXPECT_EQ(Shown("SELECT *", {}, "B"), "column 'B' differs");
}

TEST(Select, DuplicateNamesAreAnErrorWhenUsed) {
  auto schema = arrow::schema(
      {arrow::field("a", arrow::int64()), arrow::field("a", arrow::int64()), arrow::field("c", arrow::int64())});
  EXPECT_FALSE(BindQuery("SELECT * FROM t", FakeSnapshot(schema), {}).ok());
  EXPECT_TRUE(BindQuery("SELECT c FROM t", FakeSnapshot(schema), {}).ok());
}

TEST(Select, ErrorKinds) {
  FakeSnapshot snapshot(TestSchema());
  EXPECT_EQ(KindOf(BindQuery("SELECT stddev(a) FROM t", snapshot, {}).status()), ErrorKind::kUnsupported);
  EXPECT_EQ(KindOf(BindQuery("SELECT nope", snapshot, {}).status()), ErrorKind::kQuery);
  EXPECT_EQ(KindOf(BindQuery("a = 'x'", snapshot, {}).status()), ErrorKind::kQuery);
  EXPECT_EQ(KindOf(BindQuery("lower(a) = 'x'", snapshot, {}).status()), ErrorKind::kQuery);
}

// Random bytes and random cuts of real text: an error or a statement, never a crash.
TEST(Select, HostileTextIsAnErrorOrAStatement) {
  const std::string real =
      "SELECT a, \"B\" AS b, st.x FROM t AS s WHERE NOT (a + 1 > -2.5e3 AND b ILIKE 'x%' ESCAPE '!') "
      "OR CASE WHEN a IS NOT DISTINCT FROM ? THEN TRUE END AND a IN (1, 2, NULL) GROUP BY a, 2, st.x HAVING COUNT(*) > "
      "1 "
      "ORDER BY SUM(DISTINCT a + 1) DESC NULLS FIRST, b LIMIT 3 OFFSET :o";
  uint32_t state = 1;
  auto random = [&](uint32_t below) { return (state = state * 1664525u + 1013904223u) % below; };
  FakeSnapshot snapshot(TestSchema());
  for (int i = 0; i < 4000; ++i) {
    std::string text = real;
    for (uint32_t k = 0; k < 1 + random(6); ++k) {
      const size_t at = random(static_cast<uint32_t>(text.size()));
      switch (random(4)) {
        case 0: text.erase(at, 1 + random(9)); break;
        case 1: text[at] = static_cast<char>(random(256)); break;
        case 2: text.insert(at, text.substr(random(static_cast<uint32_t>(text.size())), random(20))); break;
        default: text = text.substr(0, at + 1); break;
      }
      if (text.empty()) break;
    }
    auto status = BindQuery(text, snapshot, {}).status();
    if (!status.ok()) EXPECT_NE(KindOf(status), ErrorKind::kOther) << text << ": " << status.ToString();
  }
}

}  // namespace
}  // namespace pilum
