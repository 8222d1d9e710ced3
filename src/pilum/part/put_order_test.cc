// Rows in the order that was asked for: put --sort, compaction by owner and time, pages of so many rows; parts end with a day.
#include "pilum/part/put_order.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/compute/initialize.h>

#include <random>
#include <set>

#include "pilum/file/file_reader.h"
#include "pilum/part/part_store.h"

namespace pilum {
namespace {

constexpr int64_t kDay = 86'400;

// `n` rows, shuffled: row number, user 0..6, time over `days` days from 1970-01-01 (NULL in some).
std::shared_ptr<arrow::RecordBatch> Events(int64_t n, int64_t days, uint64_t seed = 1) {
  std::mt19937_64 rng(seed);
  arrow::Int64Builder row;
  arrow::StringBuilder user, text;
  arrow::TimestampBuilder ts(arrow::timestamp(arrow::TimeUnit::SECOND), arrow::default_memory_pool());
  for (int64_t i = 0; i < n; ++i) {
    ARROW_UNUSED(row.Append(i));
    ARROW_UNUSED(user.Append("user " + std::to_string(rng() % 7)));
    ARROW_UNUSED(text.Append(fmt::format("{:x}{:x}{:x}{:x}", rng(), rng(), rng(), rng())));
    ARROW_UNUSED(rng() % 500 == 0 ? ts.AppendNull() : ts.Append(static_cast<int64_t>(rng() % (days * kDay))));
  }
  const auto schema = arrow::schema({arrow::field("row", arrow::int64()), arrow::field("user", arrow::utf8()),
                                     arrow::field("text", arrow::utf8()),
                                     arrow::field("ts", arrow::timestamp(arrow::TimeUnit::SECOND))});
  return arrow::RecordBatch::Make(
      schema, n,
      {row.Finish().ValueOrDie(), user.Finish().ValueOrDie(), text.Finish().ValueOrDie(), ts.Finish().ValueOrDie()});
}

class PutOrderTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(arrow::compute::Initialize().ok()); }
  void Write(const std::string& path, const std::string& bytes) {
    auto sink = objects_->Create(path).ValueOrDie();
    ASSERT_TRUE(sink->Write(bytes.data(), bytes.size()).ok());
    ASSERT_TRUE(sink->Close().ok());
  }
  Result<PutResult> Put(const std::shared_ptr<arrow::RecordBatch>& rows, const PutOptions& options,
                        int64_t step = 999) {
    arrow::RecordBatchVector batches;
    for (int64_t at = 0; at < rows->num_rows(); at += step) batches.push_back(rows->Slice(at, step));
    auto reader = arrow::RecordBatchReader::Make(batches, rows->schema()).ValueOrDie();
    return store_->Put(*reader, options, ctx_);
  }
  std::shared_ptr<const FileReader> Open(const std::string& path) {
    return FileReader::Open(objects_->OpenSource(path, ctx_).ValueOrDie(), ctx_).ValueOrDie();
  }
  std::shared_ptr<arrow::Table> Read(const std::string& path) {
    const auto reader = Open(path);
    auto stream = reader->Read(std::nullopt, RowSet::All(reader->num_rows()), {}, ctx_).ValueOrDie();
    arrow::RecordBatchVector batches;
    while (auto batch = stream->Next().ValueOrDie()) batches.push_back(batch);
    return arrow::Table::FromRecordBatches(batches).ValueOrDie()->CombineChunks().ValueOrDie();
  }
  template <typename Array = arrow::Int64Array>
  static const Array& Column(const std::shared_ptr<arrow::Table>& table, const char* name) {
    return static_cast<const Array&>(*table->GetColumnByName(name)->chunk(0));
  }
  std::vector<std::string> PartsBySpan() {  // paths, by the least time in each
    std::vector<std::pair<int64_t, std::string>> all;
    for (const auto& info : objects_->List("d/parts/").ValueOrDie()) {
      const auto table = Read(info.path);
      const auto& ts = Column<arrow::TimestampArray>(table, "ts");
      all.emplace_back(ts.IsNull(0) ? std::numeric_limits<int64_t>::max() : ts.Value(0), info.path);
    }
    std::sort(all.begin(), all.end());
    std::vector<std::string> out;
    for (auto& [at, path] : all) out.push_back(path);
    return out;
  }

  ReadContext ctx_;
  std::shared_ptr<ObjectStore> objects_ = ObjectStore::Memory();
  std::shared_ptr<PartStore> store_ = PartStore::OpenIn(objects_, "d").ValueOrDie();
};

TEST_F(PutOrderTest, SortedPartsEndWithADay) {
  Write("d/dataset.toml", "time = 'ts'\n");
  PutOptions options;
  options.sort = {"time"};
  options.target_part_bytes = 200'000;
  const auto put = Put(Events(20'000, 40), options).ValueOrDie();
  EXPECT_EQ(put.rows, 20'000u);
  const auto paths = PartsBySpan();
  ASSERT_GT(paths.size(), 4u);
  int64_t last = -kDay, rows = 0;
  for (const std::string& path : paths) {
    const auto table = Read(path);
    const auto& ts = Column<arrow::TimestampArray>(table, "ts");
    for (int64_t i = 0; i < ts.length(); ++i) {
      if (ts.IsNull(i)) continue;
      if (i == 0) EXPECT_NE(ts.Value(0) / kDay, last / kDay) << path << " begins within a day";
      ASSERT_GE(ts.Value(i), last);
      last = ts.Value(i);
    }
    rows += ts.length();
  }
  EXPECT_EQ(rows, 20'000);
  EXPECT_TRUE(store_->Check(ctx_).ValueOrDie().faults.empty());
  EXPECT_EQ(Put(Events(20'000, 40), options, 77).ValueOrDie().new_parts, 0u) << "the same parts, however batched";
}

TEST_F(PutOrderTest, ADayOverTheTargetIsCut) {
  PutOptions options;
  options.sort = {"ts", "row"};
  options.target_part_bytes = 100'000;
  EXPECT_GT(Put(Events(20'000, 1), options).ValueOrDie().parts.size(), 5u);
}

// Each plan has one output, so it takes parts such that this ends where a day ends.
TEST_F(PutOrderTest, MergedPartsEndWithADay) {
  Write("d/dataset.toml", "owner = 'user'\ntime = 'ts'\n");
  std::mt19937_64 rng(3);
  std::vector<int64_t> days;
  for (int64_t i = 0; i < 48; ++i) days.push_back(i % 12);
  std::shuffle(days.begin(), days.end(), rng);
  const auto put = [&](int64_t first, int64_t span) {
    arrow::StringBuilder user;
    arrow::TimestampBuilder ts(arrow::timestamp(arrow::TimeUnit::SECOND), arrow::default_memory_pool());
    for (int64_t i = 0; i < 25; ++i) {
      ARROW_UNUSED(user.Append("user " + std::to_string(rng() % 3)));
      ARROW_UNUSED(ts.Append(first * kDay + static_cast<int64_t>(rng() % static_cast<uint64_t>(span * kDay))));
    }
    const auto schema = arrow::schema(
        {arrow::field("user", arrow::utf8()), arrow::field("ts", arrow::timestamp(arrow::TimeUnit::SECOND))});
    return Put(arrow::RecordBatch::Make(schema, 25, {user.Finish().ValueOrDie(), ts.Finish().ValueOrDie()}), {});
  };
  for (const int64_t day : days) ASSERT_TRUE(put(day - 3, 1).ok());  // before 1970 too
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(put(0, 9).ok());           // late rows of many days
  // A day has 100 rows: two of them are half of the target.
  EXPECT_EQ(store_->Compact({.target_rows = 400}, ctx_).ValueOrDie().plans, 7u);
  std::set<int64_t> ended;
  size_t of_days = 0, rows = 0;
  for (const auto& info : objects_->List("d/merged/").ValueOrDie()) {
    const auto table = Read(info.path);
    const auto& ts = Column<arrow::TimestampArray>(table, "ts");
    std::set<int64_t> own;
    for (int64_t i = 0; i < ts.length(); ++i) own.insert((ts.Value(i) + 3 * kDay) / kDay - 3);
    rows += static_cast<size_t>(ts.length());
    if (ts.length() == 100) {
      ++of_days;  // the late ones
      continue;
    }
    EXPECT_EQ(own.size(), 2u);
    for (const int64_t day : own) EXPECT_TRUE(ended.insert(day).second) << "two parts have rows of day " << day;
  }
  EXPECT_EQ(rows, 52u * 25);
  EXPECT_EQ(of_days, 1u);
  EXPECT_EQ(ended.size(), 12u);
}

TEST_F(PutOrderTest, AnyColumnsAndOnlyThoseThatAreThere) {
  PutOptions options;
  options.sort = {"user", "row"};
  const auto put = Put(Events(3000, 5), options).ValueOrDie();
  ASSERT_EQ(put.parts.size(), 1u);
  const auto table = Read("d/parts/" + put.parts[0] + ".lance");
  const auto& users = Column<arrow::StringArray>(table, "user");
  const auto& row = Column(table, "row");
  for (int64_t i = 1; i < 3000; ++i) {
    ASSERT_LE(users.GetView(i - 1), users.GetView(i));
    if (users.GetView(i - 1) == users.GetView(i)) ASSERT_LT(row.Value(i - 1), row.Value(i));
  }
  options.sort = {"time"};
  EXPECT_NE(Put(Events(10, 1), options).status().message().find("dataset.toml names no time"), std::string::npos);
  options.sort = {"nothing"};
  EXPECT_EQ(KindOf(Put(Events(10, 1), options).status()), ErrorKind::kUsage);
}

TEST_F(PutOrderTest, ABatchHasOneOrder) {
  PutOptions options;
  options.batch_id = "b1";
  options.sort = {"row"};
  options.target_part_bytes = 50'000;
  const auto first = Put(Events(5000, 3), options).ValueOrDie();
  ASSERT_GT(first.new_parts, 1u);
  EXPECT_EQ(Put(Events(5000, 3), options).ValueOrDie().new_parts, 0u);
  ASSERT_TRUE(objects_->Remove("d/parts/" + first.parts[1] + ".lance").ok());
  EXPECT_EQ(Put(Events(5000, 3), options).ValueOrDie().new_parts, 1u) << "a retry adds what is missing";
  options.sort = {"user"};
  EXPECT_NE(Put(Events(5000, 3), options).status().message().find("in another order"), std::string::npos);
  options.sort = {};
  EXPECT_FALSE(Put(Events(5000, 3), options).ok());
  options.batch_id = "b";
  EXPECT_TRUE(Put(Events(5000, 3), options).ok()) << "another batch";
  // Merged parts know it as well.
  CompactOptions merge;
  merge.all = true;
  ASSERT_EQ(store_->Compact(merge, ctx_).ValueOrDie().plans, 1u);
  ASSERT_TRUE(store_->Sweep({.grace = std::chrono::seconds(0)}, ctx_).ok());
  options.batch_id = "b1";
  EXPECT_FALSE(Put(Events(5000, 3), options).ok());
  options.sort = {"row"};
  EXPECT_EQ(Put(Events(5000, 3), options).ValueOrDie().rows_already_there, 5000u);
}

TEST_F(PutOrderTest, CompactionOrdersByOwnerThenTime) {
  Write("d/dataset.toml", "owner = 'user'\ntime = ['ts', 'missing']\n");
  for (uint64_t seed = 0; seed < 3; ++seed) ASSERT_TRUE(Put(Events(2000, 9, seed), {}).ok());
  CompactOptions options;
  options.all = true;
  const auto merged = store_->Compact(options, ctx_).ValueOrDie().merged;
  ASSERT_EQ(merged.size(), 1u);
  const auto table = Read("d/merged/" + merged[0] + ".lance");
  ASSERT_EQ(table->num_rows(), 6000);
  const auto& users = Column<arrow::StringArray>(table, "user");
  const auto& ts = Column<arrow::TimestampArray>(table, "ts");
  for (int64_t i = 1; i < 6000; ++i) {
    ASSERT_LE(users.GetView(i - 1), users.GetView(i));
    if (users.GetView(i - 1) != users.GetView(i)) continue;
    ASSERT_TRUE(ts.IsNull(i) || (!ts.IsNull(i - 1) && ts.Value(i - 1) <= ts.Value(i)));
  }
  EXPECT_TRUE(store_->Check(ctx_).ValueOrDie().faults.empty());
}

TEST_F(PutOrderTest, WithoutTheFileCompactionKeepsTheOrder) {
  for (uint64_t seed = 0; seed < 2; ++seed) ASSERT_TRUE(Put(Events(500, 9, seed), {}).ok());
  CompactOptions options;
  options.all = true;
  const auto merged = store_->Compact(options, ctx_).ValueOrDie().merged;
  const auto table = Read("d/merged/" + merged.at(0) + ".lance");
  for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(Column(table, "row").Value(i), i % 500);
}

TEST_F(PutOrderTest, PageRowsOfTheDataset) {
  Write("d/dataset.toml", "page_rows = 700\n");
  const auto name = Put(Events(5000, 3), {}).ValueOrDie().parts.at(0);
  for (const ColumnInfo& column : Open("d/parts/" + name + ".lance")->Columns())
    EXPECT_EQ(column.pages.size(), 8u) << column.name;
  EXPECT_EQ(Put(Events(5000, 3), {}, 33).ValueOrDie().new_parts, 0u) << "pages are cut by the rows";
  ASSERT_TRUE(Put(Events(600, 3, 2), {}).ok());
  CompactOptions options;
  options.all = true;
  const auto merged = store_->Compact(options, ctx_).ValueOrDie().merged;
  for (const ColumnInfo& column : Open("d/merged/" + merged.at(0) + ".lance")->Columns())
    EXPECT_EQ(column.pages.size(), 8u) << column.name;
  EXPECT_EQ(Read("d/merged/" + merged[0] + ".lance")->num_rows(), 5600);
  EXPECT_TRUE(store_->Check(ctx_).ValueOrDie().faults.empty());
}

}  // namespace
}  // namespace pilum
