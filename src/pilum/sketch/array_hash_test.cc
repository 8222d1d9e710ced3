#include "pilum/sketch/array_hash.h"

#include "pilum/sketch/hash_kernels.h"
#include "pilum/sketch/probe_array.h"
#include "pilum/sketch/sketch_test_support.h"

namespace pilum {
namespace {

// What VisitHashes must give, a value at a time.
std::vector<uint64_t> OneByOne(const arrow::Array& array, int32_t scale) {
  std::vector<uint64_t> out;
  for (int64_t i = 0; i < array.length(); ++i) {
    const auto value = ValueAt(array, i).ValueOrDie();
    if (value) out.push_back(HashValue(*value, scale));
  }
  return out;
}

std::vector<uint64_t> Visited(const arrow::Array& array, std::vector<int64_t>* rows = nullptr) {
  std::vector<uint64_t> out;
  EXPECT_TRUE(VisitHashes(array, 0, [&](const HashBlock& block) {
                for (size_t i = 0; i < block.hashes.size(); ++i) {
                  out.push_back(block.hashes[i]);
                  if (rows != nullptr) rows->push_back(block.row(i));
                }
              }).ok());
  return out;
}

TEST(HashKernels, AgreeWithTheScalarOnes) {
  std::mt19937_64 rng(1);
  for (size_t n : {0, 1, 7, 8, 9, 64, 1000}) {
    std::vector<int64_t> ints(n);
    std::vector<double> floats(n);
    for (size_t i = 0; i < n; ++i) {
      ints[i] = static_cast<int64_t>(rng()) >> (rng() % 64);
      const uint64_t bits = rng();
      std::memcpy(&floats[i], &bits, 8);
      if (rng() % 4 == 0) floats[i] = std::vector<double>{0.0, -0.0, NAN, -NAN, INFINITY, -INFINITY}[rng() % 6];
    }
    std::vector<uint64_t> a(n + 1, 7), b(n + 1, 7);
    for (bool is_unsigned : {false, true}) {
      HashInts(ints.data(), n, is_unsigned, a.data());
      HashIntsScalar(ints.data(), n, is_unsigned, b.data());
      EXPECT_EQ(a, b) << n << is_unsigned;
    }
    HashFloats(floats.data(), n, a.data());
    HashFloatsScalar(floats.data(), n, b.data());
    EXPECT_EQ(a, b) << n;
    EXPECT_EQ(a[n], 7u) << "wrote past the end";
  }
}

TEST(ArrayHash, EveryTypeAsItsValues) {
  std::mt19937_64 rng(2);
  const auto check = [&](const std::shared_ptr<arrow::Array>& array, int32_t scale = 0) {
    EXPECT_EQ(Visited(*array), OneByOne(*array, scale)) << array->type()->ToString();
    const auto cut = array->Slice(3, array->length() - 5);
    EXPECT_EQ(Visited(*cut), OneByOne(*cut, scale)) << array->type()->ToString() << " from row 3";
  };
  const auto with_nulls = [&](auto builder, auto value) {
    for (int i = 0; i < 3000; ++i) {
      EXPECT_TRUE((rng() % 5 == 0 ? builder.AppendNull() : builder.Append(value(static_cast<int64_t>(rng())))).ok());
    }
    check(builder.Finish().ValueOrDie());
  };
  with_nulls(arrow::Int64Builder(), [](int64_t v) { return v; });
  with_nulls(arrow::UInt64Builder(), [](int64_t v) { return static_cast<uint64_t>(v); });
  with_nulls(arrow::Int8Builder(), [](int64_t v) { return static_cast<int8_t>(v); });
  with_nulls(arrow::UInt16Builder(), [](int64_t v) { return static_cast<uint16_t>(v); });
  with_nulls(arrow::BooleanBuilder(), [](int64_t v) { return v < 0; });
  with_nulls(arrow::DoubleBuilder(), [](int64_t v) { return static_cast<double>(v) / 3; });
  with_nulls(arrow::FloatBuilder(), [](int64_t v) { return static_cast<float>(v); });
  with_nulls(arrow::HalfFloatBuilder(), [](int64_t v) { return static_cast<uint16_t>(v); });
  with_nulls(arrow::StringBuilder(), [](int64_t v) { return std::string(static_cast<size_t>(v & 127), 'x'); });
  with_nulls(arrow::LargeBinaryBuilder(), [](int64_t v) { return std::to_string(v); });
  with_nulls(arrow::StringViewBuilder(), [](int64_t v) { return std::to_string(v); });
  with_nulls(arrow::TimestampBuilder(arrow::timestamp(arrow::TimeUnit::NANO), arrow::default_memory_pool()),
             [](int64_t v) { return v; });
  arrow::Decimal128Builder decimals(arrow::decimal128(30, 4));
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE((i % 7 == 0 ? decimals.AppendNull() : decimals.Append(arrow::Decimal128(i * 100))).ok());
  }
  check(decimals.Finish().ValueOrDie(), 4);
  check(Dictionary(RandomRows(rng, 2000), true));
}

TEST(ArrayHash, NullsInTheDictionaryAreNoValues) {
  arrow::Int64Builder values;
  ASSERT_TRUE(values.Append(5).ok() && values.AppendNull().ok() && values.Append(6).ok());
  const auto indices = BuildArray<arrow::Int8Builder>(std::vector<int>{1, 0, 2, 1}, [](int v) { return int8_t(v); });
  const arrow::DictionaryArray array(arrow::dictionary(arrow::int8(), arrow::int64()), indices,
                                     values.Finish().ValueOrDie());
  std::vector<int64_t> rows;
  EXPECT_EQ(Visited(array, &rows), (std::vector<uint64_t>{HashInt(5), HashInt(6)}));
  EXPECT_EQ(rows, (std::vector<int64_t>{1, 2}));
}

TEST(ArrayHash, ASeedChangesEveryHashAndZeroNone) {
  EXPECT_EQ(WithSeed(123, 0), 123u);
  EXPECT_NE(WithSeed(123, 1), 123u);
  EXPECT_NE(WithSeed(123, 1), WithSeed(123, 2));
}

TEST(ProbeArray, NullForNullAndNoWrongNo) {
  std::mt19937_64 rng(3);
  const Rows rows = RandomRows(rng, 3000);
  const BloomFilter bloom = SketchOf<BloomFilter>(Int64s(rows));
  const CuckooFilter cuckoo = SketchOf<CuckooFilter>(Int64s(rows));
  FuseFilter fuse = SketchOf<FuseFilter>(Int64s(rows));
  ASSERT_TRUE(fuse.Seal().ok());
  const auto asked = Dictionary(rows, true);
  for (const auto& answer :
       {MayContainEach(bloom, *asked), MayContainEach(cuckoo, *asked), MayContainEach(fuse, *asked)}) {
    const auto& a = **answer;
    ASSERT_EQ(a.length(), asked->length());
    for (int64_t i = 0; i < a.length(); ++i) {
      ASSERT_EQ(a.IsNull(i), asked->IsNull(i)) << i;
      ASSERT_TRUE(a.IsNull(i) || a.Value(i)) << i;
    }
  }
}

}  // namespace
}  // namespace pilum
