#include "pilum/base/row_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace pilum {
namespace {

std::set<uint64_t> Members(const RowSet& s) {
  auto v = s.ToVector();
  return {v.begin(), v.end()};
}

RowSet Random(std::mt19937& rng, uint64_t n) {
  std::vector<RowRange> ranges;
  for (int i = rng() % 5; i > 0; --i) {
    uint64_t a = rng() % n, b = a + rng() % 6;
    ranges.push_back({a, std::min(b, n)});
  }
  return RowSet::FromRanges(ranges);
}

TEST(RowSet, AlgebraAgainstSets) {
  std::mt19937 rng(7);
  const uint64_t n = 24;
  for (int round = 0; round < 5000; ++round) {
    RowSet a = Random(rng, n), b = Random(rng, n);
    auto sa = Members(a), sb = Members(b);
    std::set<uint64_t> u, i, m, c;
    for (uint64_t r = 0; r < n; ++r) {
      bool ina = sa.count(r), inb = sb.count(r);
      if (ina || inb) u.insert(r);
      if (ina && inb) i.insert(r);
      if (ina && !inb) m.insert(r);
      if (!ina) c.insert(r);
      ASSERT_EQ(a.Contains(r), ina);
    }
    ASSERT_EQ(Members(a.Union(b)), u);
    ASSERT_EQ(Members(a.Intersect(b)), i);
    ASSERT_EQ(Members(a.Minus(b)), m);
    ASSERT_EQ(Members(a.Complement(n)), c);
    ASSERT_EQ(a.size(), sa.size());
    ASSERT_EQ(RowSet::FromSorted(a.ToVector()), a);
    uint64_t lo = rng() % n, hi = lo + rng() % (n - lo + 1);
    ASSERT_EQ(a.Slice(lo, hi).Shift(lo), a.Intersect(RowSet::Range(lo, hi)));
    uint64_t k = rng() % 6, len = rng() % 6;
    auto all = a.ToVector();
    std::vector<uint64_t> want;
    for (uint64_t x = k; x < std::min<uint64_t>(all.size(), k + len); ++x) want.push_back(all[x]);
    ASSERT_EQ(a.SliceByRank(k, len).ToVector(), want);
  }
}

}  // namespace
}  // namespace pilum
