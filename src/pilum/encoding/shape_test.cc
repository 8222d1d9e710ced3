#include "pilum/encoding/shape.h"

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>
#include <gtest/gtest.h>

namespace pilum {
namespace {

std::shared_ptr<arrow::Field> F(const std::string& name, std::shared_ptr<arrow::DataType> type) {
  return arrow::field(name, type);
}

std::vector<std::string> Names(const std::vector<LeafColumn>& columns) {
  std::vector<std::string> out;
  for (const auto& c : columns) out.push_back(c.name);
  return out;
}

TEST(Shape, NumbersLeavesDepthFirst) {
  auto st = arrow::struct_({F("a", arrow::int32()), F("l", arrow::list(F("item", arrow::utf8())))});
  arrow::Schema schema({F("x", arrow::int64()), F("st", st), F("m", arrow::map(arrow::utf8(), arrow::int8())),
                        F("v", arrow::fixed_size_list(arrow::float32(), 4)), F("e", arrow::struct_({})),
                        F("d", arrow::dictionary(arrow::int8(), arrow::utf8()))});
  auto columns = LeafColumnsOf(schema);
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_EQ(Names(*columns),
            (std::vector<std::string>{"x", "st.a", "st.l.item", "m.entries.key", "m.entries.value", "v", "e", "d"}));
  const LeafColumn& item = (*columns)[2];
  ASSERT_EQ(item.layers.size(), 2u);
  EXPECT_EQ(item.layers[0].kind, ShapeLayerKind::kStruct);
  EXPECT_EQ(item.layers[0].child, 1);
  EXPECT_EQ(item.layers[1].kind, ShapeLayerKind::kList);
  EXPECT_EQ(item.num_list_layers(), 1);
  EXPECT_EQ(item.top_level, 1);
  EXPECT_EQ(PathField(item)->type()->ToString(), "struct<l: list<item: string>>");
  const LeafColumn& value = (*columns)[4];
  ASSERT_EQ(value.layers.size(), 2u);
  EXPECT_EQ(value.layers[0].kind, ShapeLayerKind::kMap);
  EXPECT_EQ(value.layers[1].child, 1);
  EXPECT_EQ(PathField(value)->type()->ToString(), "list<entries: struct<value: int8> not null>");
}

TEST(Shape, FixedSizeListOfStructIsALayer) {
  arrow::Schema schema(
      {F("f", arrow::fixed_size_list(F("item", arrow::struct_({F("a", arrow::int32()), F("b", arrow::utf8())})), 3))});
  auto columns = LeafColumnsOf(schema);
  ASSERT_TRUE(columns.ok());
  ASSERT_EQ(columns->size(), 2u);
  EXPECT_EQ((*columns)[1].items_per_row(), 3);
  EXPECT_EQ((*columns)[1].layers[0].kind, ShapeLayerKind::kFixedSizeList);
}

TEST(Shape, PackedAndBlobFieldsAreOneColumn) {
  auto packed = arrow::struct_({F("x", arrow::int32()), F("y", arrow::int16())});
  auto key = [](const std::string& k, const std::string& v) { return arrow::key_value_metadata({k}, {v}); };
  arrow::Schema schema({F("p", packed)->WithMetadata(key("lance-encoding:packed", "true")),
                        F("q", packed)->WithMetadata(key("packed", "true")),
                        F("r", packed)->WithMetadata(key("packed", "false")),
                        F("b", arrow::large_binary())->WithMetadata(key("lance-encoding:blob", "true"))});
  auto columns = LeafColumnsOf(schema);
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_EQ(Names(*columns), (std::vector<std::string>{"p", "q", "r.x", "r.y", "b"}));
  EXPECT_TRUE((*columns)[0].is_packed);
  EXPECT_TRUE((*columns)[4].is_blob);
  arrow::Schema bad({F("b", arrow::binary())->WithMetadata(key("lance-encoding:blob", "true"))});
  EXPECT_EQ(KindOf(LeafColumnsOf(bad).status()), ErrorKind::kUnsupported);
}

TEST(Shape, RefusesTypesByFieldName) {
  for (auto type : std::vector<std::shared_ptr<arrow::DataType>>{
           arrow::month_interval(), arrow::list_view(arrow::int32()), arrow::utf8_view(),
           arrow::run_end_encoded(arrow::int32(), arrow::utf8()), arrow::fixed_size_list(arrow::utf8(), 2),
           arrow::fixed_size_list(arrow::list(arrow::int8()), 2), arrow::decimal32(5, 1),
           arrow::list(arrow::fixed_size_list(arrow::struct_({F("a", arrow::int32())}), 2)),
           arrow::fixed_size_list(arrow::struct_({F("a", arrow::list(arrow::int32()))}), 2)}) {
    Status st = LeafColumnsOf(arrow::Schema({F("odd", arrow::struct_({F("one", type)}))})).status();
    EXPECT_EQ(KindOf(st), ErrorKind::kUnsupported) << type->ToString();
    EXPECT_NE(st.message().find("'odd.one"), std::string::npos) << st.message();
  }
  auto deep = arrow::int32();
  for (int i = 0; i < 200; ++i) deep = arrow::list(deep);
  EXPECT_FALSE(LeafColumnsOf(arrow::Schema({F("d", deep)})).ok());
}

}  // namespace
}  // namespace pilum
