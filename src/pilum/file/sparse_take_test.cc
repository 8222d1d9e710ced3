// The first take of a mapped file reads the leaves that it has few rows of, the next one takes them where they lie: both
// give what was written.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "pilum/file/file_reader.h"
#include "pilum/file/file_writer.h"
#include "pilum/io/object_store.h"

namespace pilum {
namespace {

constexpr int64_t kRows = 200'000;

std::shared_ptr<arrow::RecordBatch> Rows() {
  std::mt19937_64 random(7);
  arrow::Int64Builder large;
  arrow::BooleanBuilder small;
  arrow::StringBuilder text;
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::make_shared<arrow::Int64Builder>());
  auto& items = static_cast<arrow::Int64Builder&>(*lists.value_builder());
  for (int64_t i = 0; i < kRows; ++i) {
    EXPECT_TRUE(large.Append(static_cast<int64_t>(random())).ok());
    EXPECT_TRUE(small.Append(i % 3 == 0).ok());
    EXPECT_TRUE((i % 11 == 0 ? text.AppendNull() : text.Append(std::to_string(random()) + std::to_string(i))).ok());
    EXPECT_TRUE(lists.Append().ok());
    for (int64_t j = 0; j < i % 4; ++j) EXPECT_TRUE(items.Append(static_cast<int64_t>(random())).ok());
  }
  auto a = large.Finish().ValueOrDie(), b = small.Finish().ValueOrDie(), c = text.Finish().ValueOrDie(),
       d = lists.Finish().ValueOrDie();
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("large", a->type()), arrow::field("small", b->type()),
                                                 arrow::field("text", c->type()), arrow::field("lists", d->type())}),
                                  kRows, {a, b, c, d});
}

TEST(SparseTake, ReadAndMappedAlike) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("pilum-sparse-{}.lance", ::getpid());
  const auto rows = Rows();
  for (const FileVersion version : {FileVersion::kV2_1, FileVersion::kV2_2}) {
    WriteOptions options;
    options.version = version;
    auto writer = FileWriter::Make(CreateLocalFile(path.native()).ValueOrDie(), rows->schema(), options).ValueOrDie();
    ASSERT_TRUE(writer->Write(*rows).ok());
    ASSERT_TRUE(writer->Finish().ok());
    std::mt19937_64 random(9);
    for (const size_t count : {20, 63, 64, 100, 700, 1200}) {
      std::vector<uint64_t> wanted;
      for (size_t i = 0; i < count; ++i) wanted.push_back(random() % kRows);
      if (count == 100) std::sort(wanted.begin(), wanted.end());
      wanted.push_back(wanted[3]);
      ReadContext ctx;
      ReadStats stats[3];
      ctx.verify = Verify::kOff;
      ctx.stats = &stats[0];
      const auto file = FileReader::Open(OpenLocalFile(path.native(), ctx).ValueOrDie(), ctx).ValueOrDie();
      std::shared_ptr<arrow::RecordBatch> taken[2];
      for (int turn = 0; turn < 2; ++turn) {
        ctx.stats = &stats[turn + 1];
        taken[turn] = file->TakeBatch(std::nullopt, wanted, ctx).ValueOrDie();
        ASSERT_TRUE(taken[turn]->ValidateFull().ok());
      }
      EXPECT_TRUE(taken[0]->Equals(*taken[1])) << count;
      for (size_t i = 0; i < wanted.size(); ++i) {
        const auto row = rows->Slice(static_cast<int64_t>(wanted[i]), 1);
        ASSERT_TRUE(taken[0]->Slice(static_cast<int64_t>(i), 1)->Equals(*row)) << count << " " << i;
      }
      EXPECT_EQ(stats[1].decoded(), stats[2].decoded());
    }
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace pilum
