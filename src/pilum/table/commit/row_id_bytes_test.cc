#include "pilum/table/commit/row_id_bytes.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "pilum/table/commit/wire.h"
#include "pilum/table/row_ids.h"

namespace pilum {
namespace {

wire::U64Segment::SegmentCase KindOf(const std::vector<uint64_t>& ids) {
  wire::RowIdSequence m;
  EXPECT_TRUE(m.ParseFromString(SerializeRowIds(ids)));
  EXPECT_EQ(m.segments_size(), 1);
  return m.segments(0).segment_case();
}

void ExpectBack(const std::vector<uint64_t>& ids) {
  auto back = ParseRowIds(SerializeRowIds(ids), ids.size());
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(*back, ids);
}

TEST(RowIdBytes, TakesTheSmallestForm) {
  using Segment = wire::U64Segment;
  std::vector<uint64_t> dense(1000);
  std::iota(dense.begin(), dense.end(), 7);
  EXPECT_EQ(KindOf(dense), Segment::kRange);
  EXPECT_EQ(KindOf({}), Segment::kRange);
  auto holed = dense;
  holed.erase(holed.begin() + 500);
  EXPECT_EQ(KindOf(holed), Segment::kRangeWithHoles);
  std::vector<uint64_t> half;
  for (uint64_t i = 0; i < 1000; ++i) half.push_back(2 * i);
  EXPECT_EQ(KindOf(half), Segment::kRangeWithBitmap);
  EXPECT_EQ(KindOf({1, 1000000, uint64_t{1} << 40}), Segment::kSortedArray);
  EXPECT_EQ(KindOf({3, 2}), Segment::kArray);
  EXPECT_EQ(KindOf({3, 3}), Segment::kArray);
}

// Rows of several fragments put together: runs that lie far apart, or backwards.
TEST(RowIdBytes, PiecesAreSegments) {
  std::vector<uint64_t> ids;
  for (const uint64_t begin : {uint64_t{1} << 40, uint64_t{0}, uint64_t{5000}}) {
    for (uint64_t i = 0; i < 1000; ++i) ids.push_back(begin + i);
  }
  wire::RowIdSequence m;
  ASSERT_TRUE(m.ParseFromString(SerializeRowIds(ids)));
  EXPECT_EQ(m.segments_size(), 3);
  EXPECT_LT(m.ByteSizeLong(), 100u);
  ExpectBack(ids);
  ids.insert(ids.begin() + 1000, {9, 4, 7000});  // too few to be segments each
  ASSERT_TRUE(m.ParseFromString(SerializeRowIds(ids)));
  EXPECT_EQ(m.segments_size(), 4);
  ExpectBack(ids);
}

TEST(RowIdBytes, ComeBack) {
  ExpectBack({});
  ExpectBack({0});
  ExpectBack({UINT64_MAX - 1, 0, 5});
  ExpectBack({uint64_t{1} << 33, 1});
  std::mt19937_64 rng(42);
  for (int i = 0; i < 200; ++i) {
    std::vector<uint64_t> ids;
    uint64_t at = rng() % 1000;
    const uint64_t gap = uint64_t{1} << (rng() % 20);
    for (uint64_t n = rng() % 300; n > 0; --n) ids.push_back(at += 1 + (rng() % 3 == 0 ? rng() % gap : 0));
    if (rng() % 3 == 0) std::shuffle(ids.begin(), ids.end(), rng);
    ExpectBack(ids);
  }
}

TEST(RowIdBytes, CountsBeforeItAllocates) {
  const std::string many = SerializeRowIdRange(0, uint64_t{1} << 60);
  EXPECT_FALSE(ParseRowIds(many, 10).ok());
}

TEST(RowIdBytes, VersionsAreRuns) {
  const std::vector<uint64_t> versions = {3, 3, 3, 1, 7, 7};
  wire::RowDatasetVersionSequence m;
  ASSERT_TRUE(m.ParseFromString(SerializeRowVersions(versions)));
  EXPECT_EQ(m.runs_size(), 3);
  std::vector<uint64_t> back;
  RowVersionSequence::Parse(SerializeRowVersions(versions), 6).ValueOrDie().Append(RowSet::All(6), &back);
  EXPECT_EQ(back, versions);
  EXPECT_EQ(SerializeRowVersion(6, 7), SerializeRowVersions(std::vector<uint64_t>(6, 7)));
}

}  // namespace
}  // namespace pilum
