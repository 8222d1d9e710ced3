// Takes by address: what they cost, exactly, and what they do with files that change or were damaged.
// That they give the right rows is part of file_reader_test.cc, which takes from every file there is.
#include "pilum/file/take.h"

#include <filesystem>
#include <fstream>
#include <random>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "pilum/file/file_reader.h"
#include "pilum/file/file_writer.h"
#include "pilum/io/object_store.h"
#include "tests/support/hand_made_file.h"
#include "tests/support/lance_test_files.h"

namespace pilum {
namespace {

using Paths = std::optional<std::vector<FieldPath>>;

constexpr int64_t kRows = 100'000;

// id: bit-packed; text: 40 bytes of FSST; price: null in every third row; tags: 0 to 3 words.
std::shared_ptr<arrow::RecordBatch> Rows() {
  arrow::Int64Builder id;
  arrow::StringBuilder text;
  arrow::DoubleBuilder price;
  auto words = std::make_shared<arrow::StringBuilder>();
  arrow::ListBuilder tags(arrow::default_memory_pool(), words);
  for (int64_t i = 0; i < kRows; ++i) {
    ARROW_UNUSED(id.Append(i * 7 % 100'003));
    ARROW_UNUSED(text.Append(fmt::format("row {:08} of some text, {:016x}", i, i * 0x9E3779B97F4A7C15ull)));
    ARROW_UNUSED(i % 3 == 0 ? price.AppendNull() : price.Append(static_cast<double>(i) / 8));
    ARROW_UNUSED(tags.Append());
    for (int64_t t = 0; t < i % 4; ++t)
      ARROW_UNUSED(words->Append(std::string(1, static_cast<char>('a' + (i + t) % 5))));
  }
  auto schema = arrow::schema({arrow::field("id", arrow::int64()), arrow::field("text", arrow::utf8()),
                               arrow::field("price", arrow::float64()), arrow::field("tags", tags.type())});
  return arrow::RecordBatch::Make(
      schema, kRows,
      {id.Finish().ValueOrDie(), text.Finish().ValueOrDie(), price.Finish().ValueOrDie(), tags.Finish().ValueOrDie()});
}

class Takes : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    temp_ = TempDir::Make().ValueOrDie().release();
    auto rows = Rows();
    auto writer = FileWriter::Make(CreateLocalFile(Path()).ValueOrDie(), rows->schema(), {}).ValueOrDie();
    ASSERT_TRUE(writer->Write(*rows).ok());
    ASSERT_TRUE(writer->Finish().ok());
  }
  static void TearDownTestSuite() { delete temp_; }
  static std::string Path() { return temp_->path() + "/rows.lance"; }

  static std::shared_ptr<const FileReader> Open(const std::string& path) {
    ReadContext ctx;
    return FileReader::Open(OpenLocalFile(path, ctx).ValueOrDie(), ctx).ValueOrDie();
  }
  static std::vector<uint64_t> Some(size_t n, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<uint64_t> rows(n);
    for (auto& r : rows) r = random() % kRows;
    return rows;
  }
  static void Flip(const std::string& path, uint64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 0x10));
  }
  static TempDir* temp_;
};

TempDir* Takes::temp_ = nullptr;

TEST_F(Takes, AnyOrderAndRepeatsOfEveryColumn) {
  auto reader = Open(Path());
  auto want = Rows();
  for (size_t n : {1u, 10u, 1000u, 3000u}) {
    auto rows = Some(n, n);
    rows.push_back(rows[0]);
    auto got = reader->TakeBatch(std::nullopt, rows, ReadContext()).ValueOrDie();
    ASSERT_TRUE(got->ValidateFull().ok());
    ASSERT_EQ(got->num_rows(), static_cast<int64_t>(rows.size()));
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_TRUE(got->Slice(static_cast<int64_t>(i), 1)->Equals(*want->Slice(static_cast<int64_t>(rows[i]), 1)))
          << "row " << rows[i];
    }
  }
}

// Values decoded are those asked for, whatever the chunks hold; bytes are those of the ranges that hold them.
TEST_F(Takes, CountsAreExactAndTheSameEachTime) {
  auto reader = Open(Path());
  const auto rows = Some(1000, 3);
  uint64_t items = 0;
  for (uint64_t r : rows) items += r % 4;
  std::string first;
  for (int round = 0; round < 3; ++round) {
    ReadStats stats;
    ReadContext ctx;
    ctx.stats = &stats;
    ASSERT_TRUE(reader->TakeBatch(std::nullopt, rows, ctx).ok());
    auto decoded = stats.decoded();
    EXPECT_EQ(decoded["id"], 1000u);
    EXPECT_EQ(decoded["text"], 1000u);
    EXPECT_EQ(decoded["price"], 1000u);
    EXPECT_EQ(decoded["tags.item"], items);
    if (round == 0) continue;  // reads the chunk tables too
    std::string costs = fmt::format("{} {}", stats.requests.load(), stats.bytes.load());
    if (first.empty()) first = costs;
    EXPECT_EQ(costs, first);
  }
  ReadStats stats;
  ReadContext ctx;
  ctx.stats = &stats;
  ASSERT_TRUE(reader->TakeBatch({{FieldPath{{"id"}}}}, std::vector<uint64_t>{5, 6, 5, 90'000}, ctx).ok());
  EXPECT_EQ(stats.requests, 2u);          // two chunks: rows 5 and 6 share one
  EXPECT_LT(stats.bytes, 2u * 1024 * 8);  // and no gap between them is read
}

// A flip in the values of `text`: no take gives another value; those that touch its block say where it is.
TEST_F(Takes, MappedBlocksAreVerifiedBeforeTheyAreBelieved) {
  const std::string copy = temp_->path() + "/flipped.lance";
  std::filesystem::copy_file(Path(), copy);
  const auto buffers = Open(copy)->Columns()[1].pages[0].buffers;
  const ByteRange values =
      *std::max_element(buffers.begin(), buffers.end(), [](auto& a, auto& b) { return a.size < b.size; });
  const uint64_t at = values.offset + values.size / 2;
  Flip(copy, at);
  auto reader = Open(copy);
  const Paths id{{FieldPath{{"id"}}}}, text{{FieldPath{{"text"}}}};
  ASSERT_TRUE(reader->TakeBatch(id, Some(500, 1), ReadContext()).ok());  // mapped now
  const auto want = Rows()->column(1);
  const std::string place = fmt::format("flipped.lance: column 'text': bytes {} to {} of the file do not agree",
                                        at / 4096 * 4096, at / 4096 * 4096 + 4095);
  int damaged = 0;
  for (uint64_t row = 0; row < kRows; row += 10) {
    auto got = reader->TakeBatch(text, std::vector{row}, ReadContext());
    if (got.ok()) {
      ASSERT_TRUE((*got)->column(0)->Equals(*want->Slice(static_cast<int64_t>(row), 1))) << row;
      continue;
    }
    ++damaged;
    EXPECT_EQ(KindOf(got.status()), ErrorKind::kCorrupt);
    EXPECT_NE(got.status().message().find(place), std::string::npos) << got.status();
  }
  EXPECT_GT(damaged, 0);
  EXPECT_LT(damaged, 100) << "a block is 4 KiB";
  ReadContext off;
  off.verify = Verify::kOff;
  auto unverified = FileReader::Open(OpenLocalFile(copy, off).ValueOrDie(), off).ValueOrDie();
  EXPECT_TRUE(unverified->TakeBatch(text, Some(500, 1), off).ok());
}

// Once is enough for a reader; kAll and the next reader look again.
TEST_F(Takes, MappedBlocksAreVerifiedOnce) {
  const std::string copy = temp_->path() + "/later.lance";
  std::filesystem::copy_file(Path(), copy);
  auto reader = Open(copy);
  const auto rows = Some(500, 1);
  ASSERT_TRUE(reader->TakeBatch(std::nullopt, rows, ReadContext()).ok());
  ASSERT_TRUE(reader->TakeBatch(std::nullopt, rows, ReadContext()).ok());  // every block was seen
  const auto buffers = Open(copy)->Columns()[0].pages[0].buffers;
  Flip(copy, buffers.back().offset + buffers.back().size / 2);
  std::vector<uint64_t> all(kRows);
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  ReadContext anew;
  anew.verify = Verify::kAll;
  EXPECT_TRUE(reader->TakeBatch(std::nullopt, rows, ReadContext()).ok());
  EXPECT_EQ(KindOf(reader->TakeBatch(std::nullopt, all, anew).status()), ErrorKind::kCorrupt);
  EXPECT_EQ(KindOf(Open(copy)->TakeBatch(std::nullopt, all, ReadContext()).status()), ErrorKind::kCorrupt);
}

TEST_F(Takes, AFileThatShrinksIsAnError) {
  const std::string copy = temp_->path() + "/shrinks.lance";
  std::filesystem::copy_file(Path(), copy);
  auto reader = Open(copy);
  ASSERT_TRUE(reader->TakeBatch(std::nullopt, Some(500, 1), ReadContext()).ok());  // mapped now
  std::filesystem::resize_file(copy, 50'000);
  for (int round = 0; round < 2; ++round) {
    Status st = reader->TakeBatch(std::nullopt, Some(500, 2), ReadContext()).status();
    EXPECT_EQ(KindOf(st), ErrorKind::kCorrupt);
    EXPECT_NE(st.message().find("shrinks.lance"), std::string::npos) << st;
  }
}

// Bytes that are overwritten under the mapping, where no checksum would tell: a result or an error that names the file.
TEST_F(Takes, MappedBytesThatChangeAreNotBelieved) {
  ReadContext off;
  off.verify = Verify::kOff;
  const std::string copy = temp_->path() + "/changes.lance";
  std::filesystem::copy_file(Path(), copy);
  auto reader = FileReader::Open(OpenLocalFile(copy, off).ValueOrDie(), off).ValueOrDie();
  ASSERT_TRUE(reader->TakeBatch(std::nullopt, Some(500, 1), off).ok());
  const auto size = std::filesystem::file_size(copy);
  std::fstream file(copy, std::ios::in | std::ios::out | std::ios::binary);
  std::mt19937_64 random(5);
  for (int round = 0; round < 60; ++round) {
    for (int flips = 0; flips < 2000; ++flips) {
      file.seekp(static_cast<std::streamoff>(random() % size));
      file.put(static_cast<char>(random()));
    }
    file.flush();
    auto got = reader->TakeBatch(std::nullopt, Some(300, random()), off);
    if (got.ok()) {
      EXPECT_TRUE((*got)->ValidateFull().ok()) << (*got)->ValidateFull();
    } else {
      EXPECT_NE(got.status().message().find("changes.lance"), std::string::npos) << got.status();
    }
  }
}

TEST(LazyPages, DamageInALayoutIsFoundByWhatReadsIt) {
  testing::HandMadeFile file({"a", "b"}, {});
  for (int column : {0, 1}) {
    auto* page = file.columns[static_cast<size_t>(column)].add_pages();
    page->set_length(3);
    page->add_buffer_offsets(0), page->add_buffer_sizes(64);
    page->add_buffer_offsets(64), page->add_buffer_sizes(64);
    PageLayout layout;
    layout.kind = LayoutKind::kMiniBlock;
    layout.layers = {RepDefLayer::kNullableItem};
    layout.value_codec.emplace();
    layout.value_codec->bits = 32;
    layout.has_large_chunk = true;
    std::string message = SerializePageLayout(layout);
    if (column == 1) message = std::string("\x0a\x03\xff\xff\xff", 5);
    testing::HandMadeFile::SetAny("/lance.encodings21.PageLayout", message, page->mutable_encoding());
  }
  file.filler = 128;
  ReadContext ctx;
  auto source = MakeMemorySource("x.lance", arrow::Buffer::FromString(file.Build()));
  auto reader = FileReader::Open(source, ctx);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->num_rows(), 3u);
  const Paths b{{FieldPath{{"b"}}}};
  Status taken = (*reader)->TakeBatch(b, std::vector<uint64_t>{1}, ctx).status();
  Status read = (*reader)->ReadTable(b, RowSet::All(3), ctx).status();
  for (const Status& st : {taken, read}) {
    EXPECT_EQ(KindOf(st), ErrorKind::kCorrupt);
    EXPECT_TRUE(st.message().starts_with("x.lance: column 'b' page 0: page layout")) << st;
  }
  EXPECT_EQ((*reader)->Columns()[1].pages[0].layout, "damaged");
  auto faults = (*reader)->Check(ctx);
  ASSERT_TRUE(faults.ok());
  EXPECT_FALSE(faults->empty());
}

TEST(LazyPages, RowsThatNoBytesCouldHoldAreRefusedAtOnce) {
  testing::HandMadeFile file({"a"}, {});
  auto* page = file.columns[0].add_pages();
  page->set_length(uint64_t{1} << 40);
  page->add_buffer_offsets(0), page->add_buffer_sizes(64);
  testing::HandMadeFile::SetAny("/lance.encodings21.PageLayout", std::string("\x0a\x00", 2), page->mutable_encoding());
  file.filler = 64;
  ReadContext ctx;
  auto reader = FileReader::Open(MakeMemorySource("x.lance", arrow::Buffer::FromString(file.Build())), ctx);
  EXPECT_EQ(KindOf(reader.status()), ErrorKind::kCorrupt);
  EXPECT_EQ(reader.status().message(), "x.lance: column 'a' page 0: 1099511627776 rows in 64 bytes");
}

}  // namespace
}  // namespace pilum
