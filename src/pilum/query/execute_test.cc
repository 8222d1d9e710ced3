// From a bound query to rows, over units in memory. Predicates are built by hand here and evaluated row by row in plain
// C++; what SQL text means is tested where it is bound.
#include "pilum/query/execute.h"

#include <gtest/gtest.h>

#include <random>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include "pilum/query/narrow.h"
#include "pilum/query/prune.h"
#include "pilum/query/recheck.h"
#include "tests/support/memory_snapshot.h"

namespace pilum {
namespace {

using Node = BoundPredicate::Node;
using NodePtr = std::shared_ptr<const Node>;
using testing::MemorySnapshot;

std::shared_ptr<Node> Branch(Node::Kind kind, std::vector<NodePtr> children) {
  auto n = std::make_shared<Node>();
  n->kind = kind;
  n->children = std::move(children);
  return n;
}
NodePtr And(std::vector<NodePtr> c) { return Branch(Node::Kind::kAnd, std::move(c)); }
NodePtr Or(std::vector<NodePtr> c) { return Branch(Node::Kind::kOr, std::move(c)); }
NodePtr Not(NodePtr c) { return Branch(Node::Kind::kNot, {std::move(c)}); }
NodePtr Const(std::optional<bool> v) {
  auto n = Branch(Node::Kind::kConst, {});
  n->constant = v;
  return n;
}
NodePtr In(std::vector<std::string> path, ValueSet set) {
  auto n = Branch(Node::Kind::kLeaf, {});
  n->probe = Probe{Probe::Kind::kInSet, {std::move(path)}, std::move(set), true};
  n->text = n->probe->ToString();
  return n;
}
NodePtr IsNull(std::vector<std::string> path) {
  auto n = Branch(Node::Kind::kLeaf, {});
  n->probe = Probe{Probe::Kind::kIsNull, {std::move(path)}, {}, true};
  n->text = n->probe->ToString();
  return n;
}
// TRUE where the column's value is in `set` and even: it implies membership and no more.
NodePtr InAndEven(std::vector<std::string> path, ValueSet set) {
  auto n = std::const_pointer_cast<Node>(In(std::move(path), std::move(set)));
  n->probe->exact = false;
  return n;
}
ValueSet From(int64_t lo) { return ValueSet::Of({Bound{Value::Int(lo), true}, std::nullopt}); }
ValueSet Between(int64_t lo, int64_t hi) {
  return ValueSet::Of({Bound{Value::Int(lo), true}, Bound{Value::Int(hi), true}});
}

std::optional<bool> Eval(const Node& n, const arrow::RecordBatch& batch, int64_t row) {
  switch (n.kind) {
    case Node::Kind::kConst: return n.constant;
    case Node::Kind::kNot: {
      auto v = Eval(*n.children[0], batch, row);
      return v ? std::optional(!*v) : std::nullopt;
    }
    case Node::Kind::kAnd:
    case Node::Kind::kOr: {
      const bool stop = n.kind == Node::Kind::kOr;
      bool null = false;
      for (const auto& c : n.children) {
        auto v = Eval(*c, batch, row);
        if (v == stop) return stop;
        null = null || !v;
      }
      return null ? std::nullopt : std::optional(!stop);
    }
    case Node::Kind::kLeaf: {
      auto array = ArrayAt(batch, n.probe->column, arrow::default_memory_pool()).ValueOrDie();
      if (n.probe->kind == Probe::Kind::kIsNull) return array->IsNull(row);
      auto v = ValueAt(*array, row).ValueOrDie();
      if (!v) return std::nullopt;
      return n.probe->set.Contains(*v) && (n.probe->exact || v->as_int() % 2 == 0);
    }
  }
  return std::nullopt;
}

class HandMade final : public BoundPredicate {
 public:
  explicit HandMade(NodePtr root) : root_(std::move(root)) { Collect(*root_); }
  const Node& root() const override { return *root_; }
  const std::vector<FieldPath>& columns() const override { return columns_; }
  std::string ToString() const override { return "by hand"; }
  Result<std::shared_ptr<arrow::BooleanArray>> Evaluate(const arrow::RecordBatch& batch,
                                                        ReadContext& ctx) const override {
    PILUM_RETURN_NOT_OK(ctx.Check());
    arrow::BooleanBuilder builder;
    for (int64_t i = 0; i < batch.num_rows(); ++i) PILUM_RETURN_NOT_OK(builder.AppendOrNull(Eval(*root_, batch, i)));
    std::shared_ptr<arrow::BooleanArray> out;
    PILUM_RETURN_NOT_OK(builder.Finish(&out));
    return out;
  }

 private:
  void Collect(const Node& n) {
    if (n.probe && std::find(columns_.begin(), columns_.end(), n.probe->column) == columns_.end())
      columns_.push_back(n.probe->column);
    for (const auto& c : n.children) Collect(*c);
  }
  NodePtr root_;
  std::vector<FieldPath> columns_;
};

std::shared_ptr<arrow::Schema> TestSchema() {
  auto inner = arrow::struct_({arrow::field("x", arrow::int64()), arrow::field("y", arrow::utf8())});
  return arrow::schema({arrow::field("a", arrow::int64()), arrow::field("b", arrow::int32()),
                        arrow::field("s", arrow::utf8()), arrow::field("st", inner),
                        arrow::field("ls", arrow::list(inner))});
}

std::shared_ptr<arrow::RecordBatch> RandomBatch(std::mt19937_64& rng, int64_t rows) {
  auto pick = [&](int n) { return static_cast<int>(rng() % static_cast<uint64_t>(n)); };
  std::string json = "[";
  for (int64_t i = 0; i < rows; ++i) {
    auto num = [&](int n) { return pick(5) == 0 ? std::string("null") : fmt::to_string(pick(n)); };
    auto inner = [&] {
      return pick(6) == 0 ? std::string("null") : fmt::format(R"({{"x": {}, "y": "y{}"}})", num(9), pick(3));
    };
    std::string list = "null";
    if (pick(4) > 0) {
      list = "[";
      for (int k = pick(3); k > 0; --k) list += inner() + (k > 1 ? "," : "");
      list += "]";
    }
    json += fmt::format(R"({}{{"a": {}, "b": {}, "s": "v{}", "st": {}, "ls": {}}})", i ? "," : "",
                        pick(9) < 3 ? fmt::to_string(i) : num(20), num(4), i, inner(), list);
  }
  auto array = arrow::json::ArrayFromJSONString(arrow::struct_(TestSchema()->fields()), json + "]").ValueOrDie();
  return arrow::RecordBatch::FromStructArray(array).ValueOrDie();
}

NodePtr RandomTree(std::mt19937_64& rng, int depth) {
  auto pick = [&](int n) { return static_cast<int>(rng() % static_cast<uint64_t>(n)); };
  const int kind = depth == 0 ? 3 + pick(4) : pick(7);
  if (kind <= 1) {
    std::vector<NodePtr> children;
    for (int n = 1 + pick(3); n > 0; --n) children.push_back(RandomTree(rng, depth - 1));
    return kind == 0 ? And(children) : Or(children);
  }
  if (kind == 2) return Not(RandomTree(rng, depth - 1));
  const std::vector<std::vector<std::string>> paths = {{"a"}, {"b"}, {"st", "x"}};
  const auto& path = paths[static_cast<size_t>(pick(3))];
  if (kind == 3) return pick(8) == 0 ? Const(pick(3) == 0 ? std::nullopt : std::optional(pick(2) == 0)) : IsNull(path);
  if (kind == 4) return InAndEven(path, Between(pick(10), 3 + pick(10)));
  if (kind == 5) return In(path, pick(5) == 0 ? ValueSet::None() : From(pick(12)));
  return In(path, Between(pick(10), 2 + pick(10)));
}

BoundQuery Query(NodePtr where, std::vector<FieldPath> columns) {
  BoundQuery q;
  if (where) q.where = std::make_shared<HandMade>(std::move(where));
  for (const auto& c : columns) q.output_names.push_back(c.ToString());
  q.columns = std::move(columns);
  return q;
}

std::shared_ptr<const Snapshot> Snap(const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches,
                                     uint64_t zone_rows) {
  return MemorySnapshot::Make(TestSchema(), batches, zone_rows).ValueOrDie();
}

std::shared_ptr<arrow::Table> All(QueryResult& result) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  while (true) {
    auto next = result.Next();
    EXPECT_TRUE(next.ok()) << next.status();
    if (!next.ok() || !*next) break;
    EXPECT_GT((*next)->num_rows(), 0);
    EXPECT_TRUE((*next)->ValidateFull().ok());
    batches.push_back(*next);
  }
  return arrow::Table::FromRecordBatches(result.schema(), batches).ValueOrDie();
}

std::shared_ptr<arrow::Table> RunAll(std::shared_ptr<const Snapshot> snapshot, BoundQuery query,
                                     QueryOptions options = {}, QueryCounts* counts = nullptr,
                                     ReadStats* stats = nullptr) {
  ReadContext ctx;
  ctx.stats = stats;
  auto result = RunQuery(std::move(snapshot), std::move(query), options, ctx).ValueOrDie();
  auto table = All(*result);
  if (counts) *counts = result->counts();
  return table;
}

// The rows a query should give, as (unit, row), by looking at every row.
std::vector<std::pair<size_t, int64_t>> Wanted(const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches,
                                               const BoundQuery& q) {
  std::vector<std::pair<size_t, int64_t>> out;
  for (size_t u = 0; u < batches.size(); ++u) {
    for (int64_t i = 0; i < batches[u]->num_rows(); ++i) {
      if (!q.where || Eval(q.where->root(), *batches[u], i) == true) out.push_back({u, i});
    }
  }
  const size_t skip = std::min<size_t>(q.offset, out.size());
  out.erase(out.begin(), out.begin() + static_cast<ptrdiff_t>(skip));
  if (q.limit && out.size() > *q.limit) out.resize(*q.limit);
  return out;
}

TEST(Execute, RandomTreesGiveTheRowsThatMatchInOrder) {
  std::mt19937_64 rng(7);
  const std::vector<FieldPath> paths = {{{"a"}},       {{"b"}},       {{"s"}},  {{"st"}},
                                        {{"st", "x"}}, {{"st", "y"}}, {{"ls"}}, {{"ls", "x"}}};
  for (int round = 0; round < 400; ++round) {
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    for (uint64_t n = rng() % 4; n > 0; --n) batches.push_back(RandomBatch(rng, static_cast<int64_t>(rng() % 40)));
    std::vector<FieldPath> columns;
    for (uint64_t n = rng() % 4; n > 0; --n) columns.push_back(paths[rng() % paths.size()]);
    BoundQuery q = Query(rng() % 10 == 0 ? nullptr : RandomTree(rng, 3), columns);
    if (rng() % 3 == 0) q.limit = rng() % 20;
    if (rng() % 3 == 0) q.offset = rng() % 20;
    const auto wanted = Wanted(batches, q);

    for (uint64_t zone_rows : {0, 1, 4, 100}) {
      QueryOptions options;
      options.limits.rows = 1 + rng() % 8;
      auto got = RunAll(Snap(batches, zone_rows), q, options);
      ASSERT_EQ(got->num_rows(), static_cast<int64_t>(wanted.size())) << "round " << round << " zones of " << zone_rows;
      for (size_t c = 0; c < columns.size(); ++c) {
        for (size_t i = 0; i < wanted.size(); ++i) {
          auto whole = ArrayAt(*batches[wanted[i].first], columns[c], arrow::default_memory_pool()).ValueOrDie();
          auto a = got->column(static_cast<int>(c))->GetScalar(static_cast<int64_t>(i)).ValueOrDie();
          auto b = whole->GetScalar(wanted[i].second).ValueOrDie();
          ASSERT_TRUE(a->Equals(*b)) << columns[c].ToString() << ": " << a->ToString() << " for " << b->ToString();
        }
      }
    }
  }
}

// What these tests would say of an index that forgets a row.
TEST(Execute, ALyingIndexIsNoticed) {
  std::mt19937_64 rng(5);
  int noticed = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches = {RandomBatch(rng, 30)};
    const BoundQuery q = Query(RandomTree(rng, 2), {{{"s"}}});
    auto liar = std::make_shared<testing::LyingSnapshot>(Snap(batches, 4));
    if (RunAll(liar, q)->num_rows() != static_cast<int64_t>(Wanted(batches, q).size())) ++noticed;
  }
  EXPECT_GT(noticed, 5);
}

TEST(Execute, ExactWithinNarrowedWithinKept) {
  std::mt19937_64 rng(11);
  ReadContext ctx;
  for (int round = 0; round < 1000; ++round) {
    auto batch = RandomBatch(rng, static_cast<int64_t>(rng() % 30));
    NodePtr root = RandomTree(rng, 3);
    RowSet exact;
    for (int64_t i = 0; i < batch->num_rows(); ++i) {
      if (Eval(*root, *batch, i) == true) exact.Append(static_cast<uint64_t>(i), static_cast<uint64_t>(i) + 1);
    }
    for (uint64_t zone_rows : {1, 3, 100}) {
      auto snapshot = Snap({batch}, zone_rows);
      const Unit& unit = *snapshot->units()[0];
      auto c = Narrow(*root, unit, true, ctx).ValueOrDie();
      EXPECT_TRUE(c.certain.IsSubsetOf(exact)) << c.certain.ToString() << " certain, " << exact.ToString() << " exact";
      EXPECT_TRUE(exact.IsSubsetOf(c.possible))
          << exact.ToString() << " exact, " << c.possible.ToString() << " possible";
      EXPECT_TRUE(exact.empty() || MayMatch(*root, unit, true, ctx).ValueOrDie());
    }
  }
}

TEST(Execute, NotAsksForTheComplementAndSparesNulls) {
  auto schema = TestSchema();
  auto batch = [&](const char* values) {
    auto a = arrow::json::ArrayFromJSONString(arrow::int64(), values).ValueOrDie();
    return arrow::RecordBatch::Make(arrow::schema({arrow::field("a", arrow::int64())}), a->length(), {a});
  };
  auto snapshot = Snap({batch("[1, 2]"), batch("[null, null]"), batch("[null, 7]"), batch("[7, 7]")}, 100);
  ReadContext ctx;
  auto kept = [&](NodePtr root) {
    std::string out;
    for (const auto& unit : snapshot->units()) out += MayMatch(*root, *unit, true, ctx).ValueOrDie() ? "y" : "n";
    return out;
  };
  EXPECT_EQ(kept(In({"a"}, ValueSet::Point(Value::Int(7)))), "nnyy");
  EXPECT_EQ(kept(Not(In({"a"}, ValueSet::Point(Value::Int(7))))), "ynnn") << "nulls do not become TRUE under NOT";
  EXPECT_EQ(kept(IsNull({"a"})), "nyyn");
  EXPECT_EQ(kept(Not(IsNull({"a"}))), "ynyy");
  EXPECT_EQ(kept(Not(InAndEven({"a"}, From(0)))), "yyyy") << "an inexact probe proves nothing under NOT";
  EXPECT_EQ(kept(Not(Not(In({"a"}, ValueSet::Point(Value::Int(7)))))), "nnyy");
  EXPECT_EQ(kept(Const(std::nullopt)), "nnnn");
  EXPECT_EQ(kept(Not(Const(std::nullopt))), "nnnn");
  EXPECT_EQ(kept(And({Const(true), In({"b"}, From(0))})), "nnnn") << "a column that no unit has is null";
  EXPECT_EQ(kept(IsNull({"b"})), "yyyy");
}

TEST(Execute, CountsAndReadsOnlyWhatIsNeeded) {
  arrow::Int64Builder a;
  arrow::StringBuilder s;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(a.Append(i).ok() && s.Append(fmt::format("v{}", i)).ok());
  auto batch =
      arrow::RecordBatch::Make(arrow::schema({arrow::field("a", arrow::int64()), arrow::field("s", arrow::utf8())}),
                               100, {a.Finish().ValueOrDie(), s.Finish().ValueOrDie()});
  auto snapshot = Snap({batch, batch->Slice(0, 10)}, 10);
  BoundQuery q = Query(In({"a"}, Between(35, 52)), {{{"s"}}});
  ReadStats stats;
  QueryCounts c;
  EXPECT_EQ(RunAll(snapshot, q, {}, &c, &stats)->num_rows(), 18);
  EXPECT_EQ(c.units, 2u);
  EXPECT_EQ(c.units_pruned, 1u);
  EXPECT_EQ(c.units_read, 1u);
  EXPECT_EQ(c.rows_total, 110u);
  EXPECT_EQ(c.rows_candidate, 30u);
  EXPECT_EQ(c.rows_certain, 10u);  // 40..49
  EXPECT_EQ(c.rows_rechecked, 20u);
  EXPECT_EQ(c.rows_matched, 18u);
  EXPECT_EQ(c.rows_returned, 18u);
  EXPECT_EQ(stats.decoded(), (std::map<std::string, uint64_t>{{"a", 20}, {"s", 18}}));

  ReadStats scanned;
  QueryOptions no_index;
  no_index.use_index = false;
  EXPECT_EQ(RunAll(snapshot, q, no_index, &c, &scanned)->num_rows(), 18);
  EXPECT_EQ(c.units_pruned, 0u);
  EXPECT_EQ(c.rows_candidate, 110u);
  EXPECT_EQ(scanned.decoded(), (std::map<std::string, uint64_t>{{"a", 110}, {"s", 18}}));

  // SELECT needs only what the predicate read: once is enough.
  ReadStats once;
  EXPECT_EQ(RunAll(snapshot, Query(In({"a"}, Between(35, 52)), {{{"a"}}}), no_index, &c, &once)->num_rows(), 18);
  EXPECT_EQ(once.decoded(), (std::map<std::string, uint64_t>{{"a", 110}}));

  // OFFSET without WHERE skips rows unread; LIMIT ends it.
  ReadStats skipped;
  BoundQuery page = Query(nullptr, {{{"a"}}});
  page.offset = 95;
  page.limit = 8;
  EXPECT_EQ(RunAll(snapshot, page, {}, &c, &skipped)->num_rows(), 8);
  EXPECT_EQ(skipped.decoded(), (std::map<std::string, uint64_t>{{"a", 8}}));
}

TEST(Execute, LimitStopsEarly) {
  arrow::Int64Builder a;
  arrow::StringBuilder s;
  for (int i = 0; i < 200000; ++i) ASSERT_TRUE(a.Append(i % 10).ok() && s.Append("x").ok());
  auto batch =
      arrow::RecordBatch::Make(arrow::schema({arrow::field("a", arrow::int64()), arrow::field("s", arrow::utf8())}),
                               200000, {a.Finish().ValueOrDie(), s.Finish().ValueOrDie()});
  auto snapshot = Snap({batch, batch}, 0);
  for (const char* column : {"s", "a"}) {
    BoundQuery q = Query(In({"a"}, ValueSet::Point(Value::Int(3))), {{{column}}});
    q.limit = 5;
    QueryCounts c;
    ReadStats stats;
    EXPECT_EQ(RunAll(snapshot, q, {}, &c, &stats)->num_rows(), 5);
    EXPECT_EQ(c.units_read, 1u);
    EXPECT_LE(c.rows_rechecked, 16384u);
    q.limit = 0;
    EXPECT_EQ(RunAll(snapshot, q, {}, &c)->num_rows(), 0);
    EXPECT_EQ(c.units_read, 0u);
    q.limit = 30000;
    EXPECT_EQ(RunAll(snapshot, q, {}, &c)->num_rows(), 30000);
    EXPECT_EQ(c.units_read, 2u);
  }
}

// Under a LIMIT that is not reached every row is looked at, and none twice, however the rounds grow over a unit.
TEST(Execute, AllRoundsTogetherAreAllRows) {
  for (int64_t rows : {16385, 81921, 100000, 400000}) {
    arrow::Int64Builder a;
    arrow::StringBuilder s;
    for (int64_t i = 0; i < rows; ++i) ASSERT_TRUE(a.Append(i).ok() && s.Append("x").ok());
    auto batch =
        arrow::RecordBatch::Make(arrow::schema({arrow::field("a", arrow::int64()), arrow::field("s", arrow::utf8())}),
                                 rows, {a.Finish().ValueOrDie(), s.Finish().ValueOrDie()});
    auto snapshot = Snap({batch}, 0);
    for (const char* column : {"s", "a"}) {
      BoundQuery q = Query(And({In({"a"}, Between(10, 12)), Not(IsNull({"s"}))}), {{{column}}});
      q.limit = 1000;
      QueryCounts c;
      EXPECT_EQ(RunAll(snapshot, q, {}, &c)->num_rows(), 3) << rows;
      EXPECT_EQ(c.rows_rechecked, static_cast<uint64_t>(rows));
    }
  }
}

TEST(Execute, ConstantsAndEmptyColumnLists) {
  std::mt19937_64 rng(3);
  auto snapshot = Snap({RandomBatch(rng, 5), RandomBatch(rng, 0), RandomBatch(rng, 7)}, 2);
  for (bool use_index : {true, false}) {
    QueryOptions o;
    o.use_index = use_index;
    o.limits.rows = 4;
    QueryCounts c;
    EXPECT_EQ(RunAll(snapshot, Query(nullptr, {}), o)->num_rows(), 12);
    EXPECT_EQ(RunAll(snapshot, Query(Const(true), {{{"a"}}}), o)->num_rows(), 12);
    EXPECT_EQ(RunAll(snapshot, Query(Const(false), {{{"a"}}}), o, &c)->num_rows(), 0);
    EXPECT_EQ(c.units_pruned, 3u);
    EXPECT_EQ(RunAll(snapshot, Query(Not(Const(std::nullopt)), {}), o)->num_rows(), 0);
    BoundQuery q = Query(nullptr, {});
    q.limit = 9;
    q.offset = 2;
    EXPECT_EQ(RunAll(snapshot, q, o)->num_rows(), 9);
  }
  EXPECT_EQ(RunAll(Snap({}, 0), Query(nullptr, {{{"a"}}}))->num_rows(), 0);
}

TEST(Execute, StoppedReadsSayHowFarTheyCame) {
  std::mt19937_64 rng(3);
  auto snapshot = Snap({RandomBatch(rng, 50)}, 0);
  ReadStats stats;
  std::stop_source stop;
  ReadContext ctx;
  ctx.stats = &stats;
  ctx.stop = stop.get_token();
  QueryOptions o;
  o.limits.rows = 10;
  auto result = RunQuery(snapshot, Query(nullptr, {{{"a"}}}), o, ctx).ValueOrDie();
  ASSERT_EQ(result->Next().ValueOrDie()->num_rows(), 10);
  stop.request_stop();
  Status first = result->Next().status();
  EXPECT_EQ(KindOf(first), ErrorKind::kCancelled);
  EXPECT_NE(first.message().find("0 of 1 units pruned, 1 read, 10 rows returned, 50 values decoded"), std::string::npos)
      << first;
  EXPECT_EQ(result->Next().status().message(), first.message());

  ReadContext late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  auto never = RunQuery(snapshot, Query(nullptr, {{{"a"}}}), o, late).ValueOrDie();
  EXPECT_EQ(KindOf(never->Next().status()), ErrorKind::kDeadline);
}

TEST(Execute, ExplainTellsPlanAndCounts) {
  std::mt19937_64 rng(3);
  auto snapshot = Snap({RandomBatch(rng, 30), RandomBatch(rng, 0)}, 10);
  auto result =
      RunQuery(snapshot, Query(And({In({"a"}, From(3)), Not(IsNull({"b"}))}), {{{"s"}}, {{"st", "x"}}}), {}, {})
          .ValueOrDie();
  EXPECT_NE(result->Explain().find("so far"), std::string::npos);
  All(*result);
  const std::string text = result->Explain();
  for (const char* part : {"source   memory", "AND", "NOT", "probe: a in", "read 1   a, b", "read 2   s, st.x",
                           "prune    1 of 2 units dropped"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  EXPECT_EQ(text.find("so far"), std::string::npos) << text;
}

TEST(Execute, ReaderGivesBatchesAndSchema) {
  std::mt19937_64 rng(3);
  auto snapshot = Snap({RandomBatch(rng, 30)}, 10);
  std::shared_ptr<QueryResult> result = RunQuery(snapshot, Query(nullptr, {{{"st", "x"}}}), {}, {}).ValueOrDie();
  auto table = MakeBatchReader(result)->ToTable().ValueOrDie();
  EXPECT_EQ(table->num_rows(), 30);
  EXPECT_EQ(table->schema()->field(0)->name(), "st.x");
  EXPECT_EQ(result->counts().rows_returned, 30u);
}

TEST(Execute, MissingColumnIsAnErrorBeforeAnyRead) {
  EXPECT_EQ(KindOf(RunQuery(Snap({}, 0), Query(nullptr, {{{"nope"}}}), {}, {}).status()), ErrorKind::kNotFound);
  EXPECT_EQ(KindOf(RunQuery(Snap({}, 0), Query(nullptr, {{{"st", "nope"}}}), {}, {}).status()), ErrorKind::kNotFound);
}

TEST(Recheck, PositionsBecomeRows) {
  const RowSet rows = RowSet::FromRanges({{10, 12}, {20, 21}, {30, 40}});
  EXPECT_EQ(PositionsToRows(RowSet::FromRanges({{1, 4}, {6, 7}}), rows),
            RowSet::FromRanges({{11, 12}, {20, 21}, {30, 31}, {33, 34}}));
  EXPECT_EQ(PositionsToRows(RowSet::All(13), rows), rows);
  EXPECT_TRUE(PositionsToRows({}, rows).empty());
}

}  // namespace
}  // namespace pilum
