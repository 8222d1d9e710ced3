// What the order of AND and OR may change (how much is asked, in what order) and what it may not (any answer, any error).
#include "pilum/query/eval_order.h"

#include <random>

#include "pilum/query/predicate_test_support.h"
#include "pilum/query/project.h"
#include "pilum/query/recheck.h"

namespace pilum {
namespace {

ColumnStats StatsOf(const std::shared_ptr<arrow::Array>& array) {
  ColumnStats stats = ColumnStats::Make(*array->type());
  EXPECT_TRUE(stats.Update(*array, [](const HashBlock&) {}).ok());
  return stats;
}

// A unit that only has statistics.
class StatsUnit : public Unit {
 public:
  explicit StatsUnit(std::shared_ptr<arrow::RecordBatch> batch) : batch_(std::move(batch)) {}
  const std::string& name() const override { return name_; }
  uint64_t num_rows() const override { return static_cast<uint64_t>(batch_->num_rows()); }
  Result<bool> MayMatch(const Probe&, ReadContext&) const override { return true; }
  Result<Candidates> Narrow(const Probe&, ReadContext&) const override { return Candidates::Unknown(num_rows()); }
  Result<std::optional<ColumnStats>> Stats(const FieldPath& column, ReadContext&) const override {
    return std::optional(StatsOf(batch_->GetColumnByName(column.steps[0])));
  }
  std::string index_note() const override { return ""; }
  Result<std::unique_ptr<BatchStream>> Read(const std::vector<FieldPath>&, const RowSet&, const BatchLimits&,
                                            const ReadContext&) const override {
    return Status::NotImplemented("no rows");
  }

 private:
  std::string name_ = "unit";
  std::shared_ptr<arrow::RecordBatch> batch_;
};

template <typename Builder, typename F>
std::shared_ptr<arrow::Array> Column(int64_t rows, F value) {
  Builder builder;
  for (int64_t i = 0; i < rows; ++i) EXPECT_TRUE(builder.AppendOrNull(value(i)).ok());
  return builder.Finish().ValueOrDie();
}

// id: all distinct; few: 0 to 9, mostly 0; late: NULL in every other row; s: text.
std::shared_ptr<arrow::RecordBatch> Sample(int64_t rows, uint64_t seed = 1) {
  std::mt19937_64 rng(seed);
  return BatchOf({
      {"id", Column<arrow::Int64Builder>(rows, [&](int64_t i) { return std::optional<int64_t>(i); })},
      {"few", Column<arrow::Int64Builder>(rows,
                                          [&](int64_t) {
                                            return std::optional<int64_t>(
                                                rng() % 10 < 8 ? 0 : static_cast<int64_t>(rng() % 10));
                                          })},
      {"late", Column<arrow::DoubleBuilder>(rows,
                                            [&](int64_t i) {
                                              return i % 2 ? std::nullopt
                                                           : std::optional<double>(static_cast<double>(rng() % 1000));
                                            })},
      {"s", Column<arrow::StringBuilder>(
                rows,
                [&](int64_t) { return std::optional<std::string>(fmt::format("{:x} some text {:x}", rng(), rng())); })},
  });
}

std::vector<std::string> OrderOf(const std::shared_ptr<arrow::RecordBatch>& batch, const std::string& sql, bool learn) {
  auto bound = BindPredicate(sql, *batch->schema(), {}).ValueOrDie();
  EvalOrder order(bound->root(), *batch->schema());
  ReadContext ctx;
  if (learn) EXPECT_TRUE(order.Learn(StatsUnit(batch), ctx).ok());
  order.Rank();
  std::vector<std::string> out;
  for (uint32_t i : order.PartsOf(bound->root())) out.push_back(bound->root().children[i]->text);
  return out;
}

using Texts = std::vector<std::string>;

TEST(EvalOrder, CheapAndSelectivePartsComeFirst) {
  auto batch = Sample(20000);
  EXPECT_EQ(OrderOf(batch, "s LIKE '%abc%' AND few >= 0 AND id = 7", true),
            (Texts{"id = 7", "s LIKE '%abc%'", "few >= 0"}));
  // Without statistics a range may well keep few rows, and costs nothing.
  EXPECT_EQ(OrderOf(batch, "s LIKE '%abc%' AND few >= 0 AND id = 7", false),
            (Texts{"id = 7", "few >= 0", "s LIKE '%abc%'"}));
  // Counts of the values tell what most rows hold.
  EXPECT_EQ(OrderOf(batch, "few = 0 AND id < 5000", true), (Texts{"id < 5000", "few = 0"}));
  EXPECT_EQ(OrderOf(batch, "few = 3 AND id < 5000", true), (Texts{"few = 3", "id < 5000"}));
  // OR is decided by what is true.
  EXPECT_EQ(OrderOf(batch, "few = 3 OR id < 15000", true), (Texts{"id < 15000", "few = 3"}));
  // At the root NULL is as good as FALSE.
  EXPECT_EQ(OrderOf(batch, "id < 12000 AND late >= 0", true), (Texts{"late >= 0", "id < 12000"}));
}

double Share(const std::shared_ptr<arrow::RecordBatch>& batch, const std::string& sql) {
  auto bound = BindPredicate(sql, *batch->schema(), {}).ValueOrDie();
  const Probe& probe = *bound->root().probe;
  auto array = batch->GetColumnByName(probe.column.steps[0]);
  return ChancesOf(probe, StatsOf(array), *array->type())->is_true;
}

TEST(Selectivity, NearTheTruth) {
  auto batch = Sample(20000);
  auto truth = [&](const std::string& sql) { return static_cast<double>(Rows(batch, sql).size()) / 20000; };
  // Every value is known by name: counted.
  for (const char* sql : {"few = 0", "few <> 0", "few IN (1, 2, 77)", "few > 4", "few = 77", "few NOT IN (0, 3)"}) {
    EXPECT_DOUBLE_EQ(Share(batch, sql), truth(sql)) << sql;
  }
  // Ranges by quantiles, NULLs counted.
  for (const char* sql : {"id < 5000", "id >= 19000", "id BETWEEN 100 AND 8000", "late < 250",
                          "late > 900 OR late < 10", "NOT (late < 250)", "id <> 5"}) {
    EXPECT_NEAR(Share(batch, sql), truth(sql), 0.02) << sql;
  }
  EXPECT_NEAR(Share(batch, "id = 17"), 1.0 / 20000, 5e-5);
  EXPECT_NEAR(Share(batch, "id IN (1, 2, 3, 4, 5)"), 5.0 / 20000, 2e-4);
  EXPECT_EQ(Share(batch, "id = -5"), 0) << "below the least";
  EXPECT_EQ(Share(batch, "late IS NULL"), 0.5);
  EXPECT_NEAR(Share(batch, "s < '8'"), 0.5, 0.06) << "by where the text lies between the least and the greatest";
  EXPECT_LT(Share(batch, "s LIKE 'ab%x'"), 0.02) << "implied by the beginning";
}

TEST(Selectivity, OfAndOrNot) {
  using Kind = BoundPredicate::Node::Kind;
  const Chances half{0.5, 0.25}, tenth{0.1, 0};
  const Chances both = Combined(Kind::kAnd, {half, tenth});
  EXPECT_DOUBLE_EQ(both.is_true, 0.05);
  EXPECT_DOUBLE_EQ(both.is_false(), 1 - 0.75 * 0.1);
  const Chances any = Combined(Kind::kOr, {half, tenth});
  EXPECT_DOUBLE_EQ(any.is_true, 1 - 0.5 * 0.9);
  EXPECT_DOUBLE_EQ(any.is_false(), 0.25 * 0.9);
  EXPECT_DOUBLE_EQ(Combined(Kind::kNot, {half}).is_true, 0.25);
  EXPECT_DOUBLE_EQ(Combined(Kind::kNot, {half}).is_null, 0.25);
}

// The rows that Filter keeps, over batches; with the counts of what was asked.
RowList Filtered(const BoundPredicate& bound, const arrow::RecordBatch& batch, EvalOrder& order) {
  ReadContext ctx;
  RowList rows;
  auto found = Recheck(bound, batch, &order, ctx);
  EXPECT_TRUE(found.ok()) << found.status().ToString();
  for (const RowRange& r : found->ranges()) {
    for (uint64_t i = r.begin; i < r.end; ++i) rows.push_back(static_cast<int64_t>(i));
  }
  return rows;
}

TEST(EvalOrder, LaterPartsAreAskedOnlyOfRowsThatAreOpen) {
  auto batch = Sample(20000);
  auto bound = BindPredicate("s LIKE '%a%' AND few = 3", *batch->schema(), {}).ValueOrDie();
  EvalOrder order(bound->root(), *batch->schema());
  Filtered(*bound, *batch, order);
  const auto& children = bound->root().children;
  EXPECT_EQ(order.part(*children[1]).asked, 20000u);
  EXPECT_EQ(order.part(*children[0]).asked, Rows(batch, "few = 3").size());
  EXPECT_EQ(order.evaluations(), 20000 + Rows(batch, "few = 3").size());
}

TEST(EvalOrder, WhatWasSeenCorrectsAGuess) {
  auto batch = Sample(20000);
  auto bound = BindPredicate("id >= 0 AND late BETWEEN 5 AND 6 AND few + 1 = 1", *batch->schema(), {}).ValueOrDie();
  EvalOrder order(bound->root(), *batch->schema());
  Filtered(*bound, *batch, order);
  order.Rank();
  const auto& part = order.part(*bound->root().children[1]);
  EXPECT_EQ(part.from, EvalOrder::From::kSeen);
  EXPECT_LT(part.chances.is_true, 0.01);
  EXPECT_EQ(order.PartsOf(bound->root())[0], 1u);
  EXPECT_EQ(order.FewAfter(0.01), 1u);
}

// Random trees over columns with NULLs: any order, the same rows; and the same truth from Evaluate, which skips too.
std::string RandomSql(std::mt19937_64& rng, int depth) {
  static const std::vector<std::string> leaves = {"few = 0",
                                                  "few > 2",
                                                  "late < 500",
                                                  "late IS NULL",
                                                  "id % 3 = 0",
                                                  "100 / few > 20",
                                                  "s LIKE '%a%'",
                                                  "s < '8'",
                                                  "late + 1 > few",
                                                  "upper(s) LIKE '%F%'",
                                                  "CASE WHEN few > 0 THEN 10 / few > 3 ELSE late > 100 END",
                                                  "coalesce(late, id) > 300",
                                                  "NULL",
                                                  "few IN (1, 2, NULL)",
                                                  "id > 40"};
  if (depth == 0 || rng() % 4 == 0) return leaves[rng() % leaves.size()];
  const char* op = rng() % 2 ? " AND " : " OR ";
  std::string out = rng() % 4 == 0 ? "NOT (" : "(";
  for (uint64_t i = 0, n = 2 + rng() % 3; i < n; ++i) out += (i > 0 ? op : "") + RandomSql(rng, depth - 1);
  return out + ")" + (rng() % 8 == 0 ? " IS TRUE" : "");
}

// Row by row: a batch of one row leaves nothing to skip but by three-valued logic itself.
TEST(EvalOrder, NoOrderChangesAnAnswer) {
  auto batch = Sample(150, 5);
  std::mt19937_64 rng(20260730);
  for (int round = 0; round < 80; ++round) {
    const std::string sql = RandomSql(rng, 3);
    auto bound = BindPredicate(sql, *batch->schema(), {}).ValueOrDie();
    std::string alone;
    for (int64_t i = 0; i < batch->num_rows(); ++i) alone += Truth(batch->Slice(i, 1), sql);
    EXPECT_EQ(Truth(batch, sql), alone) << sql;
    EvalOrder order(bound->root(), *batch->schema());
    for (int again = 0; again < 3; ++again) {
      if (order.has_choice()) EXPECT_EQ(Filtered(*bound, *batch, order), Rows(batch, sql)) << sql;
      ReadContext ctx;
      if (again == 0) EXPECT_TRUE(order.Learn(StatsUnit(batch), ctx).ok());
      order.Rank();
    }
  }
}

TEST(EvalOrder, OnlyAPartOfAnAnd) {
  auto batch = Sample(5000);
  auto bound = BindPredicate("few = 3 AND s LIKE '%a%' AND late > 200", *batch->schema(), {}).ValueOrDie();
  EXPECT_EQ(bound->conjunct_columns(), (std::vector<std::vector<FieldPath>>{{{{"few"}}}, {{{"s"}}}, {{{"late"}}}}));
  EvalOrder order(bound->root(), *batch->schema());
  RowSet first;
  {
    EvalOrder::OnlyPart only(&order, 0, 1);
    for (int64_t i : Filtered(*bound, *batch, order))
      first.Append(static_cast<uint64_t>(i), static_cast<uint64_t>(i) + 1);
  }
  EXPECT_EQ(first.size(), Rows(batch, "few = 3").size());
  auto some = Select(batch, first, arrow::default_memory_pool()).ValueOrDie();
  EvalOrder::OnlyPart only(&order, 1, SIZE_MAX);
  EXPECT_EQ(Filtered(*bound, *some, order).size(), Rows(batch, "few = 3 AND s LIKE '%a%' AND late > 200").size());
}

TEST(EvalOrder, ColumnsOfThePartsOfAnAnd) {
  auto schema = Sample(1)->schema();
  using Columns = std::vector<std::vector<FieldPath>>;
  auto columns = [&](const std::string& sql) {
    return BindPredicate(sql, *schema, {}).ValueOrDie()->conjunct_columns();
  };
  const FieldPath id{{"id"}}, few{{"few"}}, late{{"late"}}, s{{"s"}};
  EXPECT_EQ(columns("id + few > 3 AND (late > 1 OR s = 'x')"), (Columns{{id, few}, {late, s}}));
  EXPECT_EQ(columns("id > 3 AND s = 'x' AND id < 9"), (Columns{{id}, {s}})) << "two tests of one column are one";
  EXPECT_EQ(columns("id > 3 OR s = 'x'"), Columns{});
  EXPECT_EQ(columns("id > 3"), Columns{});
}

}  // namespace
}  // namespace pilum
