#include "pilum/file/file_reader.h"

#include <random>

#include <arrow/compute/api.h>
#include <gtest/gtest.h>

#include "tests/support/hand_made_file.h"
#include "tests/support/lance_test_files.h"
#include "pilum/file/projection.h"
#include "pilum/io/object_store.h"
#include "tests/support/capped_pool.h"

namespace pilum {
namespace {

using TablePtr = std::shared_ptr<arrow::Table>;
using ReaderPtr = std::shared_ptr<const FileReader>;
using Paths = std::optional<std::vector<FieldPath>>;

Result<ReaderPtr> OpenPath(const std::string& path, ReadStats* stats = nullptr) {
  ReadContext ctx;
  ctx.stats = stats;
  PILUM_ASSIGN_OR_RETURN(auto source, OpenLocalFile(path, ctx));
  return FileReader::Open(std::move(source), ctx);
}

Result<ReaderPtr> OpenBytes(std::string bytes) {
  ReadContext ctx;
  return FileReader::Open(MakeMemorySource("x.lance", arrow::Buffer::FromString(std::move(bytes))), ctx);
}

std::string Base(const std::string& path) { return std::filesystem::path(path).filename().string(); }

// Reads through the stream, checking every batch on the way.
Result<TablePtr> ReadAll(const FileReader& reader, const Paths& columns, const RowSet& rows, BatchLimits limits,
                         int threads = 1) {
  ReadContext ctx;
  ctx.threads = threads;
  PILUM_ASSIGN_OR_RETURN(auto stream, reader.Read(columns, rows, limits, ctx));
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  RowSet seen;
  while (true) {
    PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
    if (!batch) break;
    PILUM_RETURN_NOT_OK(batch->ValidateFull());
    EXPECT_GT(batch->num_rows(), 0);
    EXPECT_LE(static_cast<uint64_t>(batch->num_rows()), limits.rows);
    EXPECT_EQ(stream->rows().size(), static_cast<uint64_t>(batch->num_rows()));
    for (const auto& r : stream->rows().ranges()) seen.Append(r.begin, r.end);
    batches.push_back(std::move(batch));
  }
  EXPECT_EQ(seen, rows);
  return arrow::Table::FromRecordBatches(stream->schema(), batches);
}

std::shared_ptr<arrow::Array> Decoded(const arrow::ChunkedArray& column) {
  arrow::ArrayVector chunks;
  for (const auto& c : column.chunks()) {
    bool dictionary = c->type_id() == arrow::Type::DICTIONARY;
    const auto& type = *c->type();
    chunks.push_back(
        dictionary ? arrow::compute::Cast(*c, static_cast<const arrow::DictionaryType&>(type).value_type()).ValueOrDie()
                   : c);
  }
  return chunks.empty() ? nullptr : *arrow::Concatenate(chunks);
}

// NaN equals NaN; dictionaries may differ where the values do not.
void ExpectSame(const arrow::Table& got, const arrow::Table& want, const std::string& where) {
  ASSERT_TRUE(got.schema()->Equals(*want.schema(), /*check_metadata=*/true))
      << where << "\ngot  " << got.schema()->ToString(true) << "\nwant " << want.schema()->ToString(true);
  ASSERT_EQ(got.num_rows(), want.num_rows()) << where;
  for (int i = 0; i < want.num_columns() && want.num_rows() > 0; ++i) {
    auto g = Decoded(*got.column(i)), w = Decoded(*want.column(i));
    EXPECT_TRUE(g->Equals(w, arrow::EqualOptions::Defaults().nans_equal(true)))
        << where << " column " << want.schema()->field(i)->name() << "\n"
        << g->Diff(*w).substr(0, 2000);
  }
}

TablePtr Rows(const TablePtr& table, const std::vector<uint64_t>& rows) {
  arrow::UInt64Builder builder;
  EXPECT_TRUE(builder.AppendValues(rows).ok());
  return arrow::compute::Take(table->CombineChunks().ValueOrDie(), *builder.Finish())->table();
}

// Through a mapping (a local file, from its second take on) and by ranges (anything else), each on a reader that knows
// nothing yet.
void CheckTakesOfNewReaders(const TablePtr& want, const std::string& path, std::mt19937* random) {
  const auto n = static_cast<uint64_t>(want->num_rows());
  ReadContext ctx;
  for (bool local : {true, false}) {
    auto reader = local ? OpenPath(path) : OpenBytes(*testing::ReadBytes(path));
    ASSERT_TRUE(reader.ok()) << reader.status();
    for (uint64_t k : {1, 3, 200, 50}) {
      std::vector<uint64_t> rows;
      const uint64_t span = (*random)() % 2 ? n : std::min<uint64_t>(n, 40);  // far apart, or close
      const uint64_t from = (*random)() % (n - span + 1);
      for (uint64_t i = 0; i < k; ++i) rows.push_back(from + (*random)() % span);
      if ((*random)() % 2) std::sort(rows.begin(), rows.end());
      auto got = (*reader)->TakeBatch(std::nullopt, rows, ctx);
      ASSERT_TRUE(got.ok()) << path << ": " << got.status();
      ASSERT_TRUE((*got)->ValidateFull().ok()) << path << (*got)->ValidateFull();
      ExpectSame(**arrow::Table::FromRecordBatches({*got}), *Rows(want, rows), path + (local ? " local" : " memory"));
    }
  }
}

void CheckTakes(const FileReader& reader, const TablePtr& want, const std::string& path) {
  std::mt19937 random(static_cast<uint32_t>(std::hash<std::string>()(Base(path))));
  const auto n = static_cast<uint64_t>(want->num_rows());
  CheckTakesOfNewReaders(want, path, &random);
  for (uint64_t k : {1, 7, 100}) {
    std::vector<uint64_t> rows;  // any order, with duplicates
    for (uint64_t i = 0; i < k; ++i) rows.push_back(random() % n);
    for (bool sorted : {false, true}) {
      if (sorted) {
        std::sort(rows.begin(), rows.end());
        rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
      }
      auto got = reader.Take(std::nullopt, rows, ReadContext());
      ASSERT_TRUE(got.ok()) << path << ": " << got.status();
      ASSERT_TRUE((*got)->ValidateFull().ok()) << path;
      for (const auto& c : (*got)->columns()) EXPECT_EQ(c->num_chunks(), 1) << path;
      ExpectSame(**got, *Rows(want, rows), path + " take");
    }
  }
  uint64_t a = random() % n, b = a + 1 + random() % (n - a);
  auto got = ReadAll(reader, std::nullopt, RowSet::Range(a, b), BatchLimits{100});
  ASSERT_TRUE(got.ok()) << path << ": " << got.status();
  ExpectSame(**got, *want->Slice(static_cast<int64_t>(a), static_cast<int64_t>(b - a)), path + " range");
}

// Every path into structs below this field, through lists; a map is read whole.
void PathsBelow(const arrow::Field& field, FieldPath path, std::vector<FieldPath>* out) {
  const arrow::DataType* type = field.type().get();
  while (type->id() == arrow::Type::LIST || type->id() == arrow::Type::LARGE_LIST ||
         type->id() == arrow::Type::FIXED_SIZE_LIST) {
    type = type->field(0)->type().get();
  }
  if (type->id() != arrow::Type::STRUCT) return;
  for (const auto& child : type->fields()) {
    FieldPath deeper = path;
    deeper.steps.push_back(child->name());
    out->push_back(deeper);
    PathsBelow(*child, deeper, out);
  }
}

void CheckColumns(const FileReader& reader, const TablePtr& want, const std::string& path) {
  const RowSet all = RowSet::All(reader.num_rows());
  for (int i = 0; i < std::min(3, want->num_columns()); ++i) {
    auto field = want->schema()->field(i);
    if (want->schema()->GetAllFieldIndices(field->name()).size() > 1) continue;
    std::vector<FieldPath> paths = {{{field->name()}}};
    PathsBelow(*field, paths[0], &paths);
    for (const FieldPath& p : paths) {
      auto got = ReadAll(reader, {{p}}, all, BatchLimits{});
      ASSERT_TRUE(got.ok()) << path << ": " << got.status();
      auto type = (*got)->schema()->field(0)->type();
      arrow::ArrayVector chunks;
      for (const auto& c : want->column(i)->chunks()) chunks.push_back(*PruneArray(c, type));
      auto expected = arrow::Table::Make(arrow::schema({field->WithType(type)}, want->schema()->metadata()),
                                         {std::make_shared<arrow::ChunkedArray>(chunks, type)});
      ExpectSame(**got, *expected, path + " column " + p.ToString());
    }
  }
}

void CheckFile(const std::string& path) {
  SCOPED_TRACE(path);
  auto reader = OpenPath(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  auto want = *testing::StorageTable(**testing::ReadExpected(path));
  ASSERT_EQ((*reader)->num_rows(), static_cast<uint64_t>(want->num_rows()));
  const RowSet all = RowSet::All((*reader)->num_rows());
  for (int threads : {1, 2}) {
    auto got = ReadAll(**reader, std::nullopt, all, BatchLimits{1000}, threads);
    ASSERT_TRUE(got.ok()) << got.status();
    ExpectSame(**got, *want, "whole");
  }
  if (want->num_rows() > 0) CheckTakes(**reader, want, path);
  if (want->num_rows() > 0) CheckColumns(**reader, want, path);
  ReadContext ctx;
  auto faults = (*reader)->Check(ctx);
  ASSERT_TRUE(faults.ok()) << faults.status();
  for (const auto& f : *faults) ADD_FAILURE() << f;
}

void CheckDir(const std::string& dir) {
  int files = 0;
  for (const auto& path : testing::LanceFilesIn(dir)) {
    if (!std::filesystem::exists(path.substr(0, path.size() - 6) + ".arrow")) continue;
    CheckFile(path);
    ++files;
  }
  EXPECT_GT(files, 0) << dir;
}

TEST(FileReader, GoldenV21) { CheckDir(testing::GoldenDir() + "/file/v2_1"); }
TEST(FileReader, GoldenV22) { CheckDir(testing::GoldenDir() + "/file/v2_2"); }

TEST(FileReader, Corpus) {
  if (testing::CorpusDir().empty()) GTEST_SKIP() << "no corpus beside the checkout";
  CheckDir(testing::CorpusDir() + "/v2_1");
  CheckDir(testing::CorpusDir() + "/v2_2");
}

// A result or an error that names the file; never a crash.
void ReadBroken(const std::string& path) {
  SCOPED_TRACE(path);
  auto named = [&](const Status& st) { EXPECT_NE(st.message().find(Base(path)), std::string::npos) << st; };
  auto reader = OpenPath(path);
  if (!reader.ok()) return named(reader.status());
  auto table = (*reader)->ReadTable(std::nullopt, RowSet::All((*reader)->num_rows()), ReadContext());
  if (!table.ok())
    named(table.status());
  else
    EXPECT_TRUE((*table)->ValidateFull().ok());
  ReadContext ctx;
  auto faults = (*reader)->Check(ctx);
  if (!faults.ok()) return named(faults.status());
  EXPECT_TRUE(table.ok() || !faults->empty());
  for (const auto& f : *faults) named(f);
}

TEST(FileReader, Broken) {
  for (const auto& path : testing::LanceFilesIn(testing::GoldenDir() + "/broken")) ReadBroken(path);
}

TEST(FileReader, EveryFixtureWithFlippedBytes) {
  std::mt19937 random(7);
  for (const auto& dir : {"/file/v2_1", "/file/v2_2"}) {
    for (const auto& path : testing::LanceFilesIn(testing::GoldenDir() + dir)) {
      SCOPED_TRACE(path);
      std::string good = *testing::ReadBytes(path);
      if (good.size() > 50000) continue;
      for (int round = 0; round < 20; ++round) {
        std::string bytes = good;
        for (int flips = 0; flips < 3; ++flips) bytes[random() % bytes.size()] = static_cast<char>(random());
        auto reader = OpenBytes(bytes);
        if (!reader.ok() || (*reader)->num_rows() > 1'000'000) continue;
        if (const uint64_t n = (*reader)->num_rows(); n > 0) {  // takes meet the damage first, and on their own
          auto taken = (*reader)->TakeBatch(std::nullopt, std::vector<uint64_t>{n - 1, n / 2, 0, n / 2}, ReadContext());
          if (taken.ok()) EXPECT_TRUE((*taken)->Validate().ok()) << (*taken)->Validate();
          if (!taken.ok()) EXPECT_TRUE(taken.status().message().starts_with("x.lance: ")) << taken.status();
        }
        auto table = (*reader)->ReadTable(std::nullopt, RowSet::All((*reader)->num_rows()), ReadContext());
        if (!table.ok()) {
          EXPECT_TRUE(table.status().message().starts_with("x.lance: ")) << table.status();
          continue;
        }
        Status valid = (*table)->ValidateFull();  // a decimal of too many digits is a wrong value, not a wrong format
        EXPECT_TRUE(valid.ok() || valid.message().find("does not fit in precision") != std::string::npos) << valid;
      }
    }
  }
}

TEST(FileReader, OpenReadsTheTailOnceAndATakeFewRanges) {
  ReadStats stats;
  auto reader = *OpenPath(testing::GoldenDir() + "/file/v2_2/compress_zstd_i64.lance", &stats);
  EXPECT_EQ(stats.opens, 1u);
  EXPECT_EQ(stats.requests, 1u);
  ReadContext ctx;
  ReadStats take;
  ctx.stats = &take;
  ASSERT_TRUE(reader->Take(std::nullopt, {17}, ctx).ok());
  EXPECT_EQ(take.opens, 0u);
  EXPECT_LE(take.requests, 2u);  // chunk table, then the chunk
  ReadStats again;
  ctx.stats = &again;
  ASSERT_TRUE(reader->Take(std::nullopt, {18}, ctx).ok());
  EXPECT_EQ(again.requests, 1u);  // the chunk table is kept
}

TEST(FileReader, BlobV2DescriptorsOfADatasetFile) {
  auto reader = OpenPath(testing::GoldenDir() + "/file/special/blob_v2_dataset_2.2.lance");
  ASSERT_TRUE(reader.ok()) << reader.status();
  auto table = (*reader)->ReadTable({{FieldPath{{"b"}}, FieldPath{{"id"}}}}, RowSet::All(4), ReadContext());
  ASSERT_TRUE(table.ok()) << table.status();
  auto b = std::static_pointer_cast<arrow::StructArray>((*table)->column(0)->chunk(0));
  EXPECT_TRUE(b->IsNull(1));
  EXPECT_EQ(b->null_count(), 1);
  auto numbers = [&](int child) { return std::static_pointer_cast<arrow::UInt64Array>(b->field(child)); };
  EXPECT_EQ(numbers(1)->Value(2), 192u);
  EXPECT_EQ(numbers(2)->Value(0), 150u);
  EXPECT_EQ(numbers(2)->Value(3), 3000u);
}

TEST(FileReader, GlobalBuffers) {
  auto reader = *OpenPath(testing::GoldenDir() + "/file/special/global_buffers_2.2.lance");
  ReadContext ctx;
  EXPECT_EQ((*reader->ReadGlobalBuffer(1, ctx))->ToString(), "hello world");
  EXPECT_EQ((*reader->ReadGlobalBuffer(2, ctx))->size(), 100);
  EXPECT_EQ(KindOf(reader->ReadGlobalBuffer(3, ctx).status()), ErrorKind::kUsage);
  EXPECT_EQ(reader->info().num_global_buffers, 3u);
  EXPECT_EQ(*reader->schema()->metadata()->Get("late"), "value");
}

TEST(FileReader, NullColumnsPagesAndDuplicateNames) {
  testing::HandMadeFile file({"a", "a"}, {3, 0, 5});
  auto reader = OpenBytes(file.Build());
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->num_rows(), 8u);
  auto table = *ReadAll(**reader, std::nullopt, RowSet::FromSorted({0, 2, 3, 7}), BatchLimits{3});
  EXPECT_EQ(table->num_columns(), 2);
  EXPECT_EQ(table->column(1)->null_count(), 4);
  EXPECT_EQ(KindOf((*reader)->ProjectedSchema({{FieldPath{{"a"}}}}).status()), ErrorKind::kUsage);
  EXPECT_EQ((*reader)->Columns()[0].pages.size(), 3u);
  EXPECT_EQ((*reader)->Columns()[0].pages[2].first_row, 3u);
}

TEST(FileReader, NoRowsNoColumnsNoProjection) {
  auto empty = *OpenBytes(testing::HandMadeFile({"a"}, {}).Build());
  EXPECT_EQ(empty->num_rows(), 0u);
  EXPECT_EQ((*empty->Take(std::nullopt, {}, ReadContext()))->num_columns(), 1);
  EXPECT_EQ((*empty->ReadTable(std::nullopt, RowSet(), ReadContext()))->num_rows(), 0);
  auto bare = *OpenBytes(testing::HandMadeFile({}, {}, 9).Build());
  EXPECT_EQ(bare->num_rows(), 9u);
  EXPECT_EQ((*bare->ReadTable(std::nullopt, RowSet::All(9), ReadContext()))->num_rows(), 9);
  auto some = *OpenBytes(testing::HandMadeFile({"a"}, {10}).Build());
  auto table = *ReadAll(*some, std::vector<FieldPath>{}, RowSet::All(10), BatchLimits{4});
  EXPECT_EQ(table->num_rows(), 10);
  EXPECT_EQ(table->num_columns(), 0);
  EXPECT_EQ((*some->Take(std::vector<FieldPath>{}, {3, 3}, ReadContext()))->num_rows(), 2);
}

TEST(FileReader, WhatDoesNotFitTogether) {
  testing::HandMadeFile uneven({"a", "b"}, {3});
  uneven.AddPage(1, 2);
  Status st = OpenBytes(uneven.Build()).status();
  EXPECT_EQ(KindOf(st), ErrorKind::kCorrupt);
  EXPECT_EQ(st.message(), "x.lance: column 'b' has 5 rows, column 'a' 3");
  testing::HandMadeFile missing({"a", "b"}, {3});
  missing.columns.pop_back();
  EXPECT_EQ(KindOf(OpenBytes(missing.Build()).status()), ErrorKind::kCorrupt);
  EXPECT_EQ(OpenBytes(testing::HandMadeFile({"a"}, {uint64_t{1} << 40}, 3).Build()).status().message(),
            "x.lance: column 'a' page 0: a constant page of 1099511627776 rows, but the file is said to hold 3");
  auto reader = *OpenBytes(testing::HandMadeFile({"a"}, {3}).Build());
  st = reader->Take(std::nullopt, {1, 5}, ReadContext()).status();
  EXPECT_EQ(KindOf(st), ErrorKind::kUsage);
  EXPECT_EQ(st.message(), "x.lance: row 5 is out of range: the file has 3 rows");
  EXPECT_EQ(KindOf(reader->Read(std::nullopt, RowSet::Range(2, 9), BatchLimits{}, ReadContext()).status()),
            ErrorKind::kUsage);
}

TEST(FileReader, CheckDoesNotCountOutARowThatAFewBytesRepeat) {
  constexpr uint64_t kMany = uint64_t{1} << 46;
  auto reader = *OpenBytes(testing::HandMadeFile({"a", "b"}, {kMany, 3, kMany}, 2 * kMany + 3).Build());
  ReadContext ctx;
  ctx.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  auto faults = reader->Check(ctx);
  ASSERT_TRUE(faults.ok()) << faults.status();
  EXPECT_TRUE(faults->empty());
}

TEST(FileReader, StopsWhenAskedTo) {
  auto reader = *OpenPath(testing::GoldenDir() + "/file/v2_2/multi_page_nested.lance");
  std::stop_source stop;
  ReadContext ctx;
  ctx.stop = stop.get_token();
  auto stream = *reader->Read(std::nullopt, RowSet::All(reader->num_rows()), BatchLimits{10}, ctx);
  ASSERT_TRUE(stream->Next().ok());
  stop.request_stop();
  Status st = stream->Next().status();
  EXPECT_EQ(KindOf(st), ErrorKind::kCancelled);
  EXPECT_EQ(stream->Next().status(), st);  // and again
}

TEST(FileReader, DroppingAStreamEarlyIsSafe) {
  auto reader = *OpenPath(testing::GoldenDir() + "/file/v2_2/multi_page_nested.lance");
  for (int i = 0; i < 20; ++i) {
    ReadContext ctx;
    ctx.threads = 4;
    auto stream = *reader->Read(std::nullopt, RowSet::All(reader->num_rows()), BatchLimits{50, 10000}, ctx);
    for (int b = 0; b < i; ++b) ASSERT_TRUE(stream->Next().ok());
  }
}

TEST(FileReader, SameCountsWhateverTheThreads) {
  std::map<std::string, uint64_t> decoded[2];
  for (int threads : {1, 3}) {
    auto reader = *OpenPath(testing::GoldenDir() + "/file/v2_2/multi_page_nested.lance");
    ReadStats stats;
    ReadContext ctx;
    ctx.threads = threads;
    ctx.stats = &stats;
    auto stream = *reader->Read(std::nullopt, RowSet::All(reader->num_rows()), BatchLimits{50, 10000}, ctx);
    while (*stream->Next()) continue;
    decoded[threads > 1] = stats.decoded();
  }
  EXPECT_FALSE(decoded[0].empty());
  EXPECT_EQ(decoded[0], decoded[1]);
}

TEST(FileReader, AUnitThatDoesNotFitIsReadInParts) {
  auto reader = *OpenPath(testing::GoldenDir() + "/file/v2_2/type_fixed_size_binary_300_nulls.lance");
  const RowSet all = RowSet::All(reader->num_rows());
  auto want = *ReadAll(*reader, std::nullopt, all, BatchLimits{});
  test::CappedPool pool(6000);  // the page has 18 KB
  ReadContext ctx;
  ctx.pool = &pool;
  auto stream = *reader->Read(std::nullopt, all, BatchLimits{}, ctx);
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  while (true) {
    auto batch = stream->Next();
    ASSERT_TRUE(batch.ok()) << batch.status();
    if (!*batch) break;
    batches.push_back(*batch);
  }
  EXPECT_GT(batches.size(), 1u);
  ExpectSame(**arrow::Table::FromRecordBatches(stream->schema(), batches), *want, "parts");
  EXPECT_TRUE(pool.over());
}

TEST(FileReader, ByteLimitCutsBatches) {
  auto reader = *OpenPath(testing::GoldenDir() + "/file/v2_2/mixed_short_long.lance");
  auto stream = *reader->Read(std::nullopt, RowSet::All(reader->num_rows()), BatchLimits{1 << 20, 4096}, ReadContext());
  uint64_t batches = 0, rows = 0;
  while (auto batch = *stream->Next()) ++batches, rows += static_cast<uint64_t>(batch->num_rows());
  EXPECT_EQ(rows, reader->num_rows());
  EXPECT_GT(batches, 5u);
}

}  // namespace
}  // namespace pilum
