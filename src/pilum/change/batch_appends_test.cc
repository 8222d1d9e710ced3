// What the contract of batch_appends.h says.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <arrow/api.h>

#include "pilum/change/batch_appends.h"
#include "pilum/change/columns.h"

namespace pilum {
namespace {

using Rows = std::vector<std::shared_ptr<arrow::RecordBatch>>;

Rows Numbers(int64_t begin, int64_t end, const std::string& name = "a") {
  arrow::Int64Builder a;
  for (int64_t i = begin; i < end; ++i) EXPECT_TRUE(a.Append(i).ok());
  auto schema = arrow::schema({arrow::field(name, arrow::int64())});
  return {arrow::RecordBatch::Make(schema, end - begin, {a.Finish().ValueOrDie()})};
}

struct World {
  std::shared_ptr<ObjectStore> store = ObjectStore::Memory();
  ReadContext ctx;
  World() {
    auto rows = Numbers(0, 10);
    auto reader = arrow::RecordBatchReader::Make(rows, rows[0]->schema()).ValueOrDie();
    EXPECT_TRUE(WriteTable(store, *reader, {}, ctx).ok());
  }
  WritableTable Open() { return OpenToWrite(store, ctx).ValueOrDie(); }
  uint64_t version() { return Open().table->manifest().version; }
  uint64_t rows() { return Open().table->CountRows(ctx).ValueOrDie(); }
  size_t files() { return store->List("data/").ValueOrDie().size(); }
};

TEST(BatchAppends, ManyAreOneVersion) {
  World world;
  BatchAppends batch(world.Open(), {});
  for (int64_t i = 0; i < 400; ++i) ASSERT_TRUE(batch.Put(Numbers(i, i + 1), world.ctx).ok());
  EXPECT_EQ(world.version(), 1u);
  const auto done = batch.Commit(world.ctx).ValueOrDie();
  EXPECT_EQ(done.version, 2u);
  EXPECT_EQ(done.rows, 400u);
  EXPECT_EQ(world.rows(), 410u);
  EXPECT_EQ(world.files(), 2u);
  EXPECT_EQ(batch.Commit(world.ctx).ValueOrDie().version, 2u);
  EXPECT_EQ(world.version(), 2u);
}

TEST(BatchAppends, WhatIsNotCommittedLeavesNothing) {
  World world;
  {
    BatchAppends batch(world.Open(), {}, /*most_bytes=*/1000);
    for (int64_t i = 0; i < 40; ++i) ASSERT_TRUE(batch.Put(Numbers(0, 50), world.ctx).ok());
    EXPECT_GT(world.files(), 1u);  // beyond so many bytes they are in files
  }
  EXPECT_EQ(world.files(), 1u);
  BatchAppends batch(world.Open(), {}, 1000);
  for (int64_t i = 0; i < 40; ++i) ASSERT_TRUE(batch.Put(Numbers(0, 50), world.ctx).ok());
  EXPECT_EQ(batch.Commit(world.ctx).ValueOrDie().version, 2u);
  EXPECT_EQ(world.rows(), 2010u);
}

TEST(BatchAppends, WhatDoesNotFitIsRefusedAlone) {
  World world;
  BatchAppends batch(world.Open(), {});
  ASSERT_TRUE(batch.Put(Numbers(0, 5), world.ctx).ok());
  EXPECT_EQ(KindOf(batch.Put(Numbers(0, 5, "b"), world.ctx)), ErrorKind::kUsage);
  EXPECT_EQ(batch.Commit(world.ctx).ValueOrDie().rows, 5u);
}

TEST(BatchAppends, OthersMayCommitMeanwhile) {
  World world;
  BatchAppends batch(world.Open(), {});
  ASSERT_TRUE(batch.Put(Numbers(0, 5), world.ctx).ok());
  BatchAppends other(world.Open(), {});
  ASSERT_TRUE(other.Append(Numbers(5, 6), world.ctx).ok());
  EXPECT_EQ(batch.Commit(world.ctx).ValueOrDie().version, 3u);
  // An overwrite leaves no sense in what is put aside: whoever put it learns so at each call, until it is forgotten.
  ASSERT_TRUE(batch.Put(Numbers(0, 5), world.ctx).ok());
  auto rows = Numbers(0, 1, "z");
  auto reader = arrow::RecordBatchReader::Make(rows, rows[0]->schema()).ValueOrDie();
  WriteTableOptions over;
  over.mode = WriteMode::kOverwrite;
  ASSERT_TRUE(WriteTable(world.Open(), *reader, over, world.ctx).ok());
  const size_t files = world.files();
  EXPECT_EQ(KindOf(batch.Commit(world.ctx).status()), ErrorKind::kConflict);
  EXPECT_EQ(KindOf(batch.Commit(world.ctx).status()), ErrorKind::kConflict);
  EXPECT_EQ(KindOf(batch.Put(Numbers(0, 5), world.ctx)), ErrorKind::kConflict);
  EXPECT_EQ(world.files(), files);
  batch.Abandon();
  ASSERT_TRUE(batch.Put(Numbers(0, 5, "z"), world.ctx).ok());
  EXPECT_EQ(batch.Commit(world.ctx).ValueOrDie().rows, 5u);
}

TEST(BatchAppends, ThreadsThatWaitShareVersions) {
  World world;
  BatchAppends batch(world.Open(), {});
  constexpr int kThreads = 8, kEach = 50;
  std::atomic<int> failed{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        ReadContext ctx;
        for (int i = 0; i < kEach; ++i) {
          const auto done = batch.Append(Numbers(100 * t + i, 100 * t + i + 1), ctx);
          // It is there once the call came back.
          failed += !done.ok() || OpenToWrite(world.store, ctx).ValueOrDie().table->manifest().version < done->version;
        }
      });
    }
  }
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(world.rows(), 10u + kThreads * kEach);
  EXPECT_LE(world.version(), 1u + kThreads * kEach);
}

}  // namespace
}  // namespace pilum
