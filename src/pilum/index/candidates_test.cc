// Three-valued logic on bounds, proved by trying everything. One row of one unit is described by three bits (certain,
// possible, maybe_null); a bit pattern allows a set of truth values. All pairs of patterns become the rows of one unit,
// so one And / Or / Not answers for all of them. Each answer must allow every value that some consistent pair gives
// (sound), and its bits must be the best that three bits can say about those values (tight).
#include <gtest/gtest.h>

#include <set>

#include "pilum/index/index.h"

namespace pilum {
namespace {

enum Truth { kF, kT, kN };

struct Bits {
  bool certain, possible, maybe_null;
  bool operator==(const Bits&) const = default;
};

std::set<Truth> Allowed(Bits b) {
  std::set<Truth> out;
  if (b.certain) return {kT};
  out.insert(kF);
  if (b.possible) out.insert(kT);
  if (b.maybe_null) out.insert(kN);
  return out;
}

Bits Tightest(const std::set<Truth>& values) {
  return {values == std::set<Truth>{kT}, values.contains(kT), values.contains(kN)};
}

// certain implies possible: the only rule between the bits.
std::vector<Bits> AllBits() {
  std::vector<Bits> out;
  for (int i = 0; i < 8; ++i) {
    Bits b{(i & 1) != 0, (i & 2) != 0, (i & 4) != 0};
    if (!b.certain || b.possible) out.push_back(b);
  }
  return out;
}

Candidates Make(const std::vector<Bits>& rows) {
  Candidates c;
  for (uint64_t i = 0; i < rows.size(); ++i) {
    if (rows[i].certain) c.certain.Append(i, i + 1);
    if (rows[i].possible) c.possible.Append(i, i + 1);
    if (rows[i].maybe_null) c.maybe_null.Append(i, i + 1);
  }
  return c;
}

Bits At(const Candidates& c, uint64_t row) {
  return {c.certain.Contains(row), c.possible.Contains(row), c.maybe_null.Contains(row)};
}

Truth And(Truth a, Truth b) { return a == kF || b == kF ? kF : a == kN || b == kN ? kN : kT; }
Truth Or(Truth a, Truth b) { return a == kT || b == kT ? kT : a == kN || b == kN ? kN : kF; }
Truth Not(Truth a) { return a == kN ? kN : a == kT ? kF : kT; }

TEST(Candidates, AndOrOverAllConsistentAssignments) {
  std::vector<Bits> left, right;
  for (Bits a : AllBits())
    for (Bits b : AllBits()) {
      left.push_back(a);
      right.push_back(b);
    }
  ASSERT_EQ(left.size(), 36u);
  const Candidates a = Make(left), b = Make(right);
  const Candidates both = Candidates::And(a, b), either = Candidates::Or(a, b);
  for (uint64_t row = 0; row < left.size(); ++row) {
    std::set<Truth> and_values, or_values;
    for (Truth x : Allowed(left[row])) {
      for (Truth y : Allowed(right[row])) {
        and_values.insert(And(x, y));
        or_values.insert(Or(x, y));
      }
    }
    EXPECT_EQ(At(both, row), Tightest(and_values)) << "AND, row " << row;
    EXPECT_EQ(At(either, row), Tightest(or_values)) << "OR, row " << row;
  }
}

TEST(Candidates, NotOverAllConsistentAssignments) {
  const std::vector<Bits> rows = AllBits();
  const Candidates a = Candidates::Not(Make(rows), rows.size());
  for (uint64_t row = 0; row < rows.size(); ++row) {
    std::set<Truth> values;
    for (Truth x : Allowed(rows[row])) values.insert(Not(x));
    EXPECT_EQ(At(a, row), Tightest(values)) << "row " << row;
  }
}

// Three leaves in every shape of depth two: bounds stay sound when answers are combined again.
TEST(Candidates, NestedStaysSound) {
  std::vector<Bits> x, y, z;
  for (Bits a : AllBits())
    for (Bits b : AllBits())
      for (Bits c : AllBits()) {
        x.push_back(a);
        y.push_back(b);
        z.push_back(c);
      }
  const uint64_t n = x.size();
  const Candidates a = Make(x), b = Make(y), c = Make(z);
  for (int shape = 0; shape < 32; ++shape) {
    auto join = [&](bool is_and, const Candidates& l, const Candidates& r) {
      return is_and ? Candidates::And(l, r) : Candidates::Or(l, r);
    };
    auto flip = [&](bool yes, Candidates v) { return yes ? Candidates::Not(v, n) : v; };
    auto value_join = [](bool is_and, Truth l, Truth r) { return is_and ? And(l, r) : Or(l, r); };
    auto value_flip = [](bool yes, Truth v) { return yes ? Not(v) : v; };
    const bool s0 = shape & 1, s1 = shape & 2, s2 = shape & 4, s3 = shape & 8, s4 = shape & 16;
    const Candidates got = flip(s0, join(s1, flip(s2, join(s3, a, flip(s4, b))), c));
    EXPECT_TRUE(got.certain.IsSubsetOf(got.possible));
    EXPECT_TRUE(got.possible.IsSubsetOf(RowSet::All(n)));
    for (uint64_t row = 0; row < n; ++row) {
      const std::set<Truth> allowed = Allowed(At(got, row));
      for (Truth p : Allowed(x[row]))
        for (Truth q : Allowed(y[row]))
          for (Truth r : Allowed(z[row])) {
            const Truth v = value_flip(s0, value_join(s1, value_flip(s2, value_join(s3, p, value_flip(s4, q))), r));
            ASSERT_TRUE(allowed.contains(v)) << "shape " << shape << " row " << row << " value " << v;
          }
    }
  }
}

TEST(Candidates, UnknownAllowsEverythingAndAllFalseNothing) {
  const Candidates unknown = Candidates::Unknown(5), none = Candidates::AllFalse();
  for (uint64_t row = 0; row < 5; ++row) {
    EXPECT_EQ(Allowed(At(unknown, row)).size(), 3u);
    EXPECT_EQ(Allowed(At(none, row)), std::set<Truth>{kF});
  }
  EXPECT_TRUE(Candidates::Unknown(0).possible.empty());
  EXPECT_EQ(Candidates::Not(none, 5).certain, RowSet::All(5));
  EXPECT_TRUE(Candidates::Not(unknown, 5).certain.empty());
}

}  // namespace
}  // namespace pilum
