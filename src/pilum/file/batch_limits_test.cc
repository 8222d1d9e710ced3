// Batches keep their byte limit whatever rows are like, memory in flight is bounded, and reads stop when they are told.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "pilum/file/batch_bytes.h"
#include "pilum/file/file_reader.h"
#include "pilum/file/file_writer.h"
#include "pilum/file/take_stream.h"
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

// A take holds no more than its budget, however large rows are and however often one is asked for.
TEST(BatchLimits, TakesKeepWithinABudget) {
  uint64_t state = 1;
  arrow::StringBuilder texts;
  auto items = std::make_shared<arrow::Int32Builder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), items);
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(texts.Append(Noise(i % 20 == 0 ? 200'000 : 50'000, &state)).ok());
    ASSERT_TRUE(lists.Append().ok());
    for (int k = 0; k < (i % 20 == 3 ? 20'000 : 3); ++k) ASSERT_TRUE(items->Append(k).ok());
  }
  std::vector<uint64_t> rows;
  for (uint64_t i = 0; i < 300; ++i) rows.push_back(i % 2 ? 3 : (i * 77 + 5) % 200);
  const arrow::ArrayVector arrays{*texts.Finish(), *lists.Finish()};
  for (FileVersion version : {FileVersion::kV2_0, FileVersion::kV2_2}) {
    for (const auto& array : arrays) {
      SCOPED_TRACE(array->type()->ToString());
      const BufferPtr file = Written(Column(array), {.version = version});
      constexpr uint64_t kBudget = 4 << 20;
      arrow::ProxyMemoryPool pool(arrow::default_memory_pool());
      ReadContext ctx;
      ctx.pool = &pool;
      auto reader = *FileReader::Open(MakeMemorySource("t.lance", file), ctx);
      TakeStream stream(*reader, std::nullopt, rows, kBudget, ctx);
      size_t at = 0, batches = 0;
      while (auto batch = stream.Next().ValueOrDie()) {
        ++batches;
        for (int64_t i = 0; i < batch->num_rows(); ++i, ++at) {
          ASSERT_TRUE(batch->column(0)->Slice(i, 1)->Equals(array->Slice(static_cast<int64_t>(rows[at]), 1))) << at;
        }
      }
      EXPECT_EQ(at, rows.size());
      EXPECT_GT(batches, 3u);
      EXPECT_LE(pool.max_memory(), static_cast<int64_t>(2 * kBudget));  // a batch given out, and the next one's
      auto table = reader->Take(std::nullopt, rows, ctx).ValueOrDie();
      EXPECT_EQ(table->num_rows(), static_cast<int64_t>(rows.size()));
      EXPECT_EQ(table->column(0)->num_chunks(), 1);
    }
  }
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

// What this thread has worked so far.
double CpuMillis() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

// Asks for a stop once something large is allocated, which a decoder then fills: what notices is inside of a page.
class StoppingPool : public arrow::ProxyMemoryPool {
 public:
  explicit StoppingPool(int64_t from) : ProxyMemoryPool(arrow::default_memory_pool()), from_(from) {}
  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override {
    Look(size);
    return ProxyMemoryPool::Allocate(size, alignment, out);
  }
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** ptr) override {
    Look(new_size);
    return ProxyMemoryPool::Reallocate(old_size, new_size, alignment, ptr);
  }
  std::stop_token token() const { return stop_.get_token(); }
  double stopped_at() const { return stopped_at_; }  // CpuMillis

 private:
  void Look(int64_t size) {
    if (size < from_ || stop_.stop_requested()) return;
    stop_.request_stop();
    stopped_at_ = CpuMillis();
  }
  std::stop_source stop_;
  double stopped_at_ = 0;
  int64_t from_;
};

struct LargePage {
  std::string name;
  TablePtr table;
  FileVersion version;
  int64_t from;  // bytes of what is decoded, and more than any of what comes before
};

// `scale`: how many times 16 MiB or so.
std::vector<LargePage> LargePages(int64_t scale) {
  uint64_t state = 1;
  auto next = [&] {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
  };
  const int64_t n = scale * 2'000'000;
  arrow::Int64Builder ints;
  auto items = std::make_shared<arrow::Int64Builder>(), members = std::make_shared<arrow::Int64Builder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), items);
  auto record = arrow::struct_({arrow::field("x", arrow::int64())});
  auto structs = std::make_shared<arrow::StructBuilder>(record, arrow::default_memory_pool(),
                                                        std::vector<std::shared_ptr<arrow::ArrayBuilder>>{members});
  arrow::ListBuilder deep(arrow::default_memory_pool(), structs);
  arrow::StringBuilder words, sentences, texts, mostly_null;
  const std::string filler = Noise(1 << 16, &state);
  auto piece = [&](uint64_t at, uint64_t size) {
    return std::string_view(filler).substr(at % (filler.size() - size), size);
  };
  for (int64_t i = 0; i < n; ++i) {
    const auto value = static_cast<int64_t>(next() >> 40);  // 24 bits: far fewer bytes in the file
    ARROW_UNUSED(ints.Append(value));
    if (i % 7 == 0) ARROW_UNUSED(lists.Append());
    ARROW_UNUSED(items->Append(value));
    if (i % 7 == 0) ARROW_UNUSED(deep.Append());
    ARROW_UNUSED(structs->Append());
    ARROW_UNUSED(i % 5 == 0 ? members->AppendNull() : members->Append(value));
    ARROW_UNUSED(words.Append(piece(value % 300 * 20, 20)));
  }
  for (int64_t i = 0; i < n / 8; ++i) ARROW_UNUSED(sentences.Append(piece(next() % 300 * 100, 100)));
  for (int64_t i = 0; i < n / 50; ++i) ARROW_UNUSED(texts.Append(piece(next(), 400 + next() % 100)));
  const auto fsst = arrow::key_value_metadata({"lance-encoding:compression"}, {"fsst"});
  const auto zstd = arrow::key_value_metadata({"lance-encoding:compression"}, {"zstd"});
  const auto all_ints = *ints.Finish(), all_words = *words.Finish(), all_sentences = *sentences.Finish(),
             all_texts = *texts.Finish();
  const auto all_lists = *lists.Finish(), all_deep = *deep.Finish();
  const FileVersion v20 = FileVersion::kV2_0, v22 = FileVersion::kV2_2;
  const int64_t most = scale * (8 << 20);
  return {{"ints", Column(all_ints), v22, most},
          {"lists", Column(all_lists), v22, most},
          {"lists of structs", Column(all_deep), v22, most},
          {"words of a dictionary", Column(all_words), v22, 3 * most},
          {"long words of a dictionary", Column(all_sentences), v22, 2 * most},
          {"zipped texts", Column(all_texts), v22, most},
          {"2.0 ints", Column(all_ints), v20, most},
          {"2.0 ints compressed", Column(all_ints, zstd), v20, most},
          {"2.0 lists", Column(all_lists), v20, most},
          {"2.0 words of a dictionary", Column(all_words), v20, 3 * most},
          {"2.0 texts", Column(all_texts), v20, most},
          {"2.0 texts with symbols", Column(all_texts, fsst), v20, most},
          {"2.0 texts compressed", Column(all_texts, zstd), v20, most}};
}

// The status of a read of the whole page that is stopped while it is decoded, and how long it worked on, in milliseconds.
Status StoppedRead(const LargePage& page, double* went_on) {
  const BufferPtr file = Written(page.table, {.version = page.version, .page_bytes = uint64_t{1} << 30});
  StoppingPool pool(page.from);
  ReadContext ctx;
  ctx.pool = &pool;
  ctx.stop = pool.token();
  auto reader = *FileReader::Open(MakeMemorySource("t.lance", file), ctx);
  auto stream = *reader->Read(std::nullopt, RowSet::All(reader->num_rows()),
                              {.rows = uint64_t{1} << 30, .bytes = uint64_t{1} << 40}, ctx);
  const Status st = stream->Next().status();
  *went_on = CpuMillis() - pool.stopped_at();
  EXPECT_TRUE(pool.token().stop_requested()) << reader->Columns()[0].pages[0].layout;
  return st;
}

TEST(Stopping, InsideALargePage) {
  for (const LargePage& page : LargePages(1)) {
    SCOPED_TRACE(page.name);
    double went_on = 0;
    const Status st = StoppedRead(page, &went_on);
    EXPECT_EQ(KindOf(st), ErrorKind::kCancelled) << st.ToString();
    EXPECT_NE(st.message().find("t.lance: 0 rows given out, "), std::string::npos) << st.message();
  }
}

// Run by hand, of a build with optimisation (--gtest_also_run_disabled_tests): pages of 128 MiB and more.
TEST(Stopping, DISABLED_WithinFiftyMilliseconds) {
  for (const LargePage& page : LargePages(8)) {
    double went_on = 0;
    EXPECT_EQ(KindOf(StoppedRead(page, &went_on)), ErrorKind::kCancelled) << page.name;
    std::printf("%-32s %7.2f ms\n", page.name.c_str(), went_on);
    EXPECT_LT(went_on, 50) << page.name;
  }
}

TEST(Stopping, InsideATake) {
  uint64_t state = 1;
  arrow::StringBuilder texts;
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(texts.Append(Noise(8000, &state)).ok());
  StoppingPool pool(8 << 20);
  ReadContext ctx;
  ctx.pool = &pool;
  ctx.stop = pool.token();
  auto reader = *FileReader::Open(MakeMemorySource("t.lance", Written(Column(*texts.Finish()))), ctx);
  std::vector<uint64_t> rows(3000);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  const Status st = reader->TakeBatch(std::nullopt, rows, ctx).status();
  EXPECT_EQ(KindOf(st), ErrorKind::kCancelled) << st.ToString();
  EXPECT_TRUE(reader->TakeBatch(std::nullopt, std::span(rows).first(10), ReadContext()).ok());
}

TEST(Stopping, SaysWhatHadBeenRead) {
  arrow::Int64Builder ints;
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(ints.Append(i).ok());
  auto table = Column(*ints.Finish());
  ReadContext ctx;
  auto reader = *FileReader::Open(MakeMemorySource("t.lance", Written(table)), ctx);
  ctx.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  auto stream = *reader->Read(std::nullopt, RowSet::All(100'000), {.rows = 1000}, ctx);
  ASSERT_TRUE(stream->Next().ok());
  ASSERT_TRUE(stream->Next().ok());
  std::this_thread::sleep_until(*ctx.deadline);
  const Status st = stream->Next().status();
  EXPECT_EQ(KindOf(st), ErrorKind::kDeadline);
  EXPECT_NE(st.message().find("2000 rows given out"), std::string::npos) << st.message();
  EXPECT_EQ(st.message().find("--timeout"), std::string::npos) << "not only the command line reads this";
  EXPECT_EQ(stream->Next().status().message(), st.message());
}

}  // namespace
}  // namespace pilum
