// Files that we write notice every changed byte; what the checksums say of themselves is not believed.
#include "pilum/file/checksums.h"

#include <fstream>
#include <random>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "pilum/base/checksum.h"
#include "pilum/file/file_reader.h"
#include "pilum/file/file_writer.h"
#include "pilum/io/object_store.h"

namespace pilum {
namespace {

// Every layout that we write in few bytes: mini-block, full-zip, dictionary, constant, blob, lists.
std::shared_ptr<arrow::Table> SmallTable(int rows) {
  arrow::Int64Builder ints;
  arrow::StringBuilder texts, kinds;
  arrow::LargeBinaryBuilder blobs, wide;
  arrow::NullBuilder nulls;
  auto values = std::make_shared<arrow::Int16Builder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), values);
  std::mt19937 rng(5);
  for (int i = 0; i < rows; ++i) {
    ARROW_UNUSED(i % 5 ? ints.Append(rng()) : ints.AppendNull());
    ARROW_UNUSED(texts.Append(std::string(rng() % 20, 'a' + i % 26) + std::to_string(rng())));
    ARROW_UNUSED(kinds.Append(i % 2 ? "left" : "right"));
    ARROW_UNUSED(blobs.Append(std::string(rng() % 90, 'b')));
    ARROW_UNUSED(wide.Append(std::string(300 + rng() % 50, 'w')));
    ARROW_UNUSED(nulls.AppendNull());
    ARROW_UNUSED(lists.Append());
    for (unsigned k = 0; k < rng() % 3; ++k) ARROW_UNUSED(values->Append(k));
  }
  auto blob = arrow::key_value_metadata({"lance-encoding:blob"}, {"true"});
  auto schema = arrow::schema({arrow::field("i", arrow::int64()), arrow::field("s", arrow::utf8()),
                               arrow::field("k", arrow::utf8()), arrow::field("b", arrow::large_binary(), true, blob),
                               arrow::field("w", arrow::large_binary()), arrow::field("n", arrow::null()),
                               arrow::field("l", arrow::list(arrow::int16()))});
  return arrow::Table::Make(schema, {*ints.Finish(), *texts.Finish(), *kinds.Finish(), *blobs.Finish(), *wide.Finish(),
                                     *nulls.Finish(), *lists.Finish()});
}

std::string Written(const arrow::Table& table, const WriteOptions& options, const std::string& global = "") {
  BufferPtr bytes;
  auto writer = FileWriter::Make(MakeMemorySink("t.lance", &bytes), table.schema(), options).ValueOrDie();
  if (!global.empty()) {
    EXPECT_TRUE(writer->AddGlobalBuffer(global).ok());
  }
  arrow::TableBatchReader reader(table);
  for (std::shared_ptr<arrow::RecordBatch> b; reader.ReadNext(&b).ok() && b;) EXPECT_TRUE(writer->Write(*b).ok());
  EXPECT_TRUE(writer->Finish().ok());
  return bytes->ToString();
}

Result<std::shared_ptr<const FileReader>> Open(const std::string& bytes, ReadContext ctx = {}) {
  return FileReader::Open(MakeMemorySource("t.lance", arrow::Buffer::FromString(bytes)), ctx);
}

Result<std::shared_ptr<arrow::Table>> ReadAll(const std::string& bytes, ReadContext ctx = {}) {
  PILUM_ASSIGN_OR_RETURN(auto reader, Open(bytes, ctx));
  return reader->ReadTable(std::nullopt, RowSet::All(reader->num_rows()), ctx);
}

std::vector<Status> CheckAll(const std::string& bytes) {
  ReadContext ctx;
  auto reader = Open(bytes);
  if (!reader.ok()) return {reader.status()};
  return (*reader)->Check(ctx).ValueOrDie();
}

constexpr FileVersion kWritten[] = {FileVersion::kV2_0, FileVersion::kV2_1, FileVersion::kV2_2};

bool IsWritten(FileVersion version) {
  BufferPtr bytes;
  auto schema = arrow::schema({arrow::field("i", arrow::int64())});
  return FileWriter::Make(MakeMemorySink("t.lance", &bytes), schema, {.version = version}).ok();
}

// Reads either fail and name what they read, or give what was written: then nobody needed the byte, and the check finds
// it all the same.
TEST(Checksums, EveryByteOfSmallFiles) {
  const auto table = SmallTable(40);
  int versions = 0;
  for (FileVersion version : kWritten) {
    if (!IsWritten(version)) continue;
    ++versions;
    const std::string good = Written(*table, {.version = version}, "a buffer of the user");
    const auto want = *ReadAll(good);
    ASSERT_TRUE(CheckAll(good).empty()) << CheckAll(good)[0].ToString();
    size_t unread = 0;
    std::mt19937 rng(9);
    for (size_t at = 0; at < good.size(); ++at) {
      SCOPED_TRACE(fmt::format("{} byte {} of {}", VersionName(version), at, good.size()));
      std::string bad = good;
      bad[at] ^= static_cast<char>(1 << rng() % 8);
      auto got = ReadAll(bad);
      if (got.ok()) {
        ++unread;
        ASSERT_TRUE((*got)->Equals(*want, true));
      } else {
        ASSERT_TRUE(got.status().message().starts_with("t.lance: ")) << got.status().ToString();
      }
      ASSERT_FALSE(CheckAll(bad).empty());
    }
    EXPECT_EQ(unread, 0u) << "every block of so small a file is read";
  }
  EXPECT_GE(versions, 2);
}

// Takes of a mapped file: of every layout, whatever byte is flipped.
TEST(Checksums, MappedTakesOfSmallFiles) {
  const auto table = SmallTable(40);
  const std::string good = Written(*table, {});
  const auto temp = TempDir::Make().ValueOrDie();
  const std::string path = temp->path() + "/t.lance";
  std::vector<uint64_t> rows(40);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = rows.size() - 1 - i;
  auto taken = [&](const std::string& bytes) -> Result<std::shared_ptr<arrow::RecordBatch>> {
    std::ofstream(path, std::ios::binary) << bytes;
    ReadContext ctx;
    PILUM_ASSIGN_OR_RETURN(auto source, OpenLocalFile(path, ctx));
    PILUM_ASSIGN_OR_RETURN(auto reader, FileReader::Open(std::move(source), ctx));
    return reader->TakeBatch(std::nullopt, rows, ctx);
  };
  const auto want = *taken(good);
  std::mt19937 rng(10);
  for (size_t at = 0; at < good.size(); at += 23) {
    SCOPED_TRACE(fmt::format("byte {} of {}", at, good.size()));
    std::string bad = good;
    bad[at] ^= static_cast<char>(1 << rng() % 8);
    auto got = taken(bad);
    if (got.ok()) {
      ASSERT_TRUE((*got)->Equals(*want));
    } else {
      ASSERT_TRUE(got.status().message().starts_with(path)) << got.status();
    }
  }
}

TEST(Checksums, ErrorsNameColumnPageAndRows) {
  arrow::Int64Builder a, b;
  for (int64_t i = 0; i < 40'000; ++i) {
    ARROW_UNUSED(a.Append(i * 7919 * 104729 % 1000003 * 8191));
    ARROW_UNUSED(b.Append(i * 104723 * 7907 % 1000033 * 8191));
  }
  auto table = arrow::Table::Make(arrow::schema({arrow::field("a", arrow::int64()), arrow::field("b", arrow::int64())}),
                                  {*a.Finish(), *b.Finish()});
  const std::string good = Written(*table, {.page_bytes = 80'000});
  auto reader = *Open(good);
  const ColumnInfo column = reader->Columns()[1];
  ASSERT_GT(column.pages.size(), 3u);
  const ColumnPageInfo& page = column.pages[2];
  ByteRange largest =
      *std::max_element(page.buffers.begin(), page.buffers.end(), [](auto& x, auto& y) { return x.size < y.size; });
  ASSERT_GT(largest.size, 3u * 4096);
  ReadContext off;
  off.verify = Verify::kOff;
  const auto want = *ReadAll(good);
  std::string bad;
  size_t at = largest.offset + largest.size / 2;
  for (bool unseen = true; unseen; ++at) {  // until values change by it, and nobody would have known
    bad = good;
    bad[at] ^= 0x10;
    auto unverified = ReadAll(bad, off);
    unseen = !unverified.ok() || (*unverified)->Equals(*want);
    ASSERT_LT(at, largest.end());
  }
  --at;
  const auto place =
      fmt::format("t.lance: column 'b' page 2 (rows {} to {}): bytes {} to {} of the file do not agree", page.first_row,
                  page.first_row + page.rows - 1, at / 4096 * 4096, at / 4096 * 4096 + 4095);
  const Status read = ReadAll(bad).status();
  EXPECT_EQ(KindOf(read), ErrorKind::kCorrupt);
  EXPECT_TRUE(read.message().starts_with(place)) << read.ToString();
  const auto faults = CheckAll(bad);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_TRUE(faults[0].message().starts_with(place)) << faults[0].ToString();

  // Rows elsewhere are still read, and so is the other column.
  ReadContext ctx;
  auto open = *Open(bad);
  EXPECT_TRUE(open->ReadTable(std::vector{FieldPath{{"a"}}}, RowSet::All(40'000), ctx).ok());
  EXPECT_TRUE(open->ReadTable(std::nullopt, RowSet::Range(0, page.first_row), ctx).ok());
  EXPECT_TRUE(open->Take(std::nullopt, {0, 39'999}, ctx).ok());
}

TEST(Checksums, FilesWithout) {
  const auto table = SmallTable(10);
  const std::string with = Written(*table, {}), without = Written(*table, {.checksums = false});
  EXPECT_TRUE((*Open(with))->info().checksums);
  EXPECT_EQ((*Open(with))->info().num_global_buffers, 1u) << "they are no buffer of the user's";
  ReadContext off;
  off.verify = Verify::kOff;
  EXPECT_EQ((*Open(with, off))->info().num_global_buffers, 1u);
  EXPECT_FALSE((*Open(with, off))->info().checksums);
  EXPECT_FALSE((*Open(without))->info().checksums);
  EXPECT_EQ((*Open(without))->info().num_global_buffers, 1u);
  EXPECT_TRUE((*ReadAll(with))->Equals(**ReadAll(without), true));
  EXPECT_TRUE(CheckAll(without).empty());
  // No rows, no columns: still checksums.
  const auto empty = arrow::Table::Make(arrow::schema({}), std::vector<std::shared_ptr<arrow::Array>>{}, 0);
  EXPECT_TRUE((*Open(Written(*empty, {})))->info().checksums);
}

// The last 64 bytes before the schema, made anew so that their own checksum holds.
std::string WithTrailer(std::string file, size_t trailer, size_t at, uint64_t value, size_t width) {
  std::memcpy(&file[trailer + at], &value, width);
  const uint64_t hash = Checksum64(&file[trailer], 48);
  std::memcpy(&file[trailer + 48], &hash, 8);
  return file;
}

TEST(Checksums, WhatTheTrailerSaysIsChecked) {
  const std::string good = Written(*SmallTable(40), {});
  const size_t trailer = (*Open(good))->info().global_buffers[0].offset - 64;
  ASSERT_EQ(good.substr(trailer, 8), "PLMCHKS1");
  for (uint64_t value : {uint64_t{0}, uint64_t{1}, uint64_t{64}, uint64_t{1} << 40, ~uint64_t{0}, uint64_t{12}}) {
    for (size_t at : {12, 16, 24, 32, 40}) {  // block size, bytes of data, two checksums, zero
      if (at == 40 && value == 0) continue;
      auto opened = Open(WithTrailer(good, trailer, at, value, at == 12 ? 4 : 8));
      ASSERT_FALSE(opened.ok()) << at << " " << value;
      EXPECT_EQ(KindOf(opened.status()), ErrorKind::kCorrupt);
    }
  }
  // A newer version is not looked at: the file is read as one without.
  const std::string newer = WithTrailer(good, trailer, 8, 2, 4);
  ASSERT_TRUE(Open(newer).ok());
  EXPECT_FALSE((*Open(newer))->info().checksums);
  EXPECT_TRUE((*ReadAll(newer))->Equals(**ReadAll(good), true));
}

// More than one segment of block checksums: 64 MiB of data and some. Segments come when they are needed.
TEST(Checksums, SegmentsAreReadWhenNeeded) {
  arrow::Int64Builder ids;
  for (int64_t i = 0; i < 9'000'000; ++i) ARROW_UNUSED(ids.Append(static_cast<int64_t>(i * 0x9E3779B97F4A7C15ull)));
  auto table = arrow::Table::Make(arrow::schema({arrow::field("id", arrow::int64())}), {*ids.Finish()});
  const std::string good = Written(*table, {});
  ASSERT_GT(good.size(), 65u << 20);
  ReadStats stats;
  ReadContext ctx, off;
  ctx.stats = off.stats = &stats;
  off.verify = Verify::kOff;
  auto requests = [&](auto read) {
    const uint64_t before = stats.requests;
    read();
    return stats.requests - before;
  };
  std::shared_ptr<const FileReader> reader, plain;
  EXPECT_EQ(requests([&] { reader = *Open(good, ctx); }), 1u);
  EXPECT_EQ(requests([&] { plain = *Open(good, off); }), 1u);
  auto more_requests = [&](uint64_t row) {  // than without checksums
    auto take = [&](const FileReader& r, const ReadContext& c) {
      auto got = r.Take(std::nullopt, {row}, c);
      EXPECT_TRUE(got.ok()) << got.status().ToString();
    };
    return requests([&] { take(*reader, ctx); }) - requests([&] { take(*plain, off); });
  };
  EXPECT_EQ(more_requests(0), 1u);
  EXPECT_EQ(more_requests(100'000), 0u);
  EXPECT_EQ(more_requests(8'999'999), 0u) << "the last segment came with the tail";
  EXPECT_EQ(more_requests(8'900'000), 0u);
  // A flip in a segment is found by the first read that needs it.
  const ByteRange schema = reader->info().global_buffers[0];
  std::string bad = good;
  bad[schema.offset - 60'000] ^= 1;
  auto damaged = *Open(bad);
  EXPECT_TRUE(damaged->Take(std::nullopt, {8'999'999}, ctx).ok());
  EXPECT_EQ(KindOf(damaged->Take(std::nullopt, {5}, ctx).status()), ErrorKind::kCorrupt);
  EXPECT_EQ(CheckAll(bad).size(), 1u);
}

}  // namespace
}  // namespace pilum
