#include "pilum/table/assemble.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

namespace pilum {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

ArrayPtr Json(const std::shared_ptr<arrow::DataType>& type, const std::string& text) {
  return arrow::json::ArrayFromJSONString(type, text).ValueOrDie();
}

void Expect(const std::shared_ptr<arrow::DataType>& type, const std::vector<ArrayPtr>& parts, const std::string& text) {
  const ArrayPtr wanted = Json(type, text);
  auto got = AssembleColumn(type, parts, wanted->length(), arrow::default_memory_pool());
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  ASSERT_TRUE((*got)->ValidateFull().ok());
  EXPECT_TRUE((*got)->Equals(wanted)) << (*got)->ToString() << " != " << wanted->ToString();
}

const auto kA = arrow::field("a", arrow::int32()), kB = arrow::field("b", arrow::utf8());

TEST(Assemble, StructsOfSeveralFiles) {
  const auto whole = arrow::struct_({kA, kB});
  const ArrayPtr a = Json(arrow::struct_({kA}), R"([{"a": 1}, null, {"a": 3}])");
  const ArrayPtr b = Json(arrow::struct_({kB}), R"([{"b": "x"}, null, {"b": null}])");
  Expect(whole, {a, b}, R"([{"a": 1, "b": "x"}, null, {"a": 3, "b": null}])");
  Expect(whole, {b, a}, R"([{"a": 1, "b": "x"}, null, {"a": 3, "b": null}])");
  Expect(whole, {a}, R"([{"a": 1, "b": null}, null, {"a": 3, "b": null}])");
  Expect(whole, {a->Slice(1), b->Slice(1)}, R"([null, {"a": 3, "b": null}])");
  Expect(whole, {}, "[null, null]");
  // NULL is where all say so; one whose struct is NULL has no values there, whatever lies below.
  const ArrayPtr more = Json(arrow::struct_({kB}), R"([{"b": "x"}, {"b": "y"}, {"b": "z"}])");
  Expect(whole, {a, more}, R"([{"a": 1, "b": "x"}, {"a": null, "b": "y"}, {"a": 3, "b": "z"}])");
  Expect(whole, {more, a}, R"([{"a": 1, "b": "x"}, {"a": null, "b": "y"}, {"a": 3, "b": "z"}])");
  const ArrayPtr under = std::make_shared<arrow::StructArray>(
      arrow::struct_({kB}), 3, arrow::ArrayVector{Json(arrow::utf8(), R"(["x", "y", "z"])")},
      Json(arrow::struct_({kB}), R"([{"b": ""}, null, null])")->null_bitmap());
  Expect(whole, {a, under}, R"([{"a": 1, "b": "x"}, null, {"a": 3, "b": null}])");
}

TEST(Assemble, ListsOfStructs) {
  const ArrayPtr a = Json(arrow::list(arrow::struct_({kA})), R"([[{"a": 9}], [{"a": 1}, {"a": 2}], null, []])");
  const ArrayPtr b = Json(arrow::list(arrow::struct_({kB})), R"([[{"b": "x"}, {"b": "y"}], null, []])");
  const auto whole = arrow::list(arrow::struct_({kA, kB}));
  Expect(whole, {a->Slice(1), b}, R"([[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], null, []])");
  Expect(whole, {a->Slice(1, 2)}, R"([[{"a": 1, "b": null}, {"a": 2, "b": null}], null])");
  const auto fixed = [](const auto& f) { return arrow::fixed_size_list(arrow::struct_({f}), 2); };
  Expect(arrow::fixed_size_list(arrow::struct_({kA, kB}), 2),
         {Json(fixed(kA), R"([[{"a": 0}, {"a": 0}], [{"a": 1}, {"a": 2}]])")->Slice(1),
          Json(fixed(kB), R"([[{"b": "x"}, {"b": "y"}]])")},
         R"([[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]])");
}

TEST(Assemble, DisagreementIsCorrupt) {
  const auto pool = arrow::default_memory_pool();
  const ArrayPtr a = Json(arrow::list(arrow::struct_({kA})), R"([[{"a": 1}]])");
  const ArrayPtr b = Json(arrow::list(arrow::struct_({kB})), R"([[]])");
  const auto whole = arrow::list(arrow::struct_({kA, kB}));
  EXPECT_EQ(KindOf(AssembleColumn(whole, {a, b}, 1, pool).status()), ErrorKind::kCorrupt);
  EXPECT_EQ(KindOf(AssembleColumn(whole, {a}, 2, pool).status()), ErrorKind::kCorrupt);
  const ArrayPtr i = Json(arrow::int32(), "[1]");
  EXPECT_EQ(KindOf(AssembleColumn(arrow::int32(), {i, i}, 1, pool).status()), ErrorKind::kCorrupt);
  EXPECT_EQ(KindOf(AssembleColumn(arrow::int64(), {i}, 1, pool).status()), ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace pilum
