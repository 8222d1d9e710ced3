#include "pilum/table/deletions.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>

#include "pilum/base/bytes.h"

namespace pilum {
namespace {

std::shared_ptr<arrow::Array> Rows(const std::vector<uint32_t>& rows) {
  arrow::UInt32Builder builder;
  EXPECT_TRUE(builder.AppendValues(rows).ok());
  return builder.Finish().ValueOrDie();
}

BufferPtr ArrowFile(const std::vector<std::shared_ptr<arrow::Array>>& batches) {
  auto sink = arrow::io::BufferOutputStream::Create().ValueOrDie();
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.codec = arrow::util::Codec::Create(arrow::Compression::ZSTD).ValueOrDie();
  const auto schema = arrow::schema({arrow::field("row_id", batches[0]->type(), false)});
  auto writer = arrow::ipc::MakeFileWriter(sink, schema, options).ValueOrDie();
  for (const auto& b : batches) {
    EXPECT_TRUE(writer->WriteRecordBatch(*arrow::RecordBatch::Make(schema, b->length(), {b})).ok());
  }
  EXPECT_TRUE(writer->Close().ok());
  return sink->Finish().ValueOrDie();
}

DeletionFile File(DeletionFile::Kind kind, uint64_t num_deleted) { return {kind, 1, 2, num_deleted, {}}; }

Result<RowSet> Parse(DeletionFile::Kind kind, uint64_t num_deleted, const BufferPtr& bytes, uint64_t rows) {
  ReadContext ctx;
  return ParseDeletions(File(kind, num_deleted), bytes, rows, ctx);
}

constexpr auto kArrow = DeletionFile::Kind::kArrowArray;
constexpr auto kBitmap = DeletionFile::Kind::kBitmap;

TEST(Deletions, PathsAreMadeOfTheirParts) {
  EXPECT_EQ(File(kArrow, 0).Path(7), "_deletions/7-1-2.arrow");
  EXPECT_EQ(File(kBitmap, 0).Path(7), "_deletions/7-1-2.bin");
}

TEST(Deletions, ArrowArraysInAnyOrder) {
  const BufferPtr bytes = ArrowFile({Rows({9, 2, 3}), Rows({0})});
  EXPECT_EQ(Parse(kArrow, 4, bytes, 10).ValueOrDie(), RowSet::FromSorted({0, 2, 3, 9}));
  EXPECT_EQ(Parse(kArrow, 0, bytes, 10).ValueOrDie().size(), 4u) << "where the manifest does not say how many";
}

TEST(Deletions, Bitmaps) {
  std::string bits;
  for (uint32_t word : {12346u, 1u}) AppendLE(&bits, word);
  for (uint16_t word : {0, 1}) AppendLE(&bits, word);
  AppendLE(&bits, uint32_t{16});
  for (uint16_t word : {4, 8}) AppendLE(&bits, word);
  const BufferPtr bytes = arrow::Buffer::FromString(bits);
  EXPECT_EQ(Parse(kBitmap, 2, bytes, 9).ValueOrDie(), RowSet::FromSorted({4, 8}));
  EXPECT_EQ(KindOf(Parse(kBitmap, 2, bytes, 8).status()), ErrorKind::kCorrupt) << "row 8 of 8";
}

TEST(Deletions, WhatDoesNotFitIsCorrupt) {
  const auto corrupt = [](const Result<RowSet>& r) { return KindOf(r.status()) == ErrorKind::kCorrupt; };
  EXPECT_TRUE(corrupt(Parse(kArrow, 3, ArrowFile({Rows({1, 2})}), 10))) << "another number than the manifest says";
  EXPECT_TRUE(corrupt(Parse(kArrow, 0, ArrowFile({Rows({1, 1})}), 10))) << "twice";
  EXPECT_TRUE(corrupt(Parse(kArrow, 0, ArrowFile({Rows({10})}), 10))) << "beyond the fragment";
  EXPECT_TRUE(corrupt(Parse(kArrow, 0, ArrowFile({arrow::MakeArrayOfNull(arrow::uint32(), 2).ValueOrDie()}), 10)));
  arrow::Int64Builder wide;
  ASSERT_TRUE(wide.Append(1).ok());
  EXPECT_TRUE(corrupt(Parse(kArrow, 0, ArrowFile({wide.Finish().ValueOrDie()}), 10)));
  EXPECT_TRUE(corrupt(Parse(kArrow, 0, arrow::Buffer::FromString("garbage"), 10)));
  EXPECT_TRUE(corrupt(Parse(kArrow, 0, arrow::Buffer::FromString(""), 10)));
}

TEST(Deletions, ChangedBytesNeverCrash) {
  std::vector<uint32_t> many(3000);
  for (uint32_t i = 0; i < many.size(); ++i) many[i] = 2 * i;
  const std::string whole = ArrowFile({Rows(many)})->ToString();
  for (size_t i = 0; i < whole.size(); i += 3) {
    for (int change : {1, 0x80, 0xff}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ change);
      (void)Parse(kArrow, 3000, arrow::Buffer::FromString(changed), 6000).ok();
    }
    (void)Parse(kArrow, 3000, arrow::Buffer::FromString(whole.substr(0, i)), 6000).ok();
  }
}

TEST(Deletions, WritesWhatItReads) {
  ReadContext ctx;
  for (const auto& [rows, kind] :
       {std::pair(RowSet::Range(3, 5002), DeletionFile::Kind::kArrowArray),
        std::pair(RowSet::Range(3, 5003), DeletionFile::Kind::kBitmap),
        std::pair(RowSet::FromRanges({{0, 1}, {9999, 10000}}), DeletionFile::Kind::kArrowArray)}) {
    auto written = SerializeDeletions(rows);
    ASSERT_TRUE(written.ok()) << written.status().ToString();
    EXPECT_EQ(written->kind, kind);
    DeletionFile file;
    file.kind = kind;
    file.num_deleted = rows.size();
    auto back = ParseDeletions(file, arrow::Buffer::FromString(written->bytes), 10000, ctx);
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(*back, rows);
  }
}

}  // namespace
}  // namespace pilum
