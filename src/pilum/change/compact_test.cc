// Compaction: what is planned, and tables in memory. What pylance says of it is tests/interop/test_table_compact.py.
#include <gtest/gtest.h>

#include <arrow/api.h>

#include "pilum/change/compact_table.h"
#include "pilum/change/delete_rows.h"
#include "pilum/change/write_table.h"

namespace pilum {
namespace {

using Groups = std::vector<std::vector<uint64_t>>;

CompactionPlan PlanOf(const std::vector<FragmentFacts>& fragments, const CompactionOptions& options,
                      const std::vector<IndexFacts>& indices = {}) {
  return PlanCompaction(7, fragments, indices, options);
}

Groups GroupsOf(const CompactionPlan& plan) {
  Groups out;
  for (const auto& task : plan.tasks) out.push_back(task.fragments);
  return out;
}

// Of so many rows each, ids from 0.
std::vector<FragmentFacts> OfRows(const std::vector<uint64_t>& rows) {
  std::vector<FragmentFacts> out;
  for (const uint64_t n : rows) out.push_back({out.size(), n, 0, 10 * n});
  return out;
}

CompactionOptions Target(uint64_t rows) {
  CompactionOptions out;
  out.target_rows_per_fragment = rows;
  return out;
}

TEST(CompactPlan, SmallOnesBesideEachOther) {
  EXPECT_EQ(GroupsOf(PlanOf(OfRows({10, 10, 100, 10}), Target(50))), (Groups{{0, 1}}));
  EXPECT_EQ(GroupsOf(PlanOf(OfRows({10, 100, 10}), Target(50))), Groups());
  EXPECT_EQ(GroupsOf(PlanOf(OfRows({}), Target(50))), Groups());
  // As many tasks as have rows enough; what is left over belongs to the last.
  EXPECT_EQ(GroupsOf(PlanOf(OfRows({100, 400, 200, 200, 400, 300, 300, 100}), Target(500))),
            (Groups{{0, 1}, {2, 3, 4}, {5, 6, 7}}));
  EXPECT_EQ(GroupsOf(PlanOf(OfRows({30, 30, 10, 10}), Target(50))), (Groups{{0, 1, 2, 3}}));
}

TEST(CompactPlan, DeletionsAboveTheThreshold) {
  std::vector<FragmentFacts> facts = {{0, 100, 10, 0}, {1, 100, 11, 0}, {2, 100, 0, 0}};
  const auto plan = PlanOf(facts, Target(50));
  ASSERT_EQ(GroupsOf(plan), (Groups{{1}}));
  EXPECT_EQ(plan.tasks[0].reason, "a fragment with over 10 % of its rows deleted");
  EXPECT_EQ(plan.tasks[0].rows, 89u);
  EXPECT_EQ(plan.tasks[0].deleted, 11u);
  CompactionOptions never = Target(50);
  never.materialize_deletions = false;
  EXPECT_TRUE(PlanOf(facts, never).tasks.empty());
  facts[2].physical_rows = 20;
  EXPECT_EQ(PlanOf(facts, Target(50)).tasks[0].reason,
            "2 fragments beside each other, 1 below 50 rows, 1 with over 10 % of its rows deleted");
}

TEST(CompactPlan, IndexedOnesStayTogether) {
  const std::vector<IndexFacts> indices = {{"i", RowSet::FromSorted({0, 1, 4}), false},
                                           {"j", RowSet::FromSorted({0, 1, 2, 3}), true}};
  const auto plan = PlanOf(OfRows({10, 10, 10, 10, 10, 10}), Target(100), indices);
  ASSERT_EQ(GroupsOf(plan), (Groups{{0, 1}, {2, 3}}));
  EXPECT_EQ(plan.tasks[0].uncovered, std::vector<std::string>{"i"});
  EXPECT_TRUE(plan.tasks[1].uncovered.empty());
  CompactionOptions leave = Target(100);
  leave.leave_indexed = true;
  EXPECT_EQ(GroupsOf(PlanOf(OfRows({10, 10, 10, 10, 10, 10}), leave, indices)), (Groups{{2, 3}}));
}

TEST(CompactPlan, Limits) {
  const auto facts = OfRows({10, 10, 10, 10, 10, 10});
  CompactionOptions options = Target(20);
  options.max_source_fragments = 5;
  EXPECT_EQ(GroupsOf(PlanOf(facts, options)), (Groups{{0, 1}, {2, 3}}));
  options.max_source_rows = 39;
  EXPECT_EQ(GroupsOf(PlanOf(facts, options)), (Groups{{0, 1}}));
  options.max_source_bytes = 199;
  EXPECT_EQ(GroupsOf(PlanOf(facts, options)), Groups());
  CompactionOptions without = Target(20);
  without.excluded_fragments = {2, 77};
  EXPECT_EQ(GroupsOf(PlanOf(facts, without)), (Groups{{0, 1}, {3, 4, 5}}));
}

TEST(CompactPlan, TheConfigIsHeard) {
  Manifest m;
  m.config = {{"lance.compaction.target_rows_per_fragment", "12"},
              {"lance.compaction.materialize_deletions", "false"},
              {"lance.compaction.materialize_deletions_threshold", "0.5"},
              {"lance.compaction.max_source_rows", "99"}};
  const auto options = CompactionDefaults(m).ValueOrDie();
  EXPECT_EQ(options.target_rows_per_fragment, 12u);
  EXPECT_FALSE(options.materialize_deletions);
  EXPECT_EQ(options.materialize_deletions_threshold, 0.5F);
  EXPECT_EQ(options.max_source_rows, 99u);
  m.config = {{"lance.compaction.batch_size", "12x"}};
  EXPECT_EQ(KindOf(CompactionDefaults(m).status()), ErrorKind::kUsage);
  m.config = {{"lance.compaction.defer_index_remap", "true"}};
  EXPECT_EQ(KindOf(CompactionDefaults(m).status()), ErrorKind::kUnsupported);
}

std::shared_ptr<arrow::RecordBatchReader> Numbers(int64_t begin, int64_t end) {
  arrow::Int64Builder a;
  for (int64_t i = begin; i < end; ++i) EXPECT_TRUE(a.Append(i).ok());
  auto schema = arrow::schema({arrow::field("a", arrow::int64())});
  auto batch = arrow::RecordBatch::Make(schema, end - begin, {a.Finish().ValueOrDie()});
  return arrow::RecordBatchReader::Make({batch}, schema).ValueOrDie();
}

// 80 rows, in eight fragments.
struct World {
  std::shared_ptr<ObjectStore> store = ObjectStore::Memory();
  ReadContext ctx;
  World() {
    WriteTableOptions options;
    options.max_rows_per_file = 10;
    EXPECT_TRUE(WriteTable(store, *Numbers(0, 80), options, ctx).ok());
  }
  WritableTable Open() { return OpenToWrite(store, ctx).ValueOrDie(); }
  Status Delete(const std::string& predicate) { return DeleteRows(Open(), predicate, {}, ctx).status(); }
  size_t files() { return store->List("data/").ValueOrDie().size(); }
  std::vector<uint64_t> Rows() {
    std::vector<uint64_t> out;
    const auto table = Open().table;
    for (const auto& f : table->manifest().fragments) {
      out.push_back(f.physical_rows - (f.deletions ? f.deletions->num_deleted : 0));
    }
    return out;
  }
};

TEST(CompactTable, TasksAreCommittedApart) {
  World world;
  const WritableTable table = world.Open();
  const auto plan = PlanCompaction(*table.table, Target(20), world.ctx).ValueOrDie();
  ASSERT_EQ(plan.tasks.size(), 4u);
  const auto base = BeginChange(table, world.ctx).ValueOrDie();
  std::vector<RewriteResult> results;
  for (const auto& task : plan.tasks) {
    results.push_back(RewriteFragments(base, task, Target(20), world.ctx).ValueOrDie());
  }
  ASSERT_TRUE(CommitCompaction(table, {results[1]}, {}, world.ctx).ok());
  ASSERT_TRUE(world.Delete("a = 5").ok());  // of what the first task took
  EXPECT_EQ(KindOf(CommitCompaction(table, {results[0], results[2]}, {}, world.ctx).status()), ErrorKind::kRetry);
  EXPECT_EQ(KindOf(CommitCompaction(table, {results[1]}, {}, world.ctx).status()), ErrorKind::kRetry);
  EXPECT_EQ(KindOf(CommitCompaction(table, {results[3], results[3]}, {}, world.ctx).status()), ErrorKind::kUsage);
  const auto done = CommitCompaction(world.Open(), {results[2], results[3]}, {}, world.ctx);
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  EXPECT_EQ(done->metrics.fragments_removed, 4u);
  EXPECT_EQ(world.Open().table->CountRows(world.ctx).ValueOrDie(), 79u);
}

// What others did to one task does not stop the rest, and is planned again.
TEST(CompactTable, GoesOnAroundWhatOthersChanged) {
  World world;
  const WritableTable before = world.Open();
  ASSERT_TRUE(world.Delete("a in (1, 2, 3)").ok());
  const auto done = CompactTable(before, Target(40), {}, world.ctx);
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  EXPECT_EQ(world.Rows(), (std::vector<uint64_t>{40, 37}));
  EXPECT_EQ(world.files(), 10u);  // nothing is left of what was tried in vain
  EXPECT_EQ(done->metrics.fragments_removed, 8u);
  EXPECT_EQ(done->version, world.Open().table->manifest().version);
  const auto again = CompactTable(world.Open(), Target(40), {}, world.ctx).ValueOrDie();
  EXPECT_EQ(again.metrics.fragments_removed, 0u);
  EXPECT_EQ(again.version, done->version);
}

TEST(CompactTable, GivesUpWhereItIsTold) {
  World world;
  const WritableTable before = world.Open();
  ASSERT_TRUE(world.Delete("a in (1, 41)").ok());
  ChangeOptions never;
  never.max_redo = 0;
  EXPECT_EQ(KindOf(CompactTable(before, Target(40), never, world.ctx).status()), ErrorKind::kRetry);
  EXPECT_EQ(world.files(), 8u);
  WriteTableOptions over;
  over.mode = WriteMode::kOverwrite;
  ASSERT_TRUE(WriteTable(world.Open(), *Numbers(0, 3), over, world.ctx).ok());
  EXPECT_EQ(KindOf(CompactTable(before, Target(40), {}, world.ctx).status()), ErrorKind::kConflict);
  EXPECT_EQ(world.files(), 9u);
}

TEST(CompactTable, AFragmentOfWhichNothingIsLeft) {
  World world;
  ASSERT_TRUE(world.Delete("a % 10 <> 0 AND a < 20").ok());
  CompactionOptions options = Target(10);
  const auto done = CompactTable(world.Open(), options, {}, world.ctx);
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  EXPECT_EQ(world.Rows(), (std::vector<uint64_t>{10, 10, 10, 10, 10, 10, 2}));
}

}  // namespace
}  // namespace pilum
