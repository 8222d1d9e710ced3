// What users of other sketches met, and what is easy to get wrong in ours.
#include "pilum/base/hash.h"
#include "pilum/sketch/sketch_test_support.h"

namespace pilum {
namespace {

Rows Range(int64_t begin, int64_t end) {
  Rows out;
  for (int64_t v = begin; v < end; ++v) out.push_back(v);
  return out;
}

Hll HllOf(uint32_t p, const Rows& rows, uint64_t seed = 0) {
  Hll out = Hll::Empty({p, seed}).ValueOrDie();
  EXPECT_TRUE(out.Update(*Int64s(rows)).ok());
  return out;
}

// Unions of unlike precisions lost two thirds of the values or not, by their order (datasketches-cpp#512, doris#67469).
TEST(Cases, HllOfUnlikePrecisionIsRefusedInEveryOrder) {
  std::vector<uint32_t> p = {10, 11, 12};
  do {
    Hll first = HllOf(p[0], Range(0, 20000));
    for (size_t i = 1; i < 3; ++i) {
      const Status status = first.Merge(HllOf(p[i], Range(20000, 40000)));
      EXPECT_EQ(KindOf(status), ErrorKind::kUsage);
      EXPECT_NE(status.message().find(fmt::format("p={} ", p[0])), std::string::npos) << status.message();
      EXPECT_NE(status.message().find(fmt::format("p={} ", p[i])), std::string::npos) << status.message();
    }
  } while (std::next_permutation(p.begin(), p.end()));
  std::vector<int> order = {0, 1, 2};
  std::set<std::string> forms;
  do {
    Hll sum = Hll::Empty({12, 0}).ValueOrDie();
    for (int part : order) ASSERT_TRUE(sum.Merge(HllOf(12, Range(part * 20000, part * 20000 + 20000))).ok());
    EXPECT_NEAR(sum.Count().value, 60000, 6000);
    forms.insert(sum.ToBytes());
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(forms.size(), 1u);
}

// Merging changed the source, a cached estimate outlived the merge, two seeds merged (zetasketch#17,
// ascv/HyperLogLog#25, datasketches-cpp#374).
TEST(Cases, HllMergeChangesOneSideAndTwiceIsOnce) {
  const Hll b = HllOf(12, Range(1000, 3000));
  Hll a = HllOf(12, Range(0, 2000));
  EXPECT_NEAR(a.Count().value, 2000, 100);
  const double before = b.Count().value;
  ASSERT_TRUE(a.Merge(b).ok());
  EXPECT_EQ(b.Count().value, before);
  const double once = a.Count().value;
  EXPECT_NEAR(once, 3000, 150);
  ASSERT_TRUE(a.Merge(b).ok());
  EXPECT_EQ(a.Count().value, once);
  EXPECT_NEAR(HllOf(12, Range(0, 100)).Count().value, 100, 1);
  EXPECT_EQ(KindOf(a.Merge(HllOf(12, {1}, 5))), ErrorKind::kUsage);
}

TEST(Cases, SignedZerosAndNaNsAreOneValueEach) {
  Hll s = Hll::Empty({12, 0}).ValueOrDie();
  ASSERT_TRUE(s.Update(*Doubles({0.0, -0.0, NAN, -NAN, std::nan("7")})).ok());
  EXPECT_NEAR(s.Count().value, 2, 0.001);
}

// Registers merged by bit-or instead of maximum (hideo55/cpp-HyperLogLog#14): 5 and 6 gave 7.
TEST(Cases, HllRegistersMergeByMaximum) {
  constexpr uint32_t kP = 12;
  const auto with_rank = [](uint64_t rank) {  // a dense sketch with that rank in register 0
    Hll s = Hll::Empty({kP, 0}).ValueOrDie();
    for (uint64_t i = 1; i <= 2000; ++i) s.Insert(i << 52 | uint64_t{1} << 51);  // rank 1 elsewhere
    s.Insert(uint64_t{1} << (52 - rank));
    EXPECT_FALSE(s.sparse());
    return s;
  };
  const auto first_register = [](const Hll& s) { return s.ToBytes()[SketchHeader::kBytes] & 63; };
  const Hll five = with_rank(5), six = with_rank(6);
  EXPECT_EQ(first_register(five), 5);
  EXPECT_EQ(first_register(six), 6);
  EXPECT_EQ(first_register(Sum(five, six)), 6);
  EXPECT_EQ(Sum(HllOf(10, Range(0, 9000)), HllOf(10, Range(5000, 20000))).ToBytes(),
            HllOf(10, Range(0, 20000)).ToBytes());
}

TEST(Cases, HllIsUnbiasedFromSparseToDense) {
  for (int64_t n : {1, 3, 12, 50, 200, 700, 800, 1500, 4000, 12000, 40000}) {
    double sum = 0;
    constexpr int kSeeds = 60;
    for (int seed = 0; seed < kSeeds; ++seed) {
      sum += HllOf(10, Range(seed * 1000003, seed * 1000003 + n)).Count().value / static_cast<double>(n);
    }
    EXPECT_NEAR(sum / kSeeds, 1, 4 * 1.04 / 32 / std::sqrt(kSeeds)) << n;
  }
}

// A stated rate that was not met, and positions that stopped at 2^31 bits (lance#4734, spark#50933, RedisBloom#9).
TEST(Cases, BloomMeetsItsRateAndUsesItsWholeRange) {
  BloomFilter s = BloomFilter::ForItems(10000);
  ASSERT_TRUE(s.Update(*Int64s(Range(0, 10000))).ok());
  int wrong = 0;
  for (int64_t v = 1000000; v < 1100000; ++v) wrong += s.MayContain(HashInt(v));
  EXPECT_LE(wrong, 1500);
  constexpr uint32_t kBlocks = 9u << 20;  // 2.4e9 bits
  BloomFilter large = BloomFilter::Empty({kBlocks}).ValueOrDie();
  // The last block, and the one that it would be if its number were cut to 2^31 bits.
  const uint64_t last = 0xFFFFFFFFull << 32 | 12345, cut = ((((1ull << 20) - 1) << 32) / kBlocks + 1) << 32 | 12345;
  large.Insert(last);
  EXPECT_TRUE(large.MayContain(last));
  EXPECT_FALSE(large.MayContain(cut));
  large.Insert(cut);
  EXPECT_TRUE(large.MayContain(cut));
}

TEST(Cases, BloomKernelsAgree) {
  std::mt19937_64 rng(5);
  std::vector<uint64_t> in(5000), asked(5000);
  for (uint64_t& h : in) h = rng();
  for (size_t i = 0; i < asked.size(); ++i) asked[i] = i % 2 == 0 ? in[i] : rng();
  BloomFilter many = BloomFilter::ForItems(5000), one = many;
  many.Insert(in);
  for (uint64_t h : in) one.Insert(h);
  EXPECT_TRUE(many == one);
  std::vector<uint8_t> out(asked.size());
  many.MayContain(asked, out.data());
  for (size_t i = 0; i < asked.size(); ++i) ASSERT_EQ(out[i] != 0, one.MayContain(asked[i])) << i;
}

TEST(Cases, CountMinNeverCountsTooFew) {
  std::mt19937_64 rng(6);
  for (bool conservative : {false, true}) {
    CountMin sum = CountMin::Empty({256, 4, conservative, 0}).ValueOrDie();
    std::map<int64_t, double> truth;
    for (int part = 0; part < 5; ++part) {
      const Rows rows = RandomRows(rng, 2000);
      for (int64_t v : rows) ++truth[v];
      CountMin s = CountMin::Empty({256, 4, conservative, 0}).ValueOrDie();
      ASSERT_TRUE(s.Update(*Int64s(rows)).ok());
      ASSERT_TRUE(sum.Merge(s).ok());
    }
    for (const auto& [v, n] : truth) ASSERT_GE(sum.Count(HashInt(v)).value, n) << conservative;
    EXPECT_EQ(CountMin::FromBytes(sum.ToBytes(), "x").ValueOrDie().ToBytes(), sum.ToBytes());
  }
}

TEST(Cases, FiltersOfOneValueMeetTheirRate) {
  CuckooFilter cuckoo = CuckooFilter::Empty({1}).ValueOrDie();
  ASSERT_TRUE(cuckoo.Insert(HashInt(5)).ok());
  EXPECT_EQ(KindOf(cuckoo.Insert(HashInt(6))), ErrorKind::kUsage) << "holds one";
  ASSERT_TRUE(cuckoo.Insert(HashInt(5)).ok()) << "the same again is no more";
  for (uint64_t n : {0, 1, 2, 3, 5, 10, 100}) {
    FuseFilter fuse = FuseFilter::Empty({8}).ValueOrDie();
    for (uint64_t i = 0; i < n; ++i) ASSERT_TRUE(fuse.Insert(HashInt(static_cast<int64_t>(i))).ok());
    ASSERT_TRUE(fuse.Seal().ok());
    int wrong = 0, wrong_cuckoo = 0;
    for (int64_t v = 1000; v < 101000; ++v) {
      wrong += fuse.MayContain(HashInt(v));
      wrong_cuckoo += cuckoo.MayContain(HashInt(v));
    }
    EXPECT_LE(wrong, n == 0 ? 0 : 500) << n;
    EXPECT_LE(wrong_cuckoo, 30);
  }
}

TEST(Cases, FuseIsFoundForEverySize) {
  for (int64_t n = 0; n < 3000; n += n < 300 ? 1 : 41) {
    FuseFilter s = FuseFilter::Empty({n % 2 == 0 ? 8u : 16u}).ValueOrDie();
    ASSERT_TRUE(s.Update(*Int64s(Range(n, 2 * n))).ok());
    FuseFilter open = s;
    ASSERT_TRUE(s.Seal().ok()) << n;
    ExpectHoldsAll(s, Range(n, 2 * n));
    EXPECT_EQ(FuseFilter::FromBytes(s.ToBytes(), "x").ValueOrDie().ToBytes(), s.ToBytes());
    EXPECT_EQ(KindOf(s.Merge(open)), ErrorKind::kUsage);
    EXPECT_EQ(KindOf(open.Merge(s)), ErrorKind::kUsage);
    EXPECT_EQ(KindOf(s.Insert(1)), ErrorKind::kUsage);
  }
}

TEST(Cases, MinHashJaccard) {
  const auto of = [](const Rows& rows) {
    MinHash s = MinHash::Empty({256, 0}).ValueOrDie();
    EXPECT_TRUE(s.Update(*Int64s(rows)).ok());
    return s;
  };
  EXPECT_EQ(of(Range(0, 100)).Jaccard(of(Range(50, 150))).ValueOrDie().value, 50.0 / 150);
  const Estimate e = of(Range(0, 20000)).Jaccard(of(Range(10000, 30000))).ValueOrDie();
  EXPECT_NEAR(e.value, 1.0 / 3, 0.1);
  EXPECT_LT(e.low, 1.0 / 3);
  EXPECT_GT(e.high, 1.0 / 3);
  EXPECT_EQ(of({}).Jaccard(of({})).ValueOrDie().value, 1);
  EXPECT_EQ(of({1}).Jaccard(of({2})).ValueOrDie().value, 0);
}

TEST(Cases, QuantilesOfNaNAndInfinityKeepTheOneOrder) {
  const auto array = Doubles({NAN, 1, -INFINITY, INFINITY, 2, -0.0});
  const Kll kll = SketchOf<Kll>(array);
  const TDigest digest = SketchOf<TDigest>(array);
  const double expected[] = {-INFINITY, 0, 1, 2, INFINITY, NAN};
  for (int i = 0; i < 6; ++i) {
    const double q = (i + 1) / 6.0, a = kll.Quantile(q).ValueOrDie().value, b = digest.ValueAtRank(q).ValueOrDie();
    EXPECT_EQ(CompareFloat(a, expected[i]), 0) << q << " gave " << a;
    EXPECT_EQ(CompareFloat(b, expected[i]), 0) << q << " gave " << b;
  }
  EXPECT_FALSE(kll.Quantile(1.5).ok());
  EXPECT_FALSE(kll.Quantile(NAN).ok());
  EXPECT_FALSE(EmptySketch<TDigest>().ValueAtRank(0.5).ok());
  TDigest wide = EmptySketch<TDigest>();
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(wide.Update(*Doubles({1e308, -1e308, 1.7e308, -1.7e308})).ok());
  for (double q = 0; q <= 1; q += 0.01) {
    const double v = wide.ValueAtRank(q).ValueOrDie();
    EXPECT_TRUE(v >= -1.7e308 && v <= 1.7e308) << q << " gave " << v;
  }
}

TEST(Cases, KllIntIsExactPastTwoToThe53) {
  Kll s = Kll::Empty({200, Kll::Kind::kInt, 0}).ValueOrDie();
  const int64_t base = (int64_t{1} << 60) + 1;
  ASSERT_TRUE(s.Update(*Int64s({base, base + 1, base + 2})).ok());
  EXPECT_EQ(s.QuantileKey(0.5).ValueOrDie(), base + 1);
  EXPECT_EQ(KindOf(s.Update(*Doubles({0.5}))), ErrorKind::kUsage);
}

TEST(Cases, MomentsSumFloatsExactly) {
  const auto of = [](const std::vector<double>& rows) {
    Moments m = Moments::Empty({Domain::kFloat, 0}).ValueOrDie();
    EXPECT_TRUE(m.Update(*Doubles(rows)).ok());
    return m;
  };
  EXPECT_EQ(of({1e308, 1, 1e308, -1e308, -1e308}).sum()->as_float(), 1);
  EXPECT_EQ(of(std::vector<double>(10, 0.1)).sum()->as_float(), 1.0);
  EXPECT_EQ(of({5e-324, -5e-324, 5e-324}).sum()->as_float(), 5e-324);
  EXPECT_EQ(of({1e308, 1e308}).sum()->as_float(), INFINITY);
  EXPECT_EQ(of({0x1p53, 1}).sum()->as_float(), 0x1p53) << "a tie goes to even";
  EXPECT_EQ(of({0x1p53, 1, 0x1p-60}).sum()->as_float(), 0x1p53 + 2);
  EXPECT_EQ(of({-0x1p53, -1, -0x1p-60}).sum()->as_float(), -0x1p53 - 2);
  EXPECT_TRUE(std::isnan(of({INFINITY, -INFINITY}).sum()->as_float()));
  EXPECT_TRUE(std::isnan(of({NAN, 1}).max()->as_float()));
  EXPECT_EQ(of({NAN, 1}).min()->as_float(), 1);
  std::mt19937_64 rng(9);
  std::vector<double> rows(3000);
  for (double& v : rows)
    v = std::ldexp(static_cast<double>(static_cast<int64_t>(rng())), static_cast<int>(rng() % 200) - 100);
  const Moments whole = of(rows);
  std::shuffle(rows.begin(), rows.end(), rng);
  const Moments a = of({rows.begin(), rows.begin() + 1000}), b = of({rows.begin() + 1000, rows.end()});
  EXPECT_EQ(Sum(a, b).ToBytes(), whole.ToBytes());
  EXPECT_EQ(Moments::FromBytes(whole.ToBytes(), "x").ValueOrDie().sum()->as_float(), whole.sum()->as_float());
  long double near = 0;
  for (double v : rows) near += v;
  EXPECT_NEAR(whole.sum()->as_float() / static_cast<double>(near), 1, 1e-12);
}

TEST(Cases, MomentsNeverWrap) {
  Moments m = Moments::Empty({Domain::kInt, 0}).ValueOrDie();
  arrow::UInt64Builder b;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(b.Append(~0ull).ok());
  ASSERT_TRUE(b.AppendNull().ok());
  ASSERT_TRUE(m.Update(*b.Finish().ValueOrDie()).ok());
  EXPECT_EQ(m.sum()->ToString(), "55340232221128654845");
  EXPECT_EQ(m.max()->ToString(), "18446744073709551615");
  EXPECT_EQ(m.nulls(), 1u);
  EXPECT_EQ(KindOf(m.Update(*Doubles({1}))), ErrorKind::kUsage);
}

TEST(Cases, LongValuesAreCutButCountedApart) {
  HeavyHitters s = EmptySketch<HeavyHitters>();
  const std::string long_text(1000, 'a');
  const auto array =
      BuildArray<arrow::StringBuilder>(std::vector<std::string>{long_text + "1", long_text + "2", long_text + "1", "b"},
                                       [](const auto& v) { return v; });
  ASSERT_TRUE(s.Update(*array).ok());
  const auto top = s.Top(10);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_TRUE(top[0].truncated);
  EXPECT_EQ(top[0].low, 2u);
  EXPECT_EQ(top[0].hash_bytes.size(), HeavyHitters::kMaxItemBytes);
  EXPECT_EQ(HeavyHitters::FromBytes(s.ToBytes(), "x").ValueOrDie().ToBytes(), s.ToBytes());
}

TEST(Cases, ParamsOutOfRangeAreRefused) {
  EXPECT_FALSE(Hll::Empty({3, 0}).ok());
  EXPECT_FALSE(Hll::Empty({19, 0}).ok());
  EXPECT_FALSE(BloomFilter::Empty({0}).ok());
  EXPECT_FALSE(CuckooFilter::Empty({0}).ok());
  EXPECT_FALSE(FuseFilter::Empty({7}).ok());
  EXPECT_FALSE(CountMin::Empty({1u << 31, 16, false, 0}).ok());
  EXPECT_FALSE(HeavyHitters::Empty({1, 0}).ok());
  EXPECT_FALSE(MinHash::Empty({0, 0}).ok());
  EXPECT_FALSE(Kll::Empty({0, Kll::Kind::kInt, 0}).ok());
  EXPECT_FALSE(TDigest::Empty({0}).ok());
  EXPECT_FALSE(Moments::Empty({Domain::kNone, 0}).ok());
}

TEST(Cases, ManyEqualKeysSortByBytes) {
  std::mt19937_64 rng(4);
  std::normal_distribution<double> normal;
  for (size_t n : {0, 1, 191, 192, 5000, 20000}) {
    for (int kind = 0; kind < 5; ++kind) {
      std::vector<int64_t> keys(n);
      for (int64_t& k : keys) {
        k = kind == 0   ? static_cast<int64_t>(rng())
            : kind == 1 ? 7
            : kind == 2 ? static_cast<int64_t>(rng() % 9) - 4
            : kind == 3 ? KeyOf(normal(rng))
                        : static_cast<int64_t>(rng() % 100000);  // all agree in the upper bits but one
      }
      if (kind == 4 && n > 0) keys[n / 2] = INT64_MIN;
      std::vector<int64_t> sorted = keys;
      std::sort(sorted.begin(), sorted.end());
      SortKeys(&keys);
      EXPECT_EQ(keys, sorted) << n << " of kind " << kind;
    }
  }
  std::vector<double> order = {-INFINITY, -2, -1e-320, 0, 5e-324, 1, 1e300, INFINITY, NAN};
  for (size_t i = 0; i + 1 < order.size(); ++i) EXPECT_LT(KeyOf(order[i]), KeyOf(order[i + 1])) << i;
  for (double v : order) EXPECT_EQ(std::bit_cast<uint64_t>(DoubleOf(KeyOf(v))), std::bit_cast<uint64_t>(v));
}

}  // namespace
}  // namespace pilum
