// Batches keep their byte limit whatever rows are like, memory in flight is bounded, and reads stop when they are told.
#include <atomic>
#include <chrono>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "pilum/file/batch_bytes.h"
#include "pilum/file/file_reader.h"
#include "pilum/file/file_writer.h"
#include "tests/support/hand_made_file.h"

namespace pilum {
namespace {

using TablePtr = std::shared_ptr<arrow::Table>;

BufferPtr Written(const TablePtr& table, const WriteOptions& options = {}) {
  BufferPtr bytes;
  auto writer = FileWriter::Make(MakeMemorySink("t.lance", &bytes), table->schema(), options).ValueOrDie();
  arrow::TableBatchReader reader(*table);
  for (std::shared_ptr<arrow::RecordBatch> b; reader.ReadNext(&b).ok() && b;) EXPECT_TRUE(writer->Write(*b).ok());
  EXPECT_TRUE(writer->Finish().ok());
  return bytes;
}

TablePtr Column(std::shared_ptr<arrow::Array> array, std::shared_ptr<const arrow::KeyValueMetadata> metadata = {}) {
  auto field = arrow::field("a", array->type(), true, std::move(metadata));
  return arrow::Table::Make(arrow::schema({field}), {std::move(array)});
}

uint64_t BytesOf(const arrow::RecordBatch& batch) {
  uint64_t n = 0;
  for (const auto& c : batch.columns()) n += SliceBytes(*c->data(), 0, c->length());
  return n;
}

std::string Noise(size_t size, uint64_t* state) {
  std::string out(size, '\0');
  for (char& c : out) {
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    c = static_cast<char>('!' + *state % 90);
  }
  return out;
}

struct Outcome {
  uint64_t batches = 0, lone = 0;  // `lone`: batches of one row over the limit
  int64_t most_memory = 0;
};

// Reads all, holding each batch against the limit and all rows against `want`.
Outcome ReadWithin(const TablePtr& want, const BufferPtr& file, uint64_t limit, int threads = 1) {
  Outcome out;
  arrow::ProxyMemoryPool pool(arrow::default_memory_pool());
  ReadContext ctx;
  ctx.pool = &pool;
  ctx.threads = threads;
  auto reader = FileReader::Open(MakeMemorySource("t.lance", file), ctx).ValueOrDie();
  auto stream = reader->Read(std::nullopt, RowSet::All(reader->num_rows()), {.bytes = limit}, ctx).ValueOrDie();
  int64_t at = 0;
  while (auto batch = stream->Next().ValueOrDie()) {
    EXPECT_TRUE(batch->Validate().ok());
    const uint64_t bytes = BytesOf(*batch);
    if (bytes > limit) {
      EXPECT_EQ(batch->num_rows(), 1) << bytes;
      ++out.lone;
    }
    ++out.batches;
    for (int c = 0; c < batch->num_columns(); ++c) {
      auto expected = want->column(c)->Slice(at, batch->num_rows());
      auto got = batch->column(c);
      if (got->type_id() == arrow::Type::DICTIONARY) {
        for (int64_t i = 0; i < got->length(); ++i) {
          auto x = *got->GetScalar(i), y = *expected->GetScalar(i);
          auto value = [](const std::shared_ptr<arrow::Scalar>& s) {
            return s->is_valid ? (*static_cast<const arrow::DictionaryScalar&>(*s).GetEncodedValue())->ToString()
                               : "null";
          };
          EXPECT_EQ(value(x), value(y));
        }
      } else {
        EXPECT_TRUE(expected->Equals(arrow::ChunkedArray(got))) << "rows from " << at;
      }
    }
    at += batch->num_rows();
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_EQ(at, want->num_rows());
  out.most_memory = pool.max_memory();
  return out;
}

TEST(BatchLimits, RowsOfAllSizes) {
  arrow::StringBuilder builder;
  uint64_t state = 5;
  for (int i = 0; i < 4000; ++i) {
    const size_t size = i % 500 == 77 ? 700'000 : i % 90 == 3 ? 30'000 : i % 30;
    ASSERT_TRUE(builder.Append(Noise(size, &state)).ok());
  }
  auto table = Column(*builder.Finish());
  for (int threads : {1, 3}) {
    const Outcome out = ReadWithin(table, Written(table), 256 << 10, threads);
    EXPECT_EQ(out.lone, 8u);
    EXPECT_GT(out.batches, 20u);
  }
}

TEST(BatchLimits, Lists) {
  auto items = std::make_shared<arrow::Int64Builder>();
  arrow::ListBuilder builder(arrow::default_memory_pool(), items);
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(builder.Append(i % 11 != 0).ok());
    if (i % 11 == 0) continue;
    for (int k = 0, n = i % 700 == 5 ? 50'000 : i % 9; k < n; ++k) ASSERT_TRUE(items->Append(i * 1000 + k).ok());
  }
  auto table = Column(*builder.Finish());
  const Outcome out = ReadWithin(table, Written(table), 100'000);
  EXPECT_EQ(out.lone, 4u);  // one of the five is null
}

TEST(BatchLimits, Blobs) {
  arrow::LargeBinaryBuilder builder;
  uint64_t state = 9;
  for (int i = 0; i < 120; ++i) ASSERT_TRUE(builder.Append(Noise(i % 10 == 0 ? 3'000'000 : 200'000, &state)).ok());
  auto table = Column(*builder.Finish(), arrow::key_value_metadata({"lance-encoding:blob"}, {"true"}));
  const Outcome out = ReadWithin(table, Written(table), 1 << 20);
  EXPECT_EQ(out.lone, 12u);
  EXPECT_LT(out.most_memory, 50 << 20);
}

// Bytes that a few bytes stand for: 400 MB of zeros compress to little, and nothing in the metadata tells.
TEST(BatchLimits, WhatWasGuessedTooSmallIsReadInParts) {
  arrow::LargeBinaryBuilder builder;
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(builder.Append(std::string(20'000, static_cast<char>(i % 3))).ok());
  auto table = Column(*builder.Finish(), arrow::key_value_metadata({"lance-encoding:compression"}, {"zstd"}));
  const BufferPtr file = Written(table, {.page_bytes = uint64_t{1} << 30});
  ASSERT_LT(file->size(), 20 << 20);
  const Outcome out = ReadWithin(table, file, 1 << 20);
  EXPECT_EQ(out.lone, 0u);
  EXPECT_LT(out.most_memory, 120 << 20);
}

TEST(BatchLimits, Dictionaries) {
  uint64_t state = 3;
  arrow::StringBuilder values;
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(values.Append(Noise(1000, &state)).ok());
  arrow::Int32Builder keys;
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE((i % 13 ? keys.Append(i * 7 % 3000) : keys.AppendNull()).ok());
  auto type = arrow::dictionary(arrow::int32(), arrow::utf8());
  std::shared_ptr<arrow::Array> dict = *arrow::DictionaryArray::FromArrays(type, *keys.Finish(), *values.Finish());
  auto table = Column(dict);
  const Outcome out = ReadWithin(table, Written(table), 256 << 10);  // the dictionary alone takes 3 MB
  EXPECT_EQ(out.lone, 0u);
  EXPECT_LT(out.batches, 400u);
}

TEST(BatchLimits, PagesOfATrillionRows) {
  testing::HandMadeFile file({"a", "b"}, {uint64_t{1} << 40}, uint64_t{1} << 40);
  ReadContext ctx;
  auto reader = FileReader::Open(MakeMemorySource("t.lance", arrow::Buffer::FromString(file.Build())), ctx);
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  for (uint64_t rows : {uint64_t{1000}, uint64_t{1} << 40}) {
    auto stream =
        *(*reader)->Read(std::nullopt, RowSet::All((*reader)->num_rows()), {.rows = rows, .bytes = 1 << 20}, ctx);
    for (int i = 0; i < 3; ++i) {
      auto batch = *stream->Next();
      EXPECT_LE(BytesOf(*batch), 1u << 20);
      EXPECT_LE(static_cast<uint64_t>(batch->num_rows()), rows);
    }
  }
}

// A source that asks for a stop once it has given the bytes of a large page: what notices is inside of that page.
class StoppingPool : public arrow::ProxyMemoryPool {
 public:
  StoppingPool(std::stop_source* stop, int64_t from)
      : ProxyMemoryPool(arrow::default_memory_pool()), stop_(stop), from_(from) {}
  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override {
    if (size >= from_) stop_->request_stop();
    return ProxyMemoryPool::Allocate(size, alignment, out);
  }
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** ptr) override {
    if (new_size >= from_) stop_->request_stop();
    return ProxyMemoryPool::Reallocate(old_size, new_size, alignment, ptr);
  }

 private:
  std::stop_source* stop_;
  int64_t from_;
};

TEST(Stopping, InsideALargePage) {
  uint64_t state = 1;
  arrow::Int64Builder ints;
  for (int i = 0; i < 2'000'000; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    ASSERT_TRUE(ints.Append(static_cast<int64_t>(state >> 40)).ok());  // 24 bits: far fewer bytes in the file
  }
  ReadContext plain;
  for (const TablePtr& table : {Column(*ints.Finish())}) {
    const BufferPtr file = Written(table, {.page_bytes = uint64_t{1} << 30});
    SCOPED_TRACE((*FileReader::Open(MakeMemorySource("t.lance", file), plain))->Columns()[0].pages[0].layout);
    std::stop_source stop;
    StoppingPool pool(&stop, 8 << 20);  // what is decoded, not what is fetched
    ReadContext ctx;
    ctx.pool = &pool;
    ctx.stop = stop.get_token();
    auto reader = *FileReader::Open(MakeMemorySource("t.lance", file), ctx);
    auto stream = *reader->Read(std::nullopt, RowSet::All(reader->num_rows()),
                                {.rows = uint64_t{1} << 30, .bytes = uint64_t{1} << 40}, ctx);
    auto got = stream->Next();
    ASSERT_TRUE(stop.stop_requested());
    EXPECT_EQ(KindOf(got.status()), ErrorKind::kCancelled) << got.status().ToString();
    EXPECT_NE(got.status().message().find("t.lance: 0 rows given out, "), std::string::npos) << got.status().message();
  }
}

TEST(Stopping, SaysWhatHadBeenRead) {
  arrow::Int64Builder ints;
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(ints.Append(i).ok());
  auto table = Column(*ints.Finish());
  ReadContext ctx;
  auto reader = *FileReader::Open(MakeMemorySource("t.lance", Written(table)), ctx);
  ctx.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  auto stream = *reader->Read(std::nullopt, RowSet::All(100'000), {.rows = 1000}, ctx);
  ASSERT_TRUE(stream->Next().ok());
  ASSERT_TRUE(stream->Next().ok());
  while (std::chrono::steady_clock::now() < *ctx.deadline) {
  }
  const Status st = stream->Next().status();
  EXPECT_EQ(KindOf(st), ErrorKind::kDeadline);
  EXPECT_NE(st.message().find("2000 rows given out"), std::string::npos) << st.message();
  EXPECT_EQ(st.message().find("--timeout"), std::string::npos) << "not only the command line reads this";
  EXPECT_EQ(stream->Next().status().message(), st.message());
}

}  // namespace
}  // namespace pilum
