// Operations on real files in memory; what pylance says of them is tests/interop/test_table_write.py.
#include <gtest/gtest.h>

#include <arrow/api.h>

#include "pilum/change/columns.h"
#include "pilum/change/delete_rows.h"
#include "pilum/change/find_rows.h"
#include "pilum/change/fit_rows.h"
#include "pilum/change/read_rows.h"
#include "pilum/change/settings.h"
#include "pilum/change/write_table.h"

namespace pilum {
namespace {

std::shared_ptr<arrow::RecordBatchReader> Numbers(int64_t begin, int64_t end) {
  arrow::Int64Builder a, b;
  for (int64_t i = begin; i < end; ++i) EXPECT_TRUE(a.Append(i).ok() && b.Append(10 * i).ok());
  auto schema = arrow::schema({arrow::field("a", arrow::int64()), arrow::field("b", arrow::int64())});
  auto batch = arrow::RecordBatch::Make(schema, end - begin, {a.Finish().ValueOrDie(), b.Finish().ValueOrDie()});
  return arrow::RecordBatchReader::Make({batch}, schema).ValueOrDie();
}

struct World {
  std::shared_ptr<ObjectStore> store = ObjectStore::Memory();
  ReadContext ctx;
  explicit World(WriteTableOptions options = {}) {
    options.max_rows_per_file = 20;
    EXPECT_TRUE(WriteTable(store, *Numbers(0, 50), options, ctx).ok());
  }
  std::shared_ptr<const Table> Open() { return Table::Open(store, {}, ctx).ValueOrDie(); }
  WritableTable ToWrite() { return OpenToWrite(store, ctx).ValueOrDie(); }
};

TEST(Change, FilesEndWhereTheyShall) {
  World world;
  auto table = world.Open();
  ASSERT_EQ(table->manifest().fragments.size(), 3u);
  EXPECT_EQ(table->manifest().fragments[2].physical_rows, 10u);
  EXPECT_EQ(table->manifest().fragments[2].id, 2u);
  WriteTableOptions small;
  small.mode = WriteMode::kAppend;
  small.max_bytes_per_file = 1;
  small.page_bytes = 8;
  ASSERT_TRUE(WriteTable(world.ToWrite(), *Numbers(50, 60), small, world.ctx).ok());
  EXPECT_GT(world.Open()->manifest().fragments.size(), 3u);
}

TEST(Change, FailedWritesLeaveNoFiles) {
  World world;
  WriteTableOptions append;
  append.mode = WriteMode::kAppend;
  append.max_rows_per_file = 5;
  auto good = Numbers(50, 60)->Next().ValueOrDie();
  auto stream = arrow::MakeFunctionIterator([n = 0, good]() mutable -> Result<std::shared_ptr<arrow::RecordBatch>> {
    if (n++ == 0) return good;
    return Status::IOError("the source broke off");
  });
  auto reader = arrow::RecordBatchReader::MakeFromIterator(std::move(stream), good->schema()).ValueOrDie();
  const auto before = world.store->List("").ValueOrDie().size();
  auto done = WriteTable(world.ToWrite(), *reader, append, world.ctx);
  EXPECT_FALSE(done.ok());
  EXPECT_EQ(world.store->List("").ValueOrDie().size(), before);
}

TEST(Change, ReadsRowsByTheirPlaces) {
  WriteTableOptions stable;
  stable.stable_row_ids = true;
  World world(stable);
  ASSERT_TRUE(DeleteRows(world.ToWrite(), "a in (1, 3, 25)", {}, world.ctx).ok());
  auto table = world.Open();
  auto live = LiveRows(*table, {0, 1}, world.ctx).ValueOrDie();
  EXPECT_EQ(live[0], RowSet::FromRanges({{0, 1}, {2, 3}, {4, 20}}));
  auto found = FindRows(*table, "a % 10 = 5 OR a = 3", world.ctx).ValueOrDie();
  EXPECT_EQ(found,
            (TakenRows{{0, RowSet::FromSorted({5, 15})}, {1, RowSet::FromSorted({15})}, {2, RowSet::FromSorted({5})}}));
  std::vector<int64_t> a;
  std::vector<uint64_t> ids;
  auto columns = AllColumns(*table);
  columns.push_back({{"_rowid"}});
  ASSERT_TRUE(ReadRows(*table, found, columns, {}, world.ctx,
                       [&](uint64_t fragment, const RowSet& places, const arrow::RecordBatch& batch) {
                         EXPECT_EQ(places, found[fragment]);
                         for (int64_t i = 0; i < batch.num_rows(); ++i) {
                           a.push_back(static_cast<const arrow::Int64Array&>(*batch.column(0)).Value(i));
                           ids.push_back(static_cast<const arrow::UInt64Array&>(*batch.column(2)).Value(i));
                         }
                         return Status::OK();
                       })
                  .ok());
  EXPECT_EQ(a, (std::vector<int64_t>{5, 15, 35, 45}));
  EXPECT_EQ(ids, (std::vector<uint64_t>{5, 15, 35, 45}));
}

TEST(Change, AddedColumnsAreDoneAgainAfterAnAppend) {
  World world;
  auto stale = world.ToWrite();
  WriteTableOptions append;
  append.mode = WriteMode::kAppend;
  ASSERT_TRUE(WriteTable(stale, *Numbers(50, 60), append, world.ctx).ok());
  auto done = AddNullColumns(stale, *arrow::schema({arrow::field("c", arrow::utf8())}), {}, world.ctx);
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  EXPECT_EQ(done->version, 3u);
  EXPECT_EQ(world.Open()->CountRows(world.ctx).ValueOrDie(), 60u);
  EXPECT_EQ(world.Open()->schema()->num_fields(), 3);
  // And what others set meanwhile is kept.
  SettingsChange change;
  change.field_metadata["a"] = {{{"k", "v"}}, false};
  auto before = world.ToWrite();
  ASSERT_TRUE(ChangeSettings(before, change, {}, world.ctx).ok());
  ASSERT_TRUE(AlterColumns(before, {{"b", "beta", std::nullopt}}, {}, world.ctx).ok());
  auto now = world.Open();
  EXPECT_TRUE(now->schema()->GetFieldByName("a")->HasMetadata());
  EXPECT_NE(now->schema()->GetFieldByName("beta"), nullptr);
}

TEST(Change, ANewColumnNeverTakesAnOldId) {
  World world;
  ASSERT_TRUE(DropColumns(world.ToWrite(), {"b"}, {}, world.ctx).ok());
  ASSERT_TRUE(AddNullColumns(world.ToWrite(), *arrow::schema({arrow::field("b", arrow::int64())}), {}, world.ctx).ok());
  auto table = world.Open();
  EXPECT_EQ(table->manifest().schema.fields.back().id, 2);
  auto found = FindRows(*table, "b IS NOT NULL", world.ctx).ValueOrDie();
  EXPECT_TRUE(found.empty());
}

TEST(Change, RowAddressesMayNotBeHidden) {
  World world;
  ASSERT_TRUE(AlterColumns(world.ToWrite(), {{"b", "_rowaddr", std::nullopt}}, {}, world.ctx).ok());
  auto done = DeleteRows(world.ToWrite(), "a = 1", {}, world.ctx);
  EXPECT_EQ(KindOf(done.status()), ErrorKind::kUnsupported) << done.status().ToString();
}

}  // namespace
}  // namespace pilum
