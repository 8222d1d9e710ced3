#include "pilum/file/utf8.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

namespace pilum {
namespace {

// Strings of exactly these bytes.
std::shared_ptr<arrow::Array> Strings(const std::vector<std::string>& values) {
  arrow::StringBuilder builder;
  for (const auto& v : values) EXPECT_TRUE(builder.Append(v).ok());
  return *builder.Finish();
}

TEST(Utf8, Values) {
  const std::string umlaut = "\xc3\xa4", emoji = "\xf0\x9f\x98\x80";
  auto ok = [](const std::vector<std::string>& v) { return CheckUtf8(*Strings(v)->data()).ok(); };
  EXPECT_TRUE(ok({}));
  EXPECT_TRUE(ok({"", ""}));
  EXPECT_TRUE(ok({std::string(100, 'a'), "b"}));
  EXPECT_TRUE(ok({umlaut, emoji, "x" + emoji + "y", ""}));
  EXPECT_FALSE(ok({"\xff"}));
  EXPECT_FALSE(ok({std::string(64, 'a') + "\x80"}));
  EXPECT_FALSE(ok({"\xc3", "\xa4"}));  // a character cut in two
  EXPECT_EQ(CheckUtf8(*Strings({"a", "\xc3", "\xa4"})->data()).message(), "string 1 is not valid UTF-8");
  auto sliced = Strings({"\xff", umlaut, "a"})->Slice(1);
  EXPECT_TRUE(CheckUtf8(*sliced->data()).ok());
}

TEST(Utf8, InsideNestedTypes) {
  auto bad = Strings({"a", "\xff"});
  auto field = arrow::field("s", arrow::utf8());
  EXPECT_FALSE(CheckUtf8(*(*arrow::StructArray::Make({bad}, arrow::FieldVector{field}))->data()).ok());
  arrow::Int8Builder keys;
  EXPECT_TRUE(keys.AppendValues({0, 0}).ok());
  auto dictionary = *arrow::DictionaryArray::FromArrays(*keys.Finish(), bad);
  EXPECT_FALSE(CheckUtf8(*dictionary->data()).ok());
}

}  // namespace
}  // namespace pilum
