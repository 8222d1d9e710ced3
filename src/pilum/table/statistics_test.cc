#include "pilum/table/statistics.h"

#include <gtest/gtest.h>

namespace pilum {
namespace {

Manifest WithFragments(const std::vector<uint64_t>& rows) {
  Manifest m;
  for (const uint64_t n : rows) {
    Fragment& f = m.fragments.emplace_back();
    f.physical_rows = n;
    f.files.emplace_back().size = 10;
  }
  return m;
}

TEST(TableStatistics, NothingIsAllZeros) {
  const auto s = StatisticsOf(Manifest(), {}, 0);
  EXPECT_EQ(s.total_bytes + s.num_rows + s.num_indices + s.num_fragments + s.num_small_fragments, 0);
  EXPECT_EQ(s.lengths.min + s.lengths.max + s.lengths.mean + s.lengths.p25 + s.lengths.p99, 0);
}

// As LanceDB 0.40 gave them for fragments of these lengths.
TEST(TableStatistics, LengthsAreThoseAtAPartOfAll) {
  const auto l = StatisticsOf(WithFragments({300, 100, 300, 50}), {}, 748).lengths;
  EXPECT_EQ(l.min, 50);
  EXPECT_EQ(l.max, 300);
  EXPECT_EQ(l.mean, 187);
  EXPECT_EQ(l.p25, 100);
  EXPECT_EQ(l.p50, 300);
  EXPECT_EQ(l.p75, 300);
  EXPECT_EQ(l.p99, 300);
}

TEST(TableStatistics, SmallIsBelowAHundredThousand) {
  const auto s = StatisticsOf(WithFragments({99999, 100000, 100001}), {}, 300000);
  EXPECT_EQ(s.num_fragments, 3);
  EXPECT_EQ(s.num_small_fragments, 1);
  EXPECT_EQ(s.total_bytes, 30);
}

TEST(TableStatistics, IndicesAreCountedByName) {
  std::vector<TableIndex> indices(4);
  indices[0].name = indices[1].name = "id_idx";
  indices[0].kind = indices[1].kind = "BTree";
  indices[0].files = {{"a", 5}}, indices[1].files = {{"a", 7}};
  indices[2].name = "__lance_frag_reuse", indices[2].kind = "FragmentReuse";
  indices[3].name = "j", indices[3].kind = "Json", indices[3].files = {{"a", 1}};
  const auto s = StatisticsOf(WithFragments({1}), indices, 1);
  EXPECT_EQ(s.num_indices, 1);
  EXPECT_EQ(s.total_bytes, 23);
}

}  // namespace
}  // namespace pilum
