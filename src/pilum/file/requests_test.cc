// What reads ask of an object store: exact counts for scans and takes of files of each version, on a store in memory that
// costs what a distant one does, at a 64th of its sizes. bench/requests compares the same reads with pylance.
#include <arrow/api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "pilum/file/file_reader.h"
#include "pilum/file/file_writer.h"
#include "pilum/file/test_random.h"
#include "pilum/io/object_store.h"

namespace pilum {
namespace {

constexpr int64_t kRows = 60000;

// As far from each other as in a real store, in a small file.
ReadCost SmallRemote() {
  const ReadCost real = ReadCost::Remote();
  ReadCost cost = real;
  for (uint64_t ReadCost::*size :
       {&ReadCost::gap, &ReadCost::reach, &ReadCost::spare, &ReadCost::most, &ReadCost::tail})
    cost.*size /= 64;
  return cost;
}

// A log of conversations, cut down: ids, times, low and high cardinality text, numbers with nulls, lists, a struct.
std::shared_ptr<arrow::RecordBatch> Rows() {
  arrow::Int64Builder id, time;
  arrow::StringBuilder kind, text, name;
  arrow::DoubleBuilder cost;
  arrow::BooleanBuilder good;
  arrow::Int32Builder a;
  arrow::ListBuilder tags(arrow::default_memory_pool(), std::make_shared<arrow::StringBuilder>());
  auto* tag = static_cast<arrow::StringBuilder*>(tags.value_builder());
  TestRandom random;
  auto next = [&] { return random.Next() >> 7; };
  for (int64_t i = 0; i < kRows; ++i) {
    ARROW_UNUSED(id.Append(static_cast<int64_t>(next())));
    ARROW_UNUSED(time.Append(i * 1000 + static_cast<int64_t>(next() % 1000)));
    ARROW_UNUSED(kind.Append("kind-" + std::to_string(next() % 9)));
    std::string words;
    for (uint64_t k = 3 + next() % 12; k > 0; --k) words += std::to_string(next()) + " ";
    ARROW_UNUSED(text.Append(words));
    ARROW_UNUSED(i % 9 == 0 ? cost.AppendNull() : cost.Append(static_cast<double>(next()) / 3));
    ARROW_UNUSED(good.Append(next() % 7 > 0));
    ARROW_UNUSED(tags.Append());
    for (uint64_t k = next() % 4; k > 0; --k) ARROW_UNUSED(tag->Append("tag-" + std::to_string(next() % 50)));
    ARROW_UNUSED(a.Append(static_cast<int32_t>(next() % 1000)));
    ARROW_UNUSED(name.Append("m" + std::to_string(next() % 5000)));
  }
  auto meta = arrow::StructArray::Make({a.Finish().ValueOrDie(), name.Finish().ValueOrDie()},
                                       std::vector<std::string>{"a", "b"})
                  .ValueOrDie();
  arrow::ArrayVector columns = {
      id.Finish().ValueOrDie(),   time.Finish().ValueOrDie(), kind.Finish().ValueOrDie(), text.Finish().ValueOrDie(),
      cost.Finish().ValueOrDie(), good.Finish().ValueOrDie(), tags.Finish().ValueOrDie(), meta};
  arrow::FieldVector fields;
  const std::vector<std::string> names = {"id", "time", "kind", "text", "cost", "good", "tags", "meta"};
  for (size_t i = 0; i < names.size(); ++i) fields.push_back(arrow::field(names[i], columns[i]->type()));
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), kRows, std::move(columns));
}

const std::shared_ptr<arrow::RecordBatch>& SharedRows() {
  static const auto rows = Rows();
  return rows;
}

using Columns = std::optional<std::vector<FieldPath>>;

struct Store {
  std::shared_ptr<SlowReads> slow = std::make_shared<SlowReads>();
  std::shared_ptr<ObjectStore> objects = ObjectStore::SlowMemory("memory:", slow);
  uint64_t file_size = 0;

  explicit Store(FileVersion version, uint64_t page_bytes = 1 << 20, bool checksums = true) {
    slow->cost = SmallRemote();
    WriteOptions options;
    options.version = version;
    options.page_bytes = page_bytes;
    options.checksums = checksums;
    auto writer =
        FileWriter::Make(objects->Create("f.lance").ValueOrDie(), SharedRows()->schema(), options).ValueOrDie();
    EXPECT_TRUE(writer->Write(*SharedRows()).ok());
    EXPECT_TRUE(writer->Finish().ok());
    file_size = objects->List("").ValueOrDie()[0].size;
  }
};

struct Cost {
  uint64_t requests = 0, bytes = 0;
};

// All rows, or `take` of them, checked against what was written; the open is part of the cost.
Cost Read(const Store& store, const Columns& columns, std::optional<std::vector<uint64_t>> take, int threads = 1,
          uint64_t batch_rows = 4096, uint64_t batch_bytes = 64 << 20) {
  ReadStats stats;
  ReadContext ctx;
  ctx.stats = &stats;
  ctx.threads = threads;
  const uint64_t requests = store.slow->requests, bytes = store.slow->bytes;
  auto reader = FileReader::Open(store.objects->OpenSource("f.lance", ctx).ValueOrDie(), ctx).ValueOrDie();
  auto whole = arrow::Table::FromRecordBatches({SharedRows()}).ValueOrDie();
  if (columns) {
    std::vector<int> numbers;
    for (const FieldPath& path : *columns) numbers.push_back(whole->schema()->GetFieldIndex(path.steps[0]));
    whole = whole->SelectColumns(numbers).ValueOrDie();
  }
  if (take) {
    auto got = reader->Take(columns, *take, ctx).ValueOrDie();
    for (size_t i = 0; i < take->size(); i += 97) {  // some of them
      const auto row = static_cast<int64_t>((*take)[i]);
      EXPECT_TRUE(got->Slice(static_cast<int64_t>(i), 1)->Equals(*whole->Slice(row, 1))) << "row " << row;
    }
    EXPECT_EQ(got->num_rows(), static_cast<int64_t>(take->size()));
  } else {
    auto stream = reader->Read(columns, RowSet::All(kRows), BatchLimits{batch_rows, batch_bytes}, ctx).ValueOrDie();
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    while (auto batch = stream->Next().ValueOrDie()) batches.push_back(std::move(batch));
    auto got = arrow::Table::FromRecordBatches(stream->schema(), batches).ValueOrDie();
    EXPECT_TRUE(got->Equals(*whole));
  }
  // What it says is what was asked of the store.
  EXPECT_EQ(stats.requests, store.slow->requests - requests);
  EXPECT_EQ(stats.bytes, store.slow->bytes - bytes);
  return {stats.requests, stats.bytes};
}

std::vector<uint64_t> SomeRows(size_t n) {
  TestRandom random;
  std::set<uint64_t> rows;
  while (rows.size() < n) rows.insert((random.Next() >> 11) % kRows);
  return {rows.begin(), rows.end()};
}

const std::vector<std::pair<std::string, Columns>>& Projections() {
  static const std::vector<std::pair<std::string, Columns>> all = {
      {"all", std::nullopt}, {"text", {{{{"text"}}}}}, {"id, cost, tags", {{{{"id"}}, {{"cost"}}, {{"tags"}}}}}};
  return all;
}

std::string NameOf(FileVersion version) {
  return version == FileVersion::kV2_0 ? "2.0" : version == FileVersion::kV2_1 ? "2.1" : "2.2";
}

// Requests of a scan and of takes of 1, 10, 100 and 1,000 rows.
TEST(Requests, AreCounted) {
  std::map<std::string, std::vector<uint64_t>> got;
  for (FileVersion version : {FileVersion::kV2_0, FileVersion::kV2_1, FileVersion::kV2_2}) {
    const Store store(version);
    for (const auto& [name, columns] : Projections()) {
      auto& counts = got[NameOf(version) + " " + name];
      const Cost scan = Read(store, columns, std::nullopt);
      counts.push_back(scan.requests);
      EXPECT_LT(scan.bytes, store.file_size + store.file_size / 10);
      for (size_t n : {1, 10, 100, 1000}) counts.push_back(Read(store, columns, SomeRows(n)).requests);
    }
  }
  const std::map<std::string, std::vector<uint64_t>> want = {
      {"2.0 all", {56, 20, 86, 244, 506}},          {"2.0 text", {45, 5, 22, 95, 491}},
      {"2.0 id, cost, tags", {10, 10, 31, 64, 11}}, {"2.1 all", {33, 21, 60, 109, 267}},
      {"2.1 text", {28, 6, 23, 87, 251}},           {"2.1 id, cost, tags", {10, 11, 26, 15, 14}},
      {"2.2 all", {33, 21, 62, 108, 266}},          {"2.2 text", {28, 6, 23, 86, 251}},
      {"2.2 id, cost, tags", {10, 11, 26, 16, 14}},
  };
  EXPECT_EQ(got, want);
}

TEST(Requests, OfScansDoNotDependOnThreads) {
  for (FileVersion version : {FileVersion::kV2_0, FileVersion::kV2_2}) {
    const Store store(version, 200 * 1024);
    store.slow->latency = std::chrono::microseconds(300);
    const Cost one = Read(store, std::nullopt, std::nullopt, 1, 500);
    for (int threads : {2, 4, 8}) {
      const Cost many = Read(store, std::nullopt, std::nullopt, threads, 500);
      EXPECT_EQ(many.requests, one.requests) << threads;
      EXPECT_EQ(many.bytes, one.bytes) << threads;
    }
  }
}

TEST(Requests, AreInFlightTogether) {
  const Store store(FileVersion::kV2_2);
  store.slow->latency = std::chrono::milliseconds(2);
  Read(store, std::nullopt, std::nullopt);
  EXPECT_GT(store.slow->most_in_flight, 3);
}

// Little memory: pages in pieces, which go and come.
TEST(Requests, OfScansWithinLittleMemory) {
  for (FileVersion version : {FileVersion::kV2_0, FileVersion::kV2_1, FileVersion::kV2_2}) {
    const Store store(version, 64 << 20);  // one page a column
    const Cost one = Read(store, std::nullopt, std::nullopt, 1, 1000, 64 << 10);
    EXPECT_LT(one.bytes, store.file_size * 2) << NameOf(version);
    const Cost many = Read(store, std::nullopt, std::nullopt, 3, 1000, 64 << 10);
    if (version == FileVersion::kV2_0) continue;  // units begun before a dictionary is decoded ask for it again
    EXPECT_EQ(many.requests, one.requests) << NameOf(version);
    EXPECT_EQ(many.bytes, one.bytes) << NameOf(version);
  }
}

RowSet RandomRows(uint64_t seed) {
  TestRandom random{seed * 2654435769 + 1};
  RowSet rows;
  const uint64_t most = uint64_t{1} << (1 + random.Next() % 14), gaps = uint64_t{1} << (random.Next() % 14);
  uint64_t at = random.Next() % kRows / (1 + random.Next() % 9);
  const uint64_t last = at + (kRows - at) / (1 + random.Next() % 5);
  while (at < last) {
    const uint64_t n = std::min(last - at, 1 + random.Next() % most);
    rows.Append(at, at + n);
    at += n + 1 + random.Next() % gaps;
  }
  return rows;
}

// Dense, sparse, a part of the file: the rows that a local read gives, and the requests that one thread asks for.
TEST(Requests, OfSomeRowsGiveTheSameRows) {
  const auto whole = arrow::Table::FromRecordBatches({SharedRows()}).ValueOrDie();
  for (FileVersion version : {FileVersion::kV2_0, FileVersion::kV2_2}) {
    const Store store(version, 300 * 1024);
    for (uint64_t seed = 1; seed <= 30; ++seed) {
      const RowSet rows = RandomRows(seed);
      if (rows.empty()) continue;
      std::vector<std::shared_ptr<arrow::Table>> slices;
      for (const RowRange& r : rows.ranges())
        slices.push_back(whole->Slice(static_cast<int64_t>(r.begin), static_cast<int64_t>(r.size())));
      const auto want = arrow::ConcatenateTables(slices).ValueOrDie();
      uint64_t requests = 0;
      for (int threads : {1, 3}) {
        ReadStats stats;
        ReadContext ctx;
        ctx.stats = &stats;
        ctx.threads = threads;
        auto reader = FileReader::Open(store.objects->OpenSource("f.lance", ctx).ValueOrDie(), ctx).ValueOrDie();
        auto stream = reader->Read(std::nullopt, rows, BatchLimits{700, 1 << 20}, ctx).ValueOrDie();
        std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
        while (auto batch = stream->Next().ValueOrDie()) batches.push_back(std::move(batch));
        auto got = arrow::Table::FromRecordBatches(stream->schema(), batches).ValueOrDie();
        EXPECT_TRUE(got->Equals(*want)) << "seed " << seed << ", " << threads << " threads";
        if (threads == 1 || version == FileVersion::kV2_0) requests = stats.requests;  // see above
        EXPECT_EQ(stats.requests, requests) << "seed " << seed;
      }
    }
  }
}

// Several streams of one reader, each of which wants the columns in another order.
TEST(Requests, OfStreamsOfOneReader) {
  const Store store(FileVersion::kV2_2, 100 * 1024);
  store.slow->latency = std::chrono::microseconds(100);
  ReadContext ctx;
  auto reader = FileReader::Open(store.objects->OpenSource("f.lance", ctx).ValueOrDie(), ctx).ValueOrDie();
  std::atomic<int64_t> rows{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<std::string> names = {"id", "kind", "text", "tags"};
      std::vector<FieldPath> columns;
      for (size_t i = 0; i < 4; ++i) columns.push_back({{names[(i * (t % 2 ? 3 : 1) + t) % 4]}});
      ReadContext mine;
      mine.threads = 3;
      auto stream = reader->Read(columns, RowSet::All(kRows), BatchLimits{1000, 100 * 1024}, mine).ValueOrDie();
      while (auto batch = stream->Next().ValueOrDie()) rows += batch->num_rows();
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(rows, 4 * kRows);
}

// A file that the first request holds whole needs no other.
TEST(Requests, SmallFilesAreOne) {
  const Store store(FileVersion::kV2_2);
  store.slow->cost.tail = store.slow->cost.most = 64 << 20;
  EXPECT_EQ(Read(store, std::nullopt, std::nullopt).requests, 1u);
  EXPECT_EQ(Read(store, std::nullopt, SomeRows(100)).requests, 1u);
}

// A reader that has read before asks for rows, not for whole pages.
TEST(Requests, OfALaterTakeAreForItsRowsAlone) {
  const Store store(FileVersion::kV2_2);
  ReadStats stats;
  ReadContext ctx;
  ctx.stats = &stats;
  auto reader = FileReader::Open(store.objects->OpenSource("f.lance", ctx).ValueOrDie(), ctx).ValueOrDie();
  const std::vector<FieldPath> columns = {{{"kind"}}};
  ASSERT_TRUE(reader->Take(columns, {5}, ctx).ok());
  const uint64_t bytes = stats.bytes, requests = stats.requests;
  ASSERT_TRUE(reader->Take(columns, {30000}, ctx).ok());
  EXPECT_EQ(stats.requests, requests + 1);
  EXPECT_LT(stats.bytes - bytes, 16u << 10);
}

// Nobody wants the rest of a stream that is dropped.
TEST(Requests, AheadAreStoppedWithTheStream) {
  const Store store(FileVersion::kV2_2, 64 * 1024);
  store.slow->latency = std::chrono::milliseconds(1);
  ReadContext ctx;
  auto reader = FileReader::Open(store.objects->OpenSource("f.lance", ctx).ValueOrDie(), ctx).ValueOrDie();
  auto stream = reader->Read(std::nullopt, RowSet::All(kRows), BatchLimits{100, 1 << 20}, ctx).ValueOrDie();
  ASSERT_TRUE(stream->Next().ok());
  stream.reset();
  EXPECT_LT(store.slow->bytes, store.file_size);
}

TEST(Requests, OfDamagedPagesSayWhere) {
  for (bool checksums : {false, true}) {
    const Store store(FileVersion::kV2_2, 200 * 1024, checksums);
    ReadContext ctx;
    auto source = store.objects->OpenSource("f.lance", ctx).ValueOrDie();
    std::string bytes = source->ReadRange({0, store.file_size}, ctx).ValueOrDie()->ToString();
    for (size_t i = 100'000; i < 300'000; i += 100) bytes[i] = static_cast<char>(bytes[i] + 77);
    ASSERT_TRUE(store.objects->PutIfAbsent("g.lance", bytes).ValueOrDie());
    auto reader = FileReader::Open(store.objects->OpenSource("g.lance", ctx).ValueOrDie(), ctx).ValueOrDie();
    auto table = reader->ReadTable(std::nullopt, RowSet::All(kRows), ctx);
    if (!checksums && table.ok()) continue;  // values, not structure
    EXPECT_EQ(KindOf(table.status()), ErrorKind::kCorrupt);
    EXPECT_NE(table.status().message().find("memory:g.lance"), std::string::npos) << table.status().message();
    EXPECT_NE(table.status().message().find("column '"), std::string::npos) << table.status().message();
  }
}

}  // namespace
}  // namespace pilum
