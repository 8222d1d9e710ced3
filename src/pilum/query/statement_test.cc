// Statements over a snapshot: what they return, and what is refused by name.
#include "pilum/query/predicate_test_support.h"

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
  EXPECT_EQ(Shown("SELECT a, a, 'x' FROM t"), "at 14: an expression in SELECT is not supported yet");
}

TEST(Select, LimitsAndParameters) {
  auto n = std::make_shared<arrow::Int64Scalar>(7);
  EXPECT_EQ(Shown("SELECT a WHERE a = ? LIMIT ? OFFSET ?", Positional({n, n, n})), "a where limit 7 offset 7");
  EXPECT_EQ(Shown("SELECT a LIMIT 18446744073709551615"), "a limit 18446744073709551615");
  EXPECT_NE(Shown("SELECT a LIMIT 1.5").find("takes a whole number"), std::string::npos);
  EXPECT_NE(Shown("SELECT a LIMIT -1").find("at 16"), std::string::npos);
  EXPECT_NE(Shown("SELECT a LIMIT 1 LIMIT 2").find("at 18"), std::string::npos);
}

TEST(Select, WhatIsNotBuiltYetIsRefusedByName) {
  EXPECT_EQ(Shown("SELECT count(*) FROM t"), "at 8: the aggregate COUNT is not supported yet");
  EXPECT_EQ(Shown("SELECT a + 1 FROM t"), "at 8: an expression in SELECT is not supported yet");
  EXPECT_EQ(Shown("SELECT DISTINCT a FROM t"), "at 8: DISTINCT is not supported yet");
  EXPECT_EQ(Shown("SELECT a FROM t GROUP BY a"), "at 17: GROUP is not supported yet");
  EXPECT_EQ(Shown("SELECT a FROM t ORDER BY a"), "at 17: ORDER is not supported yet");
  EXPECT_EQ(Shown("SELECT a FROM t HAVING a = 1"), "at 17: HAVING is not supported yet");
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
  EXPECT_EQ(KindOf(BindQuery("SELECT a FROM t GROUP BY a", snapshot, {}).status()), ErrorKind::kUnsupported);
  EXPECT_EQ(KindOf(BindQuery("SELECT nope", snapshot, {}).status()), ErrorKind::kQuery);
  EXPECT_EQ(KindOf(BindQuery("a = 'x'", snapshot, {}).status()), ErrorKind::kQuery);
  EXPECT_EQ(KindOf(BindQuery("lower(a) = 'x'", snapshot, {}).status()), ErrorKind::kQuery);
}

// Random bytes and random cuts of real text: an error or a statement, never a crash.
TEST(Select, HostileTextIsAnErrorOrAStatement) {
  const std::string real =
      "SELECT a, \"B\" AS b, st.x FROM t AS s WHERE NOT (a + 1 > -2.5e3 AND b ILIKE 'x%' ESCAPE '!') "
      "OR CASE WHEN a IS NOT DISTINCT FROM ? THEN TRUE END AND a IN (1, 2, NULL) LIMIT 3 OFFSET :o";
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
