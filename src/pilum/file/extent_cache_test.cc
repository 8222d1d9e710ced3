// What an extent cache fetches, keeps and drops, over a slow source of known bytes.
#include "pilum/file/extent_cache.h"

#include <arrow/buffer.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

namespace pilum {
namespace {

constexpr uint64_t kExtent = 1000;

class ExtentCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    bytes_.resize(100'000);
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<char>(i * 7 + i / 251);
    slow_->cost = {.gap = 0, .reach = 0, .spare = 0, .most = 1 << 20, .parallel = 2, .tail = 0, .remote = true};
    ctx_.stats = &stats_;
    file_.source = OpenSlowMemorySource("f", arrow::Buffer::FromString(bytes_), slow_, ctx_).ValueOrDie();
    file_.columns.resize(1);
    file_.columns[0].first_row = {0, 1000};
  }

  // Extents 10 rows each, 2,000 bytes apart, that begin at `from`.
  static std::vector<Extent> Extents(size_t count, uint64_t from = 0) {
    std::vector<Extent> out;
    for (size_t i = 0; i < count; ++i) {
      out.push_back({{from + i * 2 * kExtent, kExtent}, {i * 10, i * 10 + 10}, i * 10, 0, 0});
    }
    return out;
  }

  void Check(ExtentCache* cache, std::vector<ByteRange> ranges) {
    auto got = cache->ReadRanges(
        ranges, [](size_t) { return "direct"; }, ctx_);
    ASSERT_TRUE(got.ok()) << got.status().message();
    for (size_t i = 0; i < ranges.size(); ++i) {
      EXPECT_EQ((*got)[i]->ToString(), bytes_.substr(ranges[i].offset, ranges[i].size)) << i;
    }
  }

  std::string bytes_;
  std::shared_ptr<SlowReads> slow_ = std::make_shared<SlowReads>();
  OpenFile file_{FileShape::Make(arrow::schema({arrow::field("a", arrow::int64())})).ValueOrDie()};
  ReadStats stats_;
  ReadContext ctx_;
};

TEST_F(ExtentCacheTest, FetchesExtentsWholeAndOnce) {
  ExtentCache cache(file_, Extents(5), 0, ctx_);
  Check(&cache, {{2100, 50}, {2900, 100}, {1500, 10}, {1950, 100}, {0, 0}});
  // One extent, and two ranges that no extent holds.
  EXPECT_EQ(stats_.requests, 2u);  // 1,950 to 3,000 touch each other
  EXPECT_EQ(stats_.bytes, 10u + 1050u);
  Check(&cache, {{2000, 1000}, {2999, 1}});
  EXPECT_EQ(stats_.requests, 2u);
  EXPECT_EQ(cache.held_bytes(), kExtent);
}

TEST_F(ExtentCacheTest, RangesMaySpanExtents) {
  std::vector<Extent> extents = Extents(1);
  extents.push_back({{1000, 500}, {0, 10}, 5, 0, 0});
  extents.push_back({{1500, 500}, {0, 10}, 5, 0, 0});
  ExtentCache cache(file_, std::move(extents), 0, ctx_);
  Check(&cache, {{900, 800}, {10, 5}, {1400, 700}});  // the last reaches past them all
  EXPECT_EQ(stats_.requests, 1u);
  EXPECT_EQ(stats_.bytes, 2100u);
}

TEST_F(ExtentCacheTest, FetchesAheadAsMuchAsWasUsed) {
  ExtentCache cache(file_, Extents(40), 20 * kExtent, ctx_);
  cache.Advance(0);
  Check(&cache, {{10, 10}});
  EXPECT_EQ(cache.held_bytes(), kExtent);  // nothing ahead before the second unit
  cache.Advance(0);
  EXPECT_EQ(cache.held_bytes(), 2 * kExtent);
  for (uint64_t i = 1; i < 40; ++i) {
    cache.Advance(i * 10);
    Check(&cache, {{i * 2 * kExtent + 1, 3}});
    EXPECT_LE(cache.held_bytes(), 20 * kExtent);
    EXPECT_LE(cache.held_bytes(), 2 * (i + 1) * kExtent);
  }
  EXPECT_EQ(stats_.requests, 40u);
  EXPECT_EQ(stats_.bytes, 40 * kExtent);
  cache.Advance(1000);
  EXPECT_EQ(cache.held_bytes(), 0u);
}

TEST_F(ExtentCacheTest, DropsWhatIsIdleWhereRoomIsWanted) {
  std::vector<Extent> extents = Extents(10);
  for (Extent& e : extents) e.rows = {0, 1000};  // pieces of one page: any of them may be wanted again
  ExtentCache cache(file_, std::move(extents), 3 * kExtent, ctx_);
  for (uint64_t i = 0; i < 10; ++i) {
    cache.Advance(0);
    Check(&cache, {{i * 2 * kExtent, 10}, {0, 10}});  // the first is wanted all the time
    EXPECT_LE(cache.held_bytes(), 4 * kExtent);
  }
  EXPECT_EQ(stats_.requests, 10u);
  Check(&cache, {{2 * kExtent, 10}});  // dropped, and fetched again
  EXPECT_EQ(stats_.requests, 11u);
}

TEST_F(ExtentCacheTest, SmallNeighboursComeAlong) {
  slow_->cost.gap = kExtent;
  slow_->cost.reach = kExtent;
  slow_->cost.spare = 3 * kExtent;
  ExtentCache cache(file_, Extents(10), 20 * kExtent, ctx_);
  cache.Advance(0);
  Check(&cache, {{4 * kExtent, 10}});
  EXPECT_EQ(stats_.requests, 1u);
  EXPECT_EQ(cache.held_bytes(), 4 * kExtent);
}

TEST_F(ExtentCacheTest, ErrorsAheadShowWhereTheyAreReached) {
  std::vector<Extent> extents = Extents(3);
  extents[2].range.offset = 99'500;  // past the end
  ExtentCache cache(file_, std::move(extents), 20 * kExtent, ctx_);
  cache.Advance(0);
  Check(&cache, {{0, 10}, {2 * kExtent, 10}});
  cache.Advance(0);  // fetches it ahead
  Check(&cache, {{0, 10}});
  std::vector<ByteRange> wanted = {{99'600, 10}};
  Status st = cache
                  .ReadRanges(
                      wanted, [](size_t) { return "direct"; }, ctx_)
                  .status();
  EXPECT_EQ(KindOf(st), ErrorKind::kCorrupt) << st.message();
}

}  // namespace
}  // namespace pilum
