// Streams over files of several pages: what they ask for, where they cut, whatever the threads.
#include "pilum/file/scan.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "pilum/file/file_writer.h"
#include "pilum/file/test_random.h"

namespace pilum {
namespace {

// Answers after a while, a little later each time, so that threads meet at every place.
class SlowSource : public ByteSource {
 public:
  explicit SlowSource(BufferPtr bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return static_cast<uint64_t>(bytes_->size()); }
  const std::string& name() const override { return name_; }

 protected:
  Status ReadAt(ByteRange range, uint8_t* out, ReadContext&) const override {
    std::this_thread::sleep_for(std::chrono::microseconds(100 + calls_++ * 37 % 400));
    std::memcpy(out, bytes_->data() + range.offset, range.size);
    return Status::OK();
  }

 private:
  BufferPtr bytes_;
  std::string name_ = "slow.lance";
  mutable std::atomic<uint64_t> calls_{0};
};

constexpr int64_t kRows = 60000;

std::shared_ptr<arrow::RecordBatch> Rows() {
  arrow::Int64Builder id;
  arrow::StringBuilder kind, text;
  arrow::ListBuilder tags(arrow::default_memory_pool(), std::make_shared<arrow::StringBuilder>());
  auto* tag = static_cast<arrow::StringBuilder*>(tags.value_builder());
  TestRandom random;
  auto next = [&] { return random.Next(); };
  for (int64_t i = 0; i < kRows; ++i) {
    ARROW_UNUSED(id.Append(static_cast<int64_t>(next())));
    ARROW_UNUSED(kind.Append("kind-" + std::to_string(next() % 9)));
    ARROW_UNUSED(text.Append(std::string(20 + next() % 60, static_cast<char>('a' + next() % 26))));
    ARROW_UNUSED(tags.Append());
    for (uint64_t k = next() % 4; k > 0; --k) ARROW_UNUSED(tag->Append("tag-" + std::to_string(next() % 50)));
  }
  auto schema = arrow::schema({arrow::field("id", arrow::int64()), arrow::field("kind", arrow::utf8()),
                               arrow::field("text", arrow::utf8()), arrow::field("tags", arrow::list(arrow::utf8()))});
  return arrow::RecordBatch::Make(
      schema, kRows,
      {id.Finish().ValueOrDie(), kind.Finish().ValueOrDie(), text.Finish().ValueOrDie(), tags.Finish().ValueOrDie()});
}

BufferPtr FileOf(const arrow::RecordBatch& rows, uint64_t page_bytes) {
  BufferPtr bytes;
  WriteOptions options;
  options.page_bytes = page_bytes;
  auto writer = FileWriter::Make(MakeMemorySink("slow.lance", &bytes), rows.schema(), options).ValueOrDie();
  EXPECT_TRUE(writer->Write(rows).ok());
  EXPECT_TRUE(writer->Finish().ok());
  return bytes;
}

struct Seen {
  std::vector<int64_t> batches;
  std::shared_ptr<arrow::Table> table;
  std::string cost;
};

Seen Read(const BufferPtr& bytes, const BatchLimits& limits, int threads) {
  ReadStats stats;
  ReadContext ctx;
  ctx.stats = &stats;
  ctx.threads = threads;
  auto reader = FileReader::Open(std::make_shared<SlowSource>(bytes), ctx).ValueOrDie();
  auto stream = reader->Read(std::nullopt, RowSet::All(reader->num_rows()), limits, ctx).ValueOrDie();
  Seen seen;
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  while (auto batch = stream->Next().ValueOrDie()) {
    seen.batches.push_back(batch->num_rows());
    batches.push_back(std::move(batch));
  }
  seen.table = arrow::Table::FromRecordBatches(stream->schema(), batches).ValueOrDie();
  seen.cost =
      fmt::format("{} requests, {} bytes, {} values", stats.requests.load(), stats.bytes.load(), stats.total_decoded());
  return seen;
}

TEST(Scan, CostsAndGivesTheSameWhateverTheThreads) {
  const auto rows = Rows();
  const auto want = arrow::Table::FromRecordBatches({rows}).ValueOrDie();
  for (uint64_t page_bytes : {60 * 1024, 400 * 1024}) {
    const BufferPtr bytes = FileOf(*rows, page_bytes);
    const BatchLimits limits{1000, 200 * 1024};  // several units a page, and pages that end anywhere
    const Seen one = Read(bytes, limits, 1);
    EXPECT_TRUE(one.table->Equals(*want));
    for (int threads : {2, 3, 8}) {
      for (int again = 0; again < 3; ++again) {
        const Seen many = Read(bytes, limits, threads);
        EXPECT_EQ(many.cost, one.cost) << threads << " threads, pages of " << page_bytes;
        EXPECT_EQ(many.batches, one.batches);
        EXPECT_TRUE(many.table->Equals(*want));
      }
    }
  }
}

// Each stream wants the columns in another order, and all of them what nobody has fetched yet.
TEST(Scan, StreamsOfOneReaderNeverWaitForEachOther) {
  const BufferPtr bytes = FileOf(*Rows(), 60 * 1024);
  for (int again = 0; again < 5; ++again) {
    ReadContext ctx;
    auto reader = FileReader::Open(std::make_shared<SlowSource>(bytes), ctx).ValueOrDie();
    std::atomic<uint64_t> rows{0};
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const std::vector<std::string> names = {"id", "kind", "text", "tags"};
        std::vector<FieldPath> columns;
        for (size_t i = 0; i < 4; ++i) columns.push_back({{names[(i * (t % 2 ? 3 : 1) + t) % 4]}});
        auto stream = reader->Read(columns, RowSet::All(kRows), BatchLimits{1000, 100 * 1024}, {}).ValueOrDie();
        while (auto batch = stream->Next().ValueOrDie()) rows += static_cast<uint64_t>(batch->num_rows());
      });
    }
    for (auto& t : threads) t.join();
    EXPECT_EQ(rows, 4u * kRows);
  }
}

// Pages of the column that is most of a row are not put together by copying: a unit, and so a batch, ends where they do.
TEST(Scan, UnitsEndWithThePagesOfTheLargestColumn) {
  arrow::BinaryBuilder payload;
  TestRandom random;
  for (int i = 0; i < 3000; ++i) {  // as large in the file as in memory
    std::string value(1000 + i % 7, ' ');
    for (char& c : value) c = static_cast<char>(random.Next() >> 13);
    ARROW_UNUSED(payload.Append(value));
  }
  auto schema = arrow::schema({arrow::field("payload", arrow::binary())});
  auto rows = arrow::RecordBatch::Make(schema, 3000, {payload.Finish().ValueOrDie()});
  const BufferPtr bytes = FileOf(*rows, 500 * 1024);
  ReadContext ctx;
  auto reader = FileReader::Open(MakeMemorySource("p.lance", bytes), ctx).ValueOrDie();
  std::vector<uint64_t> page_ends;
  const auto columns = reader->Columns();
  for (const auto& page : columns[0].pages) page_ends.push_back(page.first_row + page.rows);
  ASSERT_GT(page_ends.size(), 3u);
  const Seen seen = Read(bytes, BatchLimits{64, 300 * 1024}, 2);
  EXPECT_TRUE(seen.table->Equals(*arrow::Table::FromRecordBatches({rows}).ValueOrDie()));
  for (size_t i = 0; i + 1 < seen.batches.size(); ++i) EXPECT_EQ(seen.batches[i], 64);
  // Where no batch could be that long anyway, units end with the pages.
  const Seen by_bytes = Read(bytes, BatchLimits{2000, 130 * 1024}, 2);
  EXPECT_TRUE(by_bytes.table->Equals(*arrow::Table::FromRecordBatches({rows}).ValueOrDie()));
  std::set<uint64_t> ends;
  uint64_t at = 0;
  for (int64_t n : by_bytes.batches) ends.insert(at += static_cast<uint64_t>(n));
  for (uint64_t end : page_ends) EXPECT_TRUE(ends.contains(end)) << end;
}

}  // namespace
}  // namespace pilum
