#include "pilum/query/arithmetic_int64.h"

#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/compute/api.h>

namespace pilum {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
const std::vector<std::optional<int64_t>> kValues = {
    kLeast, kLeast + 1, -4294967296, -128, -7, -1, std::nullopt, 0, 1, 2, 127, 65'536, kMost - 1, kMost};

std::optional<int64_t> Right(char op, __int128 a, __int128 b) {
  if ((op == '/' || op == '%') && b == 0) return std::nullopt;
  const __int128 r = op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : op == '/' ? a / b : a % b;
  return r < kLeast || r > kMost ? std::nullopt : std::optional(static_cast<int64_t>(r));
}

std::shared_ptr<arrow::Array> ArrayOf(const std::vector<std::optional<int64_t>>& values,
                                      const std::shared_ptr<arrow::DataType>& type) {
  arrow::Int64Builder builder;
  for (const auto& v : values) EXPECT_TRUE((v ? builder.Append(*v) : builder.AppendNull()).ok());
  return arrow::compute::Cast(*builder.Finish().ValueOrDie(), type, arrow::compute::CastOptions::Unsafe()).ValueOrDie();
}

TEST(ArithInt64, IsWhatWiderNumbersGive) {
  const auto types = {arrow::int64(),  arrow::int32(),  arrow::int16(), arrow::int8(),
                      arrow::uint32(), arrow::uint16(), arrow::uint8()};
  for (const auto& type : types) {
    ASSERT_TRUE(FitsInt64(*type));
    for (const bool nulls : {true, false}) {
      std::vector<std::optional<int64_t>> left, right;
      for (const auto& a : kValues) {
        for (const auto& b : kValues) {
          if (!nulls && (!a || !b)) continue;
          left.push_back(a);
          right.push_back(b);
        }
      }
      const auto x = ArrayOf(left, arrow::int64())->Slice(1), y = ArrayOf(right, type)->Slice(1);
      const auto wide =
          std::static_pointer_cast<arrow::Int64Array>(arrow::compute::Cast(*y, arrow::int64()).ValueOrDie());
      const auto& a = static_cast<const arrow::Int64Array&>(*x);
      for (const char op : {'+', '-', '*', '/', '%'}) {
        const auto got = ArithInt64(op, {x.get()}, {y.get()}).ValueOrDie();
        ASSERT_TRUE(got->ValidateFull().ok());
        const auto& r = static_cast<const arrow::Int64Array&>(*got);
        for (int64_t i = 0; i < a.length(); ++i) {
          const auto wanted = a.IsNull(i) || wide->IsNull(i) ? std::nullopt : Right(op, a.Value(i), wide->Value(i));
          ASSERT_EQ(r.IsValid(i) ? std::optional(r.Value(i)) : std::nullopt, wanted) << op << " row " << i;
        }
      }
    }
  }
  EXPECT_FALSE(FitsInt64(*arrow::uint64()));
  EXPECT_FALSE(FitsInt64(*arrow::float64()));
}

// A constant on either side gives what as many rows of it give.
TEST(ArithInt64, OneValueForAllRows) {
  for (const auto& same : kValues) {
    if (!same) continue;
    for (const bool nulls : {true, false}) {
      auto values = kValues;
      if (!nulls) std::erase(values, std::nullopt);
      const auto x = ArrayOf(values, arrow::int64())->Slice(1);
      const auto all = arrow::MakeArrayFromScalar(arrow::Int64Scalar(*same), x->length()).ValueOrDie();
      const Int64Side rows{x.get()}, many{all.get()}, one{nullptr, *same};
      for (const char op : {'+', '-', '*', '/', '%'}) {
        const auto left = ArithInt64(op, one, rows).ValueOrDie(), right = ArithInt64(op, rows, one).ValueOrDie();
        EXPECT_TRUE(left->Equals(ArithInt64(op, many, rows).ValueOrDie())) << *same << op;
        EXPECT_TRUE(right->Equals(ArithInt64(op, rows, many).ValueOrDie())) << op << *same;
      }
    }
  }
  EXPECT_EQ(Int64Of(arrow::UInt8Scalar(200)), 200);
  EXPECT_EQ(Int64Of(arrow::UInt64Scalar(1)), std::nullopt);
  EXPECT_EQ(Int64Of(*arrow::MakeNullScalar(arrow::int64())), std::nullopt);
}

// Nothing overflows: no bitmap.
TEST(ArithInt64, NoNullsWhereThereAreNone) {
  const auto x = ArrayOf({1, 2, 3}, arrow::int64());
  EXPECT_EQ(ArithInt64('*', {x.get()}, {x.get()}).ValueOrDie()->null_bitmap(), nullptr);
}

}  // namespace
}  // namespace pilum
