// One test for all sketches: what each says of itself (kLaws) is held on random rows in overlapping parts.
#include <chrono>
#include <cstdlib>

#include "pilum/sketch/sketch_test_support.h"

namespace pilum {
namespace {

template <typename... S>
constexpr bool AllAreSketches(testing::Types<S...>) {
  return (Sketch<S> && ...);
}
static_assert(AllAreSketches(AllSketches{}));

template <typename S>
class SketchLaws : public testing::Test {
 protected:
  // Same in every byte, or both true of the rows.
  static void ExpectSame(Same how, const S& a, const S& b, const Rows& rows, const char* law) {
    SCOPED_TRACE(std::string(S::kName) + ": " + law);
    if (how == Same::kBytes || rows.size() <= S::kLaws.exact_until) {
      EXPECT_EQ(a.ToBytes(), b.ToBytes());
    } else {
      Expect<S>::Says(a, rows);
      Expect<S>::Says(b, rows);
    }
  }
  static std::shared_ptr<arrow::Array> ArrayOf(const Rows& rows, uint64_t kind) {
    return kind % 3 == 0 ? Int64s(rows) : Dictionary(rows, kind % 3 == 1);
  }
  static void Hold(std::mt19937_64& rng, size_t rows_a_part);
};
TYPED_TEST_SUITE(SketchLaws, AllSketches);

template <typename S>
S InRandomGroups(std::vector<S> parts, std::mt19937_64& rng) {
  while (parts.size() > 1) {
    const size_t a = rng() % parts.size();
    S taken = std::move(parts[a]);
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(a));
    const size_t b = rng() % parts.size();
    parts[b] = rng() % 2 == 0 ? Sum(parts[b], taken) : Sum(taken, parts[b]);
  }
  return parts[0];
}

template <typename S>
void SketchLaws<S>::Hold(std::mt19937_64& rng, size_t rows_a_part) {
  std::vector<Rows> parts;
  std::vector<S> sketches;
  for (size_t i = 0; i < 2 + rng() % 5; ++i) {
    parts.push_back(RandomRows(rng, rng() % (rows_a_part + 1)));
    if (i > 0 && rng() % 2 == 0) parts[i].insert(parts[i].end(), parts[i - 1].begin(), parts[i - 1].end());
    sketches.push_back(SketchOf<S>(Int64s(parts[i])));
    Expect<S>::Says(sketches[i], parts[i]);
  }
  Rows all = Joined(parts);
  const S& a = sketches[0];
  const S& b = sketches[1];
  const S empty = EmptySketch<S>();
  EXPECT_EQ(Sum(a, empty).ToBytes(), a.ToBytes()) << S::kName;
  EXPECT_EQ(Sum(empty, a).ToBytes(), a.ToBytes()) << S::kName;
  const std::string before = b.ToBytes();
  EXPECT_EQ(Sum(a, b).ToBytes(), Sum(b, a).ToBytes()) << S::kName;
  EXPECT_EQ(b.ToBytes(), before) << S::kName << ": merging changed the source";
  if (S::kLaws.idempotent) {
    EXPECT_EQ(Sum(a, a).ToBytes(), a.ToBytes()) << S::kName;
    EXPECT_EQ(Sum(Sum(a, b), b).ToBytes(), Sum(a, b).ToBytes()) << S::kName;
  } else if (!parts[0].empty()) {
    EXPECT_NE(Sum(a, a).ToBytes(), a.ToBytes()) << S::kName;
  }
  const S grouped = InRandomGroups(sketches, rng), again = InRandomGroups(sketches, rng);
  ExpectSame(S::kLaws.groupings, grouped, again, all, "groupings");
  const S whole = SketchOf<S>(Int64s(all));
  ExpectSame(S::kLaws.parts, grouped, whole, all, "parts");
  Expect<S>::Says(whole, all);
  // How rows are cut into arrays, and of which type, never matters.
  S cut = EmptySketch<S>();
  const auto array = Int64s(all);
  for (int64_t at = 0; at < array->length();) {
    const int64_t n = 1 + static_cast<int64_t>(rng() % 700);
    ASSERT_TRUE(cut.Update(*array->Slice(at, n)).ok());
    at += n;
  }
  EXPECT_EQ(cut.ToBytes(), whole.ToBytes()) << S::kName;
  if constexpr (!std::is_same_v<S, Moments>) {  // which counts nulls
    EXPECT_EQ(SketchOf<S>(ArrayOf(all, rng())).ToBytes(), whole.ToBytes()) << S::kName;
  }
  std::shuffle(all.begin(), all.end(), rng);
  ExpectSame(S::kLaws.orders, SketchOf<S>(Int64s(all)), whole, all, "orders");
}

// PILUM_SKETCH_SEED and PILUM_SKETCH_SECONDS (of each sketch) try other rows, for longer.
TYPED_TEST(SketchLaws, Hold) {
  const char* seed = std::getenv("PILUM_SKETCH_SEED");
  const char* seconds = std::getenv("PILUM_SKETCH_SECONDS");
  std::mt19937_64 rng(seed == nullptr ? 20 : std::strtoull(seed, nullptr, 10));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds == nullptr ? 0 : std::atoi(seconds));
  do {
    for (size_t rows : {0, 1, 5, 40, 300, 3000}) {
      for (int round = 0; round < (rows == 3000 ? 4 : 8); ++round) this->Hold(rng, rows);
    }
  } while (std::chrono::steady_clock::now() < end && !this->HasFailure());
}

TYPED_TEST(SketchLaws, DecodedIsLikeFresh) {
  using S = TypeParam;
  std::mt19937_64 rng(21);
  for (size_t n : {0, 1, 100, 5000}) {
    const Rows rows = RandomRows(rng, n), more = RandomRows(rng, 500);
    S fresh = SketchOf<S>(Int64s(rows));
    const std::string bytes = fresh.ToBytes();
    S decoded = S::FromBytes(bytes, "x").ValueOrDie();
    EXPECT_EQ(decoded.params(), fresh.params());
    EXPECT_EQ(decoded.ToBytes(), bytes);
    EXPECT_EQ(Sum(decoded, fresh).ToBytes(), Sum(fresh, decoded).ToBytes());
    ASSERT_TRUE(fresh.Update(*Int64s(more)).ok());
    ASSERT_TRUE(decoded.Update(*Int64s(more)).ok());
    this->ExpectSame(S::kLaws.orders, fresh, decoded, Joined({rows, more}), "decoded");
  }
}

TYPED_TEST(SketchLaws, UnlikeParamsAreRefusedAndBothNamed) {
  using S = TypeParam;
  S a = EmptySketch<S>();
  const S b = S::Empty(Expect<S>::Unlike()).ValueOrDie();
  const std::string before = a.ToBytes();
  const Status status = a.Merge(b);
  EXPECT_EQ(KindOf(status), ErrorKind::kUsage);
  EXPECT_NE(status.message().find(a.params().ToString()), std::string::npos) << status.message();
  EXPECT_NE(status.message().find(b.params().ToString()), std::string::npos) << status.message();
  EXPECT_EQ(a.ToBytes(), before);
}

TYPED_TEST(SketchLaws, OneValueInAnyTypeIsOneValue) {
  using S = TypeParam;
  const std::string expected = SketchOf<S>(Int64s({1, 0, 1})).ToBytes();
  const auto same = [&](const std::shared_ptr<arrow::Array>& array) {
    EXPECT_EQ(SketchOf<S>(array).ToBytes(), expected) << S::kName << " of " << array->type()->ToString();
  };
  const std::vector<int> v = {1, 0, 1};
  same(BuildArray<arrow::Int8Builder>(v, [](int x) { return static_cast<int8_t>(x); }));
  same(BuildArray<arrow::Int16Builder>(v, [](int x) { return static_cast<int16_t>(x); }));
  same(BuildArray<arrow::UInt32Builder>(v, [](int x) { return static_cast<uint32_t>(x); }));
  same(BuildArray<arrow::UInt64Builder>(v, [](int x) { return static_cast<uint64_t>(x); }));
  same(BuildArray<arrow::BooleanBuilder>(v, [](int x) { return x == 1; }));
  same(BuildArray<arrow::Date32Builder>(v, [](int x) { return x; }));
  same(Dictionary({1, 0, 1}));
  if constexpr (!std::is_same_v<S, Moments>) same(Dictionary({1, 0, 1}, true));
  const auto none = arrow::MakeArrayOfNull(arrow::int64(), 7).ValueOrDie();
  if constexpr (!std::is_same_v<S, Moments>) {
    EXPECT_EQ(SketchOf<S>(none).ToBytes(), EmptySketch<S>().ToBytes());
    EXPECT_EQ(SketchOf<S>(std::make_shared<arrow::NullArray>(5)).ToBytes(), EmptySketch<S>().ToBytes());
  }
}

TYPED_TEST(SketchLaws, WhatHasNoValuesIsRefused) {
  TypeParam s = EmptySketch<TypeParam>();
  const auto lists = arrow::MakeArrayOfNull(arrow::list(arrow::int64()), 3).ValueOrDie();
  EXPECT_EQ(KindOf(s.Update(*lists)), ErrorKind::kUsage);
  const auto type = arrow::dictionary(arrow::int32(), arrow::int64());
  const auto wild = std::make_shared<arrow::DictionaryArray>(
      type, BuildArray<arrow::Int32Builder>(std::vector<int>{0, 9}, [](int x) { return x; }), Int64s({4}));
  EXPECT_FALSE(s.Update(*wild).ok()) << "index 9 of 1 entry";
}

}  // namespace
}  // namespace pilum
