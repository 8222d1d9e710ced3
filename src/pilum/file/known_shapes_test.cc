#include "pilum/file/known_shapes.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "pilum/file/file_reader.h"
#include "pilum/file/file_writer.h"

namespace pilum {
namespace {

std::shared_ptr<const FileShape> Shape(const std::string& name) {
  return FileShape::Make(arrow::schema({arrow::field(name, arrow::int64())})).ValueOrDie();
}

TEST(KnownShapes, AreKnownToTheByteAndTheOldestGoes) {
  KnownShapes known;
  const auto first = Shape("a");
  known.Keep("0", first);
  known.Keep("0", Shape("b"));
  EXPECT_EQ(known.Find("0"), first);
  EXPECT_EQ(known.Find(""), nullptr);
  EXPECT_EQ(known.Find(std::string_view("0\0", 2)), nullptr);
  known.Keep(std::string(KnownShapes::kMostBytes + 1, 'x'), first);
  EXPECT_EQ(known.Find(std::string(KnownShapes::kMostBytes + 1, 'x')), nullptr);
  for (size_t i = 1; i <= KnownShapes::kMost; ++i) known.Keep(std::to_string(i), first);
  EXPECT_EQ(known.Find("0"), nullptr);
  for (size_t i = 1; i <= KnownShapes::kMost; ++i) EXPECT_EQ(known.Find(std::to_string(i)), first) << i;
}

BufferPtr Written(const std::shared_ptr<arrow::Schema>& schema, std::vector<int64_t> values) {
  arrow::Int64Builder builder;
  EXPECT_TRUE(builder.AppendValues(values).ok());
  BufferPtr bytes;
  auto writer = FileWriter::Make(MakeMemorySink("t.lance", &bytes), schema, {}).ValueOrDie();
  const auto rows = static_cast<int64_t>(values.size());
  EXPECT_TRUE(writer->Write(*arrow::RecordBatch::Make(schema, rows, {builder.Finish().ValueOrDie()})).ok());
  EXPECT_TRUE(writer->Finish().ok());
  return bytes;
}

std::shared_ptr<const FileReader> Opened(const BufferPtr& bytes) {
  ReadContext ctx;
  return FileReader::Open(MakeMemorySource("t.lance", bytes), ctx).ValueOrDie();
}

TEST(KnownShapes, FilesOfOneSchemaShareItAndNothingElse) {
  const auto schema = arrow::schema({arrow::field("known_shapes_test", arrow::int64())});
  const auto with = [&](const char* value) { return schema->WithMetadata(arrow::key_value_metadata({"k"}, {value})); };
  const auto long_one = Opened(Written(with("a"), {1, 2, 3})), short_one = Opened(Written(with("a"), {4})),
             other = Opened(Written(with("b"), {5, 6})), null = Opened(Written(schema, {}));
  EXPECT_EQ(long_one->schema(), short_one->schema());  // the same object
  EXPECT_TRUE(long_one->schema()->Equals(*with("a"), true));
  EXPECT_TRUE(other->schema()->Equals(*with("b"), true));
  EXPECT_TRUE(null->schema()->Equals(*schema, true));
  EXPECT_EQ(long_one->num_rows(), 3u);
  EXPECT_EQ(short_one->num_rows(), 1u);
  EXPECT_EQ(other->num_rows(), 2u);
  EXPECT_EQ(null->num_rows(), 0u);
  ReadContext ctx;
  const auto taken = short_one->Take(std::nullopt, {0}, ctx).ValueOrDie();
  EXPECT_EQ(static_cast<const arrow::Int64Array&>(*taken->column(0)->chunk(0)).Value(0), 4);
}

TEST(KnownShapes, WithoutColumnsTheFileSaysItsRows) {
  for (int turn = 0; turn < 2; ++turn) {
    for (const int64_t rows : {7, 9}) {
      BufferPtr bytes;
      const auto schema = arrow::schema(arrow::FieldVector(), arrow::key_value_metadata({"none"}, {"columns"}));
      auto writer = FileWriter::Make(MakeMemorySink("t.lance", &bytes), schema, {}).ValueOrDie();
      ASSERT_TRUE(writer->Write(*arrow::RecordBatch::Make(schema, rows, arrow::ArrayVector())).ok());
      ASSERT_TRUE(writer->Finish().ok());
      EXPECT_EQ(Opened(bytes)->num_rows(), static_cast<uint64_t>(rows));
    }
  }
}

}  // namespace
}  // namespace pilum
