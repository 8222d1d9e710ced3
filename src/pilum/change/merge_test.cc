// Updates and merges on real files in memory; what pylance says of them is tests/interop/test_table_update.py and
// test_table_merge.py.
#include <gtest/gtest.h>

#include <map>

#include <arrow/api.h>

#include "pilum/change/expressions.h"
#include "pilum/change/merge_keys.h"
#include "pilum/change/merge_rows.h"
#include "pilum/change/update_rows.h"
#include "pilum/change/write_table.h"

namespace pilum {
namespace {

std::shared_ptr<arrow::Schema> TwoNumbers() {
  return arrow::schema({arrow::field("a", arrow::int64()), arrow::field("b", arrow::int64())});
}

std::shared_ptr<arrow::RecordBatch> Batch(const std::vector<int64_t>& a, int64_t plus) {
  arrow::Int64Builder x, y;
  for (const int64_t i : a) EXPECT_TRUE(x.Append(i).ok() && y.Append(i + plus).ok());
  return arrow::RecordBatch::Make(TwoNumbers(), static_cast<int64_t>(a.size()),
                                  {x.Finish().ValueOrDie(), y.Finish().ValueOrDie()});
}

std::shared_ptr<arrow::RecordBatchReader> Rows(const std::vector<int64_t>& a, int64_t plus) {
  return arrow::RecordBatchReader::Make({Batch(a, plus)}, TwoNumbers()).ValueOrDie();
}

std::vector<int64_t> Range(int64_t begin, int64_t end) {
  std::vector<int64_t> out;
  for (int64_t i = begin; i < end; ++i) out.push_back(i);
  return out;
}

struct World {
  std::shared_ptr<ObjectStore> store = ObjectStore::Memory();
  ReadContext ctx;
  explicit World(bool stable = false) {
    WriteTableOptions options;
    options.max_rows_per_file = 20;
    options.stable_row_ids = stable;
    EXPECT_TRUE(WriteTable(store, *Rows(Range(0, 50), 0), options, ctx).ok());
  }
  WritableTable ToWrite() { return OpenToWrite(store, ctx).ValueOrDie(); }
  size_t DataFiles() { return store->List("data/").ValueOrDie().size(); }
  std::multimap<int64_t, int64_t> Pairs() {
    std::multimap<int64_t, int64_t> out;
    auto snapshot = Table::Open(store, {}, ctx).ValueOrDie()->OpenSnapshot({}, ctx).ValueOrDie();
    auto result = RunQuery(snapshot, BindQuery("SELECT a, b FROM t", *snapshot, {}).ValueOrDie(), {}, ctx).ValueOrDie();
    while (auto batch = result->Next().ValueOrDie()) {
      const auto& a = static_cast<const arrow::Int64Array&>(*batch->column(0));
      const auto& b = static_cast<const arrow::Int64Array&>(*batch->column(1));
      for (int64_t i = 0; i < a.length(); ++i) out.emplace(a.Value(i), b.Value(i));
    }
    return out;
  }
};

MergeOptions Upsert(uint64_t held = 1 << 20) {
  MergeOptions out;
  out.on = {"a"};
  out.matched = WhenMatched::kUpdate;
  out.insert = true;
  out.held_bytes = held;
  return out;
}

TEST(Update, ChangesRowsAndCountsThem) {
  World world;
  auto done = UpdateRows(world.ToWrite(), {{"b", "a * 2.9"}}, "a >= 48", {}, world.ctx);
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  EXPECT_EQ(done->rows, 2u);
  auto pairs = world.Pairs();
  EXPECT_EQ(pairs.size(), 50u);
  EXPECT_EQ(pairs.find(49)->second, 142);  // 142.1, cut off
  EXPECT_EQ(pairs.find(47)->second, 47);
}

TEST(Update, AFailedOneLeavesNoFiles) {
  World world;
  auto done = UpdateRows(world.ToWrite(), {{"b", "100 / (a - 45)"}}, "", {}, world.ctx);
  EXPECT_FALSE(done.ok());
  EXPECT_EQ(world.DataFiles(), 3u);
}

TEST(Expressions, AreOfOneRowEach) {
  ReadContext ctx;
  for (const char* wrong : {"sum(a)", "a, b", "a) AS x, (b", "*", "a FROM t WHERE b", "nope", ""}) {
    EXPECT_FALSE(Expressions::Make(*TwoNumbers(), {{"b", wrong, arrow::int64()}}).ok()) << wrong;
  }
  auto made = Expressions::Make(*TwoNumbers(), {{"x", "a", arrow::int8()}, {"y", "b + 1", arrow::utf8()}}).ValueOrDie();
  auto values = made.Evaluate(*Batch({1, 2}, 10), ctx).ValueOrDie();
  EXPECT_EQ(values[0]->type_id(), arrow::Type::INT8);
  EXPECT_EQ(static_cast<const arrow::StringArray&>(*values[1]).GetString(1), "13");
  auto large = made.Evaluate(*Batch({1000}, 0), ctx);
  EXPECT_EQ(KindOf(large.status()), ErrorKind::kUsage) << large.status().ToString();
}

TEST(MergeKeys, NullsEqualNothing) {
  MergeKeys keys;
  arrow::Int64Builder builder;
  ASSERT_TRUE(builder.AppendValues({5, 0, 5, 7}, {true, false, true, true}).ok());
  auto array = builder.Finish().ValueOrDie();
  ASSERT_TRUE(keys.Add({array}, 4).ok());
  EXPECT_EQ(keys.num_keys(), 2u);
  EXPECT_EQ(keys.key_of_row(), (std::vector<uint32_t>{0, MergeKeys::kNone, 0, 1}));
  EXPECT_EQ(keys.rows_of(0), (std::vector<uint32_t>{0, 2}));
  std::vector<uint32_t> found;
  ASSERT_TRUE(keys.Find({array->Slice(1)}, 3, &found).ok());
  EXPECT_EQ(found, (std::vector<uint32_t>{MergeKeys::kNone, 0, 1}));
  EXPECT_FALSE(MergeKeys::CheckType("l", *arrow::list(arrow::int64())).ok());
}

TEST(Merge, FilesPutAsideBecomeFragmentsWhereAllIsWritten) {
  for (const bool stable : {false, true}) {
    World world(stable);
    // Updated rows before new ones, and the other way round: the one is written once, the other twice if ids have an order.
    ASSERT_TRUE(MergeRows(world.ToWrite(), *Rows({48, 49, 50, 51}, 100), Upsert(0), world.ctx).ok());
    EXPECT_EQ(world.DataFiles(), 4u);
    ASSERT_TRUE(MergeRows(world.ToWrite(), *Rows({60, 61, 2}, 100), Upsert(0), world.ctx).ok());
    EXPECT_EQ(world.DataFiles(), 5u);
    auto pairs = world.Pairs();
    EXPECT_EQ(pairs.size(), 54u);
    for (const int64_t a : {48, 49, 50, 51, 60, 61, 2}) EXPECT_EQ(pairs.find(a)->second, a + 100);
    // Where some are left out, none of what was put aside stays.
    MergeOptions insert = Upsert(0);
    insert.matched = WhenMatched::kKeep;
    auto done = MergeRows(world.ToWrite(), *Rows({1, 70, 2}, 200), insert, world.ctx);
    ASSERT_TRUE(done.ok());
    EXPECT_EQ(done->inserted, 1u);
    EXPECT_EQ(world.DataFiles(), 6u);
    EXPECT_EQ(world.Pairs().find(2)->second, 102);
  }
}

TEST(Merge, NewKeysAreInsertedOnce) {
  for (const uint64_t held : {uint64_t{0}, uint64_t{1} << 20}) {
    World world;
    auto stale = world.ToWrite();
    ASSERT_TRUE(MergeRows(stale, *Rows({70, 71}, 1), Upsert(held), world.ctx).ok());
    auto second = MergeRows(stale, *Rows({71, 72}, 2), Upsert(held), world.ctx);
    ASSERT_TRUE(second.ok()) << second.status().ToString();
    EXPECT_EQ(second->inserted, 1u);
    EXPECT_EQ(second->updated, 1u);
    EXPECT_EQ(second->version, 3u);
    auto pairs = world.Pairs();
    EXPECT_EQ(pairs.count(71), 1u);
    EXPECT_EQ(pairs.find(71)->second, 73);
    EXPECT_EQ(world.DataFiles(), 5u);  // what the first attempt wrote is gone or in use
    MergeOptions once = Upsert(held);
    once.max_redo = 0;
    auto refused = MergeRows(stale, *Rows({72}, 3), once, world.ctx);
    EXPECT_EQ(KindOf(refused.status()), ErrorKind::kRetry) << refused.status().ToString();
    EXPECT_EQ(world.DataFiles(), 5u);
  }
}

TEST(Merge, AmbiguousRowsAreNoMerge) {
  World world;
  auto done = MergeRows(world.ToWrite(), *Rows({3, 90, 3}, 0), Upsert(), world.ctx);
  EXPECT_EQ(KindOf(done.status()), ErrorKind::kUsage);
  EXPECT_NE(done.status().message().find("(a = 3)"), std::string::npos) << done.status().ToString();
  MergeOptions nothing;
  nothing.on = {"a"};
  EXPECT_EQ(KindOf(MergeRows(world.ToWrite(), *Rows({3}, 0), nothing, world.ctx).status()), ErrorKind::kUsage);
  EXPECT_EQ(world.DataFiles(), 3u);
}

}  // namespace
}  // namespace pilum
