#include "pilum/source/field_path.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

namespace pilum {
namespace {

std::shared_ptr<arrow::RecordBatch> Nested() {
  auto inner = arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("y", arrow::utf8(), false)});
  auto type = arrow::struct_({arrow::field("st", inner), arrow::field("l", arrow::list(inner)),
                              arrow::field("fl", arrow::fixed_size_list(inner, 2)),
                              arrow::field("deep", arrow::struct_({arrow::field("in", inner)}), false),
                              arrow::field("n", arrow::int64(), false)});
  auto array = arrow::json::ArrayFromJSONString(type, R"([
    {"st": {"x": 1, "y": "a"}, "l": [{"x": 1, "y": "a"}, null], "fl": [{"x": 1, "y": "p"}, {"x": 2, "y": "q"}], "deep": {"in": null}, "n": 1},
    {"st": null, "l": null, "fl": null, "deep": {"in": {"x": 5, "y": "z"}}, "n": 2},
    {"st": {"x": null, "y": "c"}, "l": [], "fl": [null, {"x": 3, "y": "r"}], "deep": {"in": {"x": null, "y": ""}}, "n": 3},
    {"st": {"x": 4, "y": "d"}, "l": [{"x": 7, "y": "b"}], "fl": [{"x": 4, "y": "s"}, {"x": null, "y": "t"}], "deep": {"in": null}, "n": 4}])")
                   .ValueOrDie();
  return arrow::RecordBatch::FromStructArray(array).ValueOrDie();
}

void ExpectAt(const arrow::RecordBatch& batch, std::vector<std::string> steps,
              const std::shared_ptr<arrow::DataType>& type, const char* json) {
  const FieldPath path{std::move(steps)};
  auto got = ArrayAt(batch, path, arrow::default_memory_pool()).ValueOrDie();
  ASSERT_TRUE(got->ValidateFull().ok());
  EXPECT_TRUE(got->type()->Equals(*type)) << got->type()->ToString();
  EXPECT_TRUE(FieldAt(*batch.schema(), path).ValueOrDie()->type()->Equals(*type)) << path.ToString();
  auto want = arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
  EXPECT_TRUE(got->Equals(*want)) << path.ToString() << ": " << got->ToString();
}

TEST(FieldPath, MinimalAndCovered) {
  const std::vector<FieldPath> paths = {{{"a", "b"}}, {{"c"}}, {{"a", "b", "d"}}, {{"c"}}, {{"a"}}, {{"ab"}}};
  EXPECT_EQ(MinimalPaths(paths), (std::vector<FieldPath>{{{"c"}}, {{"a"}}, {{"ab"}}}));
  EXPECT_TRUE(IsCovered({{"a", "b"}}, {{{"x"}}, {{"a"}}}));
  EXPECT_FALSE(IsCovered({{"a"}}, {{{"a", "b"}}}));
  EXPECT_TRUE(MinimalPaths({}).empty());
}

TEST(FieldPath, StepsThroughStructsAndLists) {
  auto batch = Nested();
  ExpectAt(*batch, {"st", "x"}, arrow::int32(), "[1, null, null, 4]");
  ExpectAt(*batch, {"deep", "in", "y"}, arrow::utf8(), R"([null, "z", "", null])");
  ExpectAt(*batch, {"l", "x"}, arrow::list(arrow::int32()), "[[1, null], null, [], [7]]");
  ExpectAt(*batch, {"fl", "x"}, arrow::fixed_size_list(arrow::int32(), 2), "[[1, 2], null, [null, 3], [4, null]]");
  auto part = batch->Slice(1, 3);
  ExpectAt(*part, {"st", "x"}, arrow::int32(), "[null, null, 4]");
  ExpectAt(*part, {"l", "y"}, arrow::list(arrow::utf8()), R"([null, [], ["b"]])");
  ExpectAt(*part, {"fl", "x"}, arrow::fixed_size_list(arrow::int32(), 2), "[null, [null, 3], [4, null]]");
  EXPECT_TRUE(FieldAt(*batch->schema(), {{"st", "y"}}).ValueOrDie()->nullable())
      << "a null struct makes its field null";
  EXPECT_FALSE(FieldAt(*batch->schema(), {{"n"}}).ValueOrDie()->nullable());
}

TEST(FieldPath, UnknownStepsAreNotFound) {
  auto batch = Nested();
  for (const auto& steps : std::vector<std::vector<std::string>>{{"nope"}, {"st", "nope"}, {"n", "x"}, {"l", "nope"}}) {
    EXPECT_EQ(KindOf(FieldAt(*batch->schema(), {steps}).status()), ErrorKind::kNotFound);
    EXPECT_EQ(KindOf(ArrayAt(*batch, {steps}, arrow::default_memory_pool()).status()), ErrorKind::kNotFound);
    EXPECT_EQ(KindOf(PrunedSchema(*batch->schema(), {{steps}}).status()), ErrorKind::kNotFound);
  }
}

TEST(FieldPath, PruningKeepsTheWantedChildren) {
  auto batch = Nested();
  auto schema = PrunedSchema(*batch->schema(), {{{"l", "y"}}, {{"deep", "in", "x"}}, {{"st"}}}).ValueOrDie();
  ASSERT_EQ(schema->num_fields(), 3);
  EXPECT_EQ(schema->field(0)->type()->ToString(), "list<item: struct<y: string not null>>");
  EXPECT_EQ(schema->field(1)->type()->ToString(), "struct<in: struct<x: int32>>");
  EXPECT_TRUE(schema->field(2)->Equals(*batch->schema()->field(0)));
  for (const auto& field : schema->fields()) {
    auto cut = PrunedArray(batch->GetColumnByName(field->name()), field->type()).ValueOrDie();
    ASSERT_TRUE(cut->ValidateFull().ok());
    EXPECT_TRUE(cut->type()->Equals(*field->type()));
    EXPECT_EQ(cut->null_count(), batch->GetColumnByName(field->name())->null_count());
  }
}

}  // namespace
}  // namespace pilum
