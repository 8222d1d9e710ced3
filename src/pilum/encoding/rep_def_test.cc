// Unravelling on the worked examples of docs/formats/lance_file.md.
#include "pilum/encoding/rep_def.h"

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>

namespace pilum {
namespace {

using L = RepDefLayer;

LeafColumn ColumnOf(const std::shared_ptr<arrow::DataType>& type) {
  return LeafColumnsOf(arrow::Schema({arrow::field("c", type)})).ValueOrDie()[0];
}

Levels MakeLevels(const std::vector<uint16_t>& rep, const std::vector<uint16_t>& def) {
  Levels l;
  l.count = std::max(rep.size(), def.size());
  if (!rep.empty()) {
    EXPECT_TRUE(l.rep.Reserve(rep.size(), arrow::default_memory_pool()).ok());
    std::copy(rep.begin(), rep.end(), l.rep.data());
  }
  if (!def.empty()) {
    EXPECT_TRUE(l.def.Reserve(def.size(), arrow::default_memory_pool()).ok());
    std::copy(def.begin(), def.end(), l.def.data());
  }
  return l;
}

// Values 1, 2, 3, .. for the visible slots, nulls by the levels, unravelled.
Result<std::shared_ptr<arrow::Array>> Build(const std::shared_ptr<arrow::DataType>& type,
                                            std::vector<RepDefLayer> layers, std::vector<uint16_t> rep,
                                            std::vector<uint16_t> def, uint64_t rows) {
  auto column = ColumnOf(type);
  auto* pool = arrow::default_memory_pool();
  PILUM_ASSIGN_OR_RETURN(LevelPlan plan, MakeLevelPlan(column, layers));
  Levels levels = MakeLevels(rep, def);
  PILUM_RETURN_NOT_OK(CheckLevels(plan, levels));
  PILUM_ASSIGN_OR_RETURN(Validity v, LeafValidity(plan, levels, pool));
  arrow::Int32Builder b;
  for (uint64_t i = 0; i < v.count; ++i) PILUM_RETURN_NOT_OK(b.Append(static_cast<int32_t>(i + 1)));
  PILUM_ASSIGN_OR_RETURN(auto values, b.Finish());
  auto leaf = arrow::ArrayData::Make(arrow::int32(), static_cast<int64_t>(v.count),
                                     {v.bitmap, values->data()->buffers[1]}, v.null_count);
  PILUM_ASSIGN_OR_RETURN(auto data, Unravel(plan, std::move(levels), rows, leaf, pool));
  auto array = arrow::MakeArray(data);
  PILUM_RETURN_NOT_OK(array->ValidateFull());
  return array;
}

void ExpectJson(const Result<std::shared_ptr<arrow::Array>>& got, const std::string& json) {
  ASSERT_TRUE(got.ok()) << got.status();
  auto want = arrow::json::ArrayFromJSONString((*got)->type(), json);
  ASSERT_TRUE(want.ok()) << want.status();
  EXPECT_TRUE((*got)->Equals(**want)) << (*got)->ToString();
}

TEST(RepDef, ListOfNullableItems) {
  ExpectJson(Build(arrow::list(arrow::int32()), {L::kNullableItem, L::kNullAndEmptyList}, {1, 0, 1, 1, 1, 0},
                   {0, 0, 2, 3, 1, 0}, 4),
             "[[1, 2], null, [], [null, 4]]");
  ExpectJson(Build(arrow::large_list(arrow::int32()), {L::kAllValidItem, L::kEmptyableList}, {1, 1, 0}, {1, 0, 0}, 2),
             "[[], [1, 2]]");
  ExpectJson(Build(arrow::list(arrow::int32()), {L::kAllValidItem, L::kAllValidList}, {1, 0, 1}, {}, 2),
             "[[1, 2], [3]]");
}

TEST(RepDef, NestedListsOfTheFormatPage) {
  ExpectJson(
      Build(arrow::list(arrow::list(arrow::int32())), {L::kNullableItem, L::kNullAndEmptyList, L::kNullAndEmptyList},
            {2, 0, 1, 1, 2, 2, 2, 1, 2}, {0, 0, 3, 0, 4, 5, 2, 0, 1}, 5),
      "[[[1, 2], [], [3]], null, [], [null, [4]], [[null]]]");
}

TEST(RepDef, StructsBetweenListsMaskThem) {
  // list<struct<l: list<int32>>>: levels 1 item, 2 inner null, 3 inner empty, 4 struct null, 5 outer null, 6 outer
  // empty
  auto type = arrow::list(arrow::struct_({arrow::field("l", arrow::list(arrow::int32()))}));
  ExpectJson(Build(type, {L::kNullableItem, L::kNullAndEmptyList, L::kNullableItem, L::kNullAndEmptyList},
                   {2, 0, 1, 1, 2, 2, 2}, {0, 1, 4, 3, 5, 6, 2}, 4),
             R"([[{"l": [1, null]}, null, {"l": []}], null, [], [{"l": null}]])");
}

TEST(RepDef, StructsOverALeaf) {
  auto type = arrow::struct_({arrow::field("s", arrow::struct_({arrow::field("x", arrow::int32())}))});
  ExpectJson(Build(type, {L::kNullableItem, L::kNullableItem, L::kNullableItem}, {}, {0, 1, 2, 3, 0}, 5),
             R"([{"s": {"x": 1}}, {"s": {"x": null}}, {"s": null}, null, {"s": {"x": 5}}])");
}

TEST(RepDef, FixedSizeListOfStructRepeatsItsLevel) {
  auto type = arrow::fixed_size_list(arrow::struct_({arrow::field("x", arrow::int32())}), 2);
  ExpectJson(Build(type, {L::kNullableItem, L::kNullableItem, L::kNullableItem}, {}, {0, 1, 3, 3, 2, 0}, 3),
             R"([[{"x": 1}, {"x": null}], null, [null, {"x": 6}]])");
}

TEST(RepDef, RefusesLevelsThatDoNotFit) {
  auto list = arrow::list(arrow::int32());
  std::vector<RepDefLayer> layers = {L::kNullableItem, L::kNullAndEmptyList};
  EXPECT_FALSE(Build(list, {L::kNullableItem}, {1}, {0}, 1).ok());                    // a layer is missing
  EXPECT_FALSE(Build(list, {L::kNullableItem, L::kNullableItem}, {1}, {0}, 1).ok());  // of the wrong kind
  EXPECT_FALSE(Build(list, layers, {1}, {4}, 1).ok());                                // a level too high
  EXPECT_FALSE(Build(list, layers, {2}, {0}, 1).ok());
  EXPECT_FALSE(Build(list, layers, {0, 1}, {0, 0}, 1).ok());  // an item before the first list
  EXPECT_FALSE(Build(list, layers, {1, 0}, {0, 2}, 1).ok());  // a null list that continues one
  EXPECT_FALSE(Build(list, layers, {1, 1}, {0, 0}, 3).ok());  // fewer rows than asked for
}

TEST(RepDef, BitsAndCounts) {
  std::vector<uint16_t> levels;
  for (int i = 0; i < 300; ++i) levels.push_back(static_cast<uint16_t>(i % 5));
  std::vector<uint8_t> bits(40);
  EXPECT_EQ(BelowToBits(levels.data(), 300, 3, bits.data()), 120);
  for (int i = 0; i < 300; ++i) EXPECT_EQ(bits[i / 8] >> (i % 8) & 1, i % 5 < 3) << i;
  std::vector<uint16_t> extreme = {0, 1, 65535, 32768, 32767};
  EXPECT_EQ(BelowToBits(extreme.data(), 5, 32768, bits.data()), 2);
  EXPECT_EQ(CountEqual(levels.data(), 300, 4), 60u);
  EXPECT_EQ(CountAtMost(levels.data(), 300, 1), 120u);
  EXPECT_EQ(MaxLevel(levels.data(), 300), 4);
}

TEST(RepDef, SelectEventsOfRows) {
  // rows start at 0, 2, 3; the run begins inside row 9
  std::vector<uint16_t> rep = {0, 1, 0, 1, 1, 0};
  uint64_t row = 10;
  auto pick = [&](std::vector<RowRange> rows) {
    row = 10;
    return SelectEvents(rep.data(), rep.size(), 1, rows, &row);
  };
  EXPECT_EQ(pick({{0, 100}}), (std::vector<RowRange>{{0, 6}}));
  EXPECT_EQ(row, 13u);
  EXPECT_EQ(pick({{9, 10}}), (std::vector<RowRange>{{0, 1}}));
  EXPECT_EQ(pick({{10, 11}, {12, 13}}), (std::vector<RowRange>{{1, 3}, {4, 6}}));
  EXPECT_EQ(pick({{0, 9}, {13, 20}}), std::vector<RowRange>{});
  EXPECT_EQ(pick({{8, 11}}), (std::vector<RowRange>{{0, 3}}));
}

}  // namespace
}  // namespace pilum
