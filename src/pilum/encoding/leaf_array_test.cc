#include "pilum/encoding/leaf_array.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

namespace pilum {
namespace {

// A byte of 200 is a key of 250 items to an unsigned key type and -56 to a signed one.
TEST(LeafArray, KeysPastTheSignAreRefused) {
  arrow::StringBuilder builder;
  for (int i = 0; i < 250; ++i) ASSERT_TRUE(builder.Append(std::to_string(i)).ok());
  const auto items = builder.Finish().ValueOrDie();
  const auto with_key = [&](const std::shared_ptr<arrow::DataType>& key_type, uint8_t key) {
    codec::DataBlock keys;
    keys.count = 1;
    keys.bits = 8;
    auto bytes = codec::Allocate(1, arrow::default_memory_pool()).ValueOrDie();
    bytes->mutable_data()[0] = key;
    keys.data = std::move(bytes);
    Validity all_valid;
    all_valid.count = 1;
    return MakeDictionary(arrow::dictionary(key_type, arrow::utf8()), keys, items, all_valid).status();
  };
  EXPECT_TRUE(with_key(arrow::uint8(), 200).ok());
  EXPECT_TRUE(with_key(arrow::int8(), 127).ok());
  EXPECT_EQ(KindOf(with_key(arrow::int8(), 200)), ErrorKind::kCorrupt);
  EXPECT_EQ(KindOf(with_key(arrow::uint8(), 250)), ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace pilum
