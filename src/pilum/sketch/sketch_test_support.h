// For the tests of this folder: rows, the arrays that carry them, and what each sketch is expected to be and to say.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <arrow/api.h>

#include "pilum/sketch/bloom.h"
#include "pilum/sketch/count_min.h"
#include "pilum/sketch/cuckoo.h"
#include "pilum/sketch/fuse.h"
#include "pilum/sketch/heavy_hitters.h"
#include "pilum/sketch/hll.h"
#include "pilum/sketch/kll.h"
#include "pilum/sketch/min_hash.h"
#include "pilum/sketch/moments.h"
#include "pilum/sketch/sort_keys.h"
#include "pilum/sketch/t_digest.h"
#include "pilum/sketch/value_hash.h"

namespace pilum {

using Rows = std::vector<int64_t>;

template <typename Builder, typename T, typename Convert>
std::shared_ptr<arrow::Array> BuildArray(const std::vector<T>& rows, Convert convert) {
  Builder builder;
  for (const T& v : rows) EXPECT_TRUE(builder.Append(convert(v)).ok());
  return builder.Finish().ValueOrDie();
}

inline std::shared_ptr<arrow::Array> Int64s(const Rows& rows) {
  return BuildArray<arrow::Int64Builder>(rows, [](int64_t v) { return v; });
}
inline std::shared_ptr<arrow::Array> Doubles(const std::vector<double>& rows) {
  return BuildArray<arrow::DoubleBuilder>(rows, [](double v) { return v; });
}
inline std::shared_ptr<arrow::Array> Texts(const Rows& rows) {
  return BuildArray<arrow::StringBuilder>(rows, [](int64_t v) { return "value " + std::to_string(v); });
}
// The same values in a dictionary with an entry that no row uses; with_nulls: a null after every third row.
inline std::shared_ptr<arrow::Array> Dictionary(const Rows& rows, bool with_nulls = false) {
  Rows values = rows;
  values.push_back(-77777);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  arrow::Int32Builder indices;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto at = std::lower_bound(values.begin(), values.end(), rows[i]) - values.begin();
    EXPECT_TRUE(indices.Append(static_cast<int32_t>(at)).ok());
    if (with_nulls && i % 3 == 2) {
      EXPECT_TRUE(indices.AppendNull().ok());
    }
  }
  const auto type = arrow::dictionary(arrow::int32(), arrow::int64());
  return arrow::DictionaryArray::FromArrays(type, indices.Finish().ValueOrDie(), Int64s(values)).ValueOrDie();
}

// n rows of about n / 3 values, some of them frequent, from one of many overlapping ranges.
inline Rows RandomRows(std::mt19937_64& rng, size_t n) {
  Rows out(n);
  const int64_t base = static_cast<int64_t>(rng() % 1000);
  for (int64_t& v : out) {
    v = rng() % 4 == 0 ? static_cast<int64_t>(rng() % 5) : base + static_cast<int64_t>(rng() % (n / 3 + 1));
  }
  return out;
}

inline Rows Joined(const std::vector<Rows>& parts) {
  Rows out;
  for (const Rows& p : parts) out.insert(out.end(), p.begin(), p.end());
  return out;
}

// The share of rows by which `value` misses the place q in the sorted rows.
inline double RankMiss(const Rows& sorted, double value, double q) {
  const double n = static_cast<double>(sorted.size());
  const double low = static_cast<double>(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin()) / n;
  const double high = static_cast<double>(std::upper_bound(sorted.begin(), sorted.end(), value) - sorted.begin()) / n;
  return q < low ? low - q : q > high ? q - high : 0;
}

// For each sketch: params for the tests, others that are unlike them, and what it must say of its rows.
template <typename S>
struct Expect;

template <>
struct Expect<Hll> {
  static Hll::Params Params() { return {11, 0}; }
  static Hll::Params Unlike() { return {12, 0}; }
  static void Says(const Hll& s, const Rows& rows) {
    const double n = static_cast<double>(std::set<int64_t>(rows.begin(), rows.end()).size());
    EXPECT_NEAR(s.Count().value, n, n * 5 * s.StandardError() + 1e-3);
  }
};

template <typename F>
void ExpectHoldsAll(const F& filter, const Rows& rows) {
  for (int64_t v : rows) ASSERT_TRUE(filter.MayContain(HashInt(v))) << v;
}

template <>
struct Expect<BloomFilter> {
  static BloomFilter::Params Params() { return {BloomFilter::BlocksForItems(3000)}; }
  static BloomFilter::Params Unlike() { return {50}; }
  static void Says(const BloomFilter& s, const Rows& rows) { ExpectHoldsAll(s, rows); }
};

template <>
struct Expect<CuckooFilter> {
  static CuckooFilter::Params Params() { return {20000}; }
  static CuckooFilter::Params Unlike() { return {20001}; }
  static void Says(const CuckooFilter& s, const Rows& rows) { ExpectHoldsAll(s, rows); }
};

template <>
struct Expect<FuseFilter> {
  static FuseFilter::Params Params() { return {8}; }
  static FuseFilter::Params Unlike() { return {16}; }
  static void Says(const FuseFilter& s, const Rows& rows) {
    EXPECT_EQ(s.size(), std::set<int64_t>(rows.begin(), rows.end()).size());
    FuseFilter sealed = s;
    ASSERT_TRUE(sealed.Seal().ok());
    ExpectHoldsAll(sealed, rows);
  }
};

template <>
struct Expect<CountMin> {
  static CountMin::Params Params() { return {1000, 4, false, 0}; }
  static CountMin::Params Unlike() { return {1000, 4, true, 0}; }
  static void Says(const CountMin& s, const Rows& rows) {
    std::map<int64_t, double> counts;
    for (int64_t v : rows) ++counts[v];
    EXPECT_EQ(s.total(), rows.size());
    double missed = 0;
    for (const auto& [v, n] : counts) {
      const Estimate e = s.Count(HashInt(v));
      ASSERT_GE(e.value, n);
      missed += e.low > n;
    }
    EXPECT_LE(missed, 0.05 * static_cast<double>(counts.size()) + 1);
  }
};

template <>
struct Expect<HeavyHitters> {
  static HeavyHitters::Params Params() { return {256, 0}; }
  static HeavyHitters::Params Unlike() { return {256, 9}; }
  static void Says(const HeavyHitters& s, const Rows& rows) {
    std::map<int64_t, uint64_t> counts;
    for (int64_t v : rows) ++counts[v];
    EXPECT_EQ(s.total(), rows.size());
    EXPECT_LE(s.error(), rows.size() / 129);
    if (counts.size() <= 256) {
      EXPECT_EQ(s.error(), 0u);
    }
    for (const auto& item : s.Top(~0ull)) {
      const auto value = ParseHashBytes(item.hash_bytes);
      ASSERT_TRUE(value);
      const uint64_t n = counts[static_cast<int64_t>(value->value.as_int())];
      ASSERT_LE(item.low, n);
      ASSERT_GE(item.high, n);
      counts.erase(static_cast<int64_t>(value->value.as_int()));
    }
    for (const auto& [v, n] : counts) ASSERT_LE(n, s.error()) << v << " is not among the top";
  }
};

template <>
struct Expect<MinHash> {
  static MinHash::Params Params() { return {128, 0}; }
  static MinHash::Params Unlike() { return {128, 1}; }
  static void Says(const MinHash& s, const Rows& rows) {
    const double n = static_cast<double>(std::set<int64_t>(rows.begin(), rows.end()).size());
    EXPECT_NEAR(s.Count().value, n, n < 128 ? 0 : n * 5 / std::sqrt(126));
  }
};

template <>
struct Expect<Kll> {
  static Kll::Params Params() { return {200, Kll::Kind::kFloat, 0}; }
  static Kll::Params Unlike() { return {200, Kll::Kind::kInt, 0}; }
  static void Says(const Kll& s, Rows rows) {
    std::sort(rows.begin(), rows.end());
    ASSERT_EQ(s.count(), rows.size());
    if (rows.empty()) return;
    for (double q : {0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0}) {
      const double v = s.Quantile(q).ValueOrDie().value;
      EXPECT_LE(RankMiss(rows, v, q), 1.5 * s.RankError() + 1e-9) << q << " of " << rows.size();
      EXPECT_LE(RankMiss(rows, v, s.RankOfKey(KeyOf(v))), 1.5 * s.RankError() + 1e-9);
    }
    EXPECT_EQ(s.Quantile(0).ValueOrDie().value, static_cast<double>(rows.front()));
    EXPECT_EQ(s.Quantile(1).ValueOrDie().value, static_cast<double>(rows.back()));
  }
};

template <>
struct Expect<TDigest> {
  static TDigest::Params Params() { return {200}; }
  static TDigest::Params Unlike() { return {100}; }
  static void Says(const TDigest& s, Rows rows) {
    std::sort(rows.begin(), rows.end());
    ASSERT_EQ(s.count(), rows.size());
    if (rows.empty()) return;
    for (double q : {0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0}) {
      const double v = s.ValueAtRank(q).ValueOrDie();
      // Between two values of the rows any answer is right; a mean of whole numbers need not be one.
      const double miss = std::min(RankMiss(rows, std::floor(v), q), RankMiss(rows, std::ceil(v), q));
      EXPECT_LE(miss, 1.5 * s.RankError(q) + 1 / static_cast<double>(rows.size())) << q << " of " << rows.size();
    }
    EXPECT_EQ(s.ValueAtRank(0).ValueOrDie(), static_cast<double>(rows.front()));
    EXPECT_EQ(s.ValueAtRank(1).ValueOrDie(), static_cast<double>(rows.back()));
  }
};

template <>
struct Expect<Moments> {
  static Moments::Params Params() { return {Domain::kInt, 0}; }
  static Moments::Params Unlike() { return {Domain::kFloat, 0}; }
  static void Says(const Moments& s, const Rows& rows) {
    EXPECT_EQ(s.count(), rows.size());
    if (rows.empty()) return;
    Int128 sum = 0;
    for (int64_t v : rows) sum += v;
    EXPECT_TRUE(s.sum()->as_int() == sum);
    EXPECT_TRUE(s.min()->as_int() == *std::min_element(rows.begin(), rows.end()));
    EXPECT_TRUE(s.max()->as_int() == *std::max_element(rows.begin(), rows.end()));
  }
};

template <typename S>
S EmptySketch() {
  return S::Empty(Expect<S>::Params()).ValueOrDie();
}

template <typename S>
S SketchOf(const std::shared_ptr<arrow::Array>& array) {
  S out = EmptySketch<S>();
  EXPECT_TRUE(out.Update(*array).ok());
  return out;
}

template <typename S>
S Sum(S a, const S& b) {
  EXPECT_TRUE(a.Merge(b).ok());
  return a;
}

using AllSketches =
    testing::Types<Hll, BloomFilter, CuckooFilter, FuseFilter, CountMin, HeavyHitters, MinHash, Kll, TDigest, Moments>;

}  // namespace pilum
