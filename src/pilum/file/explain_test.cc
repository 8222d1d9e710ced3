#include "pilum/file/explain.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "pilum/file/file_writer.h"

namespace pilum {
namespace {

std::shared_ptr<arrow::RecordBatch> Rows() {
  arrow::Int32Builder days;
  arrow::StringBuilder words;
  for (int i = 0; i < 30000; ++i) {
    EXPECT_TRUE(days.Append(i / 700).ok());
    EXPECT_TRUE((i % 50 == 3 ? words.AppendNull() : words.Append("some words, number " + std::to_string(i))).ok());
  }
  auto inner = words.Finish().ValueOrDie();
  auto st = arrow::StructArray::Make({inner}, {arrow::field("w", arrow::utf8())}).ValueOrDie();
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("day", arrow::int32()), arrow::field("s", st->type())}),
                                  30000, {days.Finish().ValueOrDie(), st});
}

std::shared_ptr<const FileReader> Written(const WriteOptions& options) {
  BufferPtr bytes;
  auto batch = Rows();
  auto writer = FileWriter::Make(MakeMemorySink("t.lance", &bytes), batch->schema(), options).ValueOrDie();
  EXPECT_TRUE(writer->Write(*batch).ok());
  EXPECT_TRUE(writer->Finish().ok());
  ReadContext ctx;
  return FileReader::Open(MakeMemorySource("t.lance", bytes), ctx).ValueOrDie();
}

TEST(Explain, PlansWhatTheWriterWrote) {
  for (FileVersion version : {FileVersion::kV2_1, FileVersion::kV2_2}) {
    for (WriteProfile profile : {WriteProfile::kFast, WriteProfile::kBalanced, WriteProfile::kSmall}) {
      WriteOptions options;
      options.version = version;
      options.profile = profile;
      auto file = Written(options);
      ReadContext ctx;
      const auto planned = PlanColumns(*file, profile, ctx).ValueOrDie();
      const auto stored = file->Columns();
      ASSERT_EQ(planned.size(), stored.size());
      for (size_t i = 0; i < planned.size(); ++i) {
        EXPECT_EQ(planned[i].name, stored[i].name);
        EXPECT_EQ(planned[i].bytes, stored[i].bytes) << planned[i].name;
        ASSERT_EQ(planned[i].pages, stored[i].pages.size());
        EXPECT_EQ(planned[i].layouts[0], stored[i].pages[0].layout);
        EXPECT_FALSE(planned[i].reasons[0].empty());
        EXPECT_GE(planned[i].alternatives.size(), 1u);
      }
      EXPECT_EQ(planned[0].alternatives[0].name, "flat");
      EXPECT_EQ(planned[0].alternatives[0].bytes, 120000u);
    }
  }
}

}  // namespace
}  // namespace pilum
