// The measured error of each sketch: the table of docs/formats/sketches.md.
//   sketch_errors [SEEDS_AT_100K [SEEDS_AT_10M]]      default 100 and 3; 1000 seeds at 1, 10 and 1000 values
// Every seed is run for each kind of values; rows are the table's, in Markdown. "bound" is what the sketch says of itself at
// the default params, with the confidence named. All answers of all seeds and kinds go into one row's percentiles.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <arrow/api.h>

#include "pilum/sketch/array_hash.h"
#include "pilum/sketch/bloom.h"
#include "pilum/sketch/count_min.h"
#include "pilum/sketch/cuckoo.h"
#include "pilum/sketch/fuse.h"
#include "pilum/sketch/heavy_hitters.h"
#include "pilum/sketch/hll.h"
#include "pilum/sketch/kll.h"
#include "pilum/sketch/min_hash.h"
#include "pilum/sketch/sort_keys.h"
#include "pilum/sketch/t_digest.h"
#include "pilum/sketch/value_hash.h"

namespace pilum {
namespace {

constexpr int64_t kChunk = 1 << 16;

void Must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();
}

template <typename Builder, typename F>
std::shared_ptr<arrow::Array> Chunk(int64_t n, F value) {
  Builder builder;
  for (int64_t i = 0; i < n; ++i) Must(builder.Append(value(i)));
  return builder.Finish().ValueOrDie();
}

// Calls f with arrays that hold n distinct values in all.
using Feed = std::function<void(const std::function<void(const arrow::Array&)>&)>;
Feed Distinct(int kind, int64_t n, uint64_t seed) {
  return [=](const std::function<void(const arrow::Array&)>& f) {
    std::mt19937_64 rng(seed);
    const int64_t base = static_cast<int64_t>(seed) * 100000007;
    for (int64_t at = 0; at < n; at += kChunk) {
      const int64_t m = std::min(kChunk, n - at);
      if (kind == 0) f(*Chunk<arrow::Int64Builder>(m, [&](int64_t i) { return base + at + i; }));
      if (kind == 1) f(*Chunk<arrow::Int64Builder>(m, [&](int64_t) { return static_cast<int64_t>(rng()); }));
      if (kind == 2) {
        f(*Chunk<arrow::StringBuilder>(m, [&](int64_t i) { return "user-" + std::to_string(base + at + i); }));
      }
      if (kind == 3) f(*Chunk<arrow::DoubleBuilder>(m, [&](int64_t i) { return static_cast<double>(base + at + i) / 8; }));
    }
  };
}

struct Samples {
  std::vector<double> errors;
  double bound = 0;
  void Add(double error) { errors.push_back(std::abs(error)); }
  std::string At(double q) {
    std::sort(errors.begin(), errors.end());
    const size_t n = errors.size(), i = std::min(n - 1, static_cast<size_t>(q * static_cast<double>(n)));
    char text[32];
    std::snprintf(text, sizeof(text), "%.4g %%", errors[i] * 100);
    return text;
  }
};

void Print(const char* what, int64_t n, int seeds, Samples s, const char* confidence) {
  std::printf("| %s | %lld | %d | %s | %s | %s | %.4g %% %s |\n", what, static_cast<long long>(n), seeds,
              s.At(0.5).c_str(), s.At(0.95).c_str(), s.At(0.999).c_str(), s.bound * 100, confidence);
  std::fflush(stdout);
}

template <typename S>
S Built(const typename S::Params& params, const Feed& feed) {
  S s = S::Empty(params).ValueOrDie();
  feed([&](const arrow::Array& a) { Must(s.Update(a)); });
  return s;
}

double RateOf(const std::function<void(std::span<const uint64_t>, uint8_t*)>& probe, uint64_t seed) {
  std::mt19937_64 rng(seed * 77 + 5);
  constexpr int kProbes = 200000;
  uint64_t hashes[1024], wrong = 0;
  uint8_t out[1024];
  for (int at = 0; at < kProbes; at += 1000) {
    for (int i = 0; i < 1000; ++i) hashes[i] = HashBinary(std::to_string(rng()));
    probe({hashes, 1000}, out);
    for (int i = 0; i < 1000; ++i) wrong += out[i];
  }
  return static_cast<double>(wrong) / kProbes;
}

void Distincts(int64_t n, int seeds) {
  Samples hll, min_hash, jaccard, bloom, cuckoo, fuse;
  const uint32_t capacity = static_cast<uint32_t>(std::max<int64_t>(n, 1024));
  const int filter_seeds = n > 1000 ? seeds : std::min(seeds, 50);
  for (int seed = 1; seed <= seeds; ++seed) {
    for (int kind = 0; kind < 4; ++kind) {
      const Feed feed = Distinct(kind, n, static_cast<uint64_t>(seed));
      const double truth = static_cast<double>(n);
      const Hll h = Built<Hll>({12, 0}, feed);
      hll.Add(h.Count().value / truth - 1);
      hll.bound = 1.96 * h.StandardError();
      const MinHash m = Built<MinHash>({}, feed);
      const Estimate e = m.Count();
      min_hash.Add(e.value / truth - 1);
      min_hash.bound = n < 256 ? 0 : 1.96 / std::sqrt(254.0);
      if (kind == 0) {  // the same numbers, and as many again from the middle on: Jaccard 1/3
        MinHash other = MinHash::Empty({}).ValueOrDie();
        Must(other.Merge(m));
        MinHash shifted = MinHash::Empty({}).ValueOrDie();
        const int64_t base = static_cast<int64_t>(seed) * 100000007 + n / 2;
        for (int64_t at = 0; at < n; at += kChunk) {
          Must(shifted.Update(
              *Chunk<arrow::Int64Builder>(std::min(kChunk, n - at), [&](int64_t i) { return base + at + i; })));
        }
        const double both = static_cast<double>(n - n / 2);
        jaccard.Add(m.Jaccard(shifted).ValueOrDie().value - both / (2 * truth - both));
        jaccard.bound = n < 256 / 2 ? 0 : 1.96 * std::sqrt(2.0 / 9 / 256);
      }
      if (seed > filter_seeds || (n > 1000000 && kind > 1)) continue;
      const auto rate = [&](const auto& f) {
        return RateOf([&](std::span<const uint64_t> x, uint8_t* out) { f.MayContain(x, out); },
                      static_cast<uint64_t>(seed));
      };
      bloom.Add(rate(Built<BloomFilter>({BloomFilter::BlocksForItems(static_cast<uint64_t>(n))}, feed)));
      cuckoo.Add(rate(Built<CuckooFilter>({capacity}, feed)));
      FuseFilter f = Built<FuseFilter>({8}, feed);
      Must(f.Seal());
      fuse.Add(rate(f));
    }
  }
  bloom.bound = 0.01, cuckoo.bound = 2 * 3.52 / 65535, fuse.bound = 1.0 / 256;
  Print("HLL p=12, count", n, seeds, hll, "(95 %)");
  Print("MinHash k=256, count", n, seeds, min_hash, "(95 %)");
  Print("MinHash k=256, Jaccard of 1/3", n, seeds, jaccard, "(95 %)");
  Print("Bloom, rate of wrong yes", n, filter_seeds, bloom, "(mean)");
  Print("Cuckoo, rate of wrong yes", n, filter_seeds, cuckoo, "(mean)");
  Print("Fuse bits=8, rate of wrong yes", n, filter_seeds, fuse, "(mean)");
}

// n rows of a Zipf-like column: value v about 1 / v as often as value 1.
std::shared_ptr<arrow::Array> Skewed(int64_t n, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> u(0, 1);
  const double top = std::log(static_cast<double>(n) + 1);
  return Chunk<arrow::Int64Builder>(n, [&](int64_t) { return static_cast<int64_t>(std::exp(u(rng) * top)); });
}

void Counts(int64_t n, int seeds) {
  Samples plain, conservative, merged, heavy;
  const double rows = static_cast<double>(n);
  for (int seed = 1; seed <= seeds; ++seed) {
    const auto array = Skewed(n, static_cast<uint64_t>(seed));
    const auto& values = static_cast<const arrow::Int64Array&>(*array);
    std::vector<int64_t> sorted(values.raw_values(), values.raw_values() + n);
    std::sort(sorted.begin(), sorted.end());
    const Feed feed = [&](const std::function<void(const arrow::Array&)>& f) { f(*array); };
    const CountMin a = Built<CountMin>({}, feed), b = Built<CountMin>({2048, 5, true, 0}, feed);
    CountMin c = CountMin::Empty({2048, 5, true, 0}).ValueOrDie(), part = c;
    Must(c.Update(*array->Slice(0, n / 2)));
    Must(part.Update(*array->Slice(n / 2)));
    Must(c.Merge(part));
    int64_t asked = 0;
    for (auto at = sorted.begin(); at != sorted.end() && asked < 3000; ++asked) {
      const auto end = std::upper_bound(at, sorted.end(), *at);
      const double truth = static_cast<double>(end - at);
      plain.Add((a.Count(HashInt(*at)).value - truth) / rows);
      conservative.Add((b.Count(HashInt(*at)).value - truth) / rows);
      merged.Add((c.Count(HashInt(*at)).value - truth) / rows);
      at = end;
    }
    const HeavyHitters h = Built<HeavyHitters>({}, feed);
    for (const auto& item : h.Top(50)) {
      const int64_t v = static_cast<int64_t>(ParseHashBytes(item.hash_bytes)->value.as_int());
      const auto range = std::equal_range(sorted.begin(), sorted.end(), v);
      heavy.Add((static_cast<double>(range.second - range.first) - static_cast<double>(item.low)) / rows);
    }
  }
  plain.bound = conservative.bound = merged.bound = std::exp(1.0) / 2048;
  heavy.bound = 1.0 / 129;
  Print("CountMin 2048 x 5, share of rows too many", n, seeds, plain, "(99.3 %)");
  Print("CountMin conservative, one sketch", n, seeds, conservative, "(99.3 %)");
  Print("CountMin conservative, two merged", n, seeds, merged, "(99.3 %)");
  Print("HeavyHitters capacity=256, top 50, share of rows too few", n, seeds, heavy, "(always)");
}

std::vector<double> Quantities(int kind, int64_t n, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> normal;
  std::vector<double> out(static_cast<size_t>(n));
  for (double& v : out) v = kind == 1 ? normal(rng) : kind == 2 ? std::exp(3 * normal(rng)) : uniform(rng);
  if (kind == 4) {  // whole numbers that repeat
    for (double& v : out) v = std::floor(v * v * 500);
  }
  if (kind == 3) std::sort(out.begin(), out.end());
  return out;
}

// The share of the rows between the answer and the place q.
double RankMiss(const std::vector<double>& sorted, double v, double q) {
  const double n = static_cast<double>(sorted.size());
  const double low = static_cast<double>(std::lower_bound(sorted.begin(), sorted.end(), v) - sorted.begin()) / n;
  const double high = static_cast<double>(std::upper_bound(sorted.begin(), sorted.end(), v) - sorted.begin()) / n;
  return q < low ? low - q : q > high ? q - high : 0;
}

void Quantiles(int64_t n, int seeds) {
  constexpr double kPlaces[] = {0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999};
  Samples kll, kll_merged, middle, ends, digest_merged;
  for (int seed = 1; seed <= seeds; ++seed) {
    for (int kind = 0; kind < 5; ++kind) {
      std::vector<double> values = Quantities(kind, n, static_cast<uint64_t>(seed));
      const auto array = Chunk<arrow::DoubleBuilder>(n, [&](int64_t i) { return values[static_cast<size_t>(i)]; });
      std::sort(values.begin(), values.end());
      const Feed whole = [&](const std::function<void(const arrow::Array&)>& f) { f(*array); };
      Kll a = Built<Kll>({}, whole), b = Kll::Empty({}).ValueOrDie();
      TDigest c = Built<TDigest>({}, whole), d = TDigest::Empty({}).ValueOrDie();
      for (int64_t part = 0; part < 10; ++part) {
        const auto slice = array->Slice(n * part / 10, n * (part + 1) / 10 - n * part / 10);
        const Feed feed = [&](const std::function<void(const arrow::Array&)>& f) { f(*slice); };
        Must(b.Merge(Built<Kll>({}, feed)));
        Must(d.Merge(Built<TDigest>({}, feed)));
      }
      for (double q : kPlaces) {
        kll.Add(RankMiss(values, a.Quantile(q).ValueOrDie().value, q));
        kll_merged.Add(RankMiss(values, b.Quantile(q).ValueOrDie().value, q));
        const auto digest_miss = [&](const TDigest& t) {  // between two values of the column any answer is right
          const double v = t.ValueAtRank(q).ValueOrDie();
          if (kind < 4) return RankMiss(values, v, q);
          return std::min(RankMiss(values, std::floor(v), q), RankMiss(values, std::ceil(v), q));
        };
        const double miss = digest_miss(c);
        if (q == 0.5) middle.Add(miss);
        if (q == 0.001 || q == 0.999) ends.Add(miss);
        if (q == 0.5) digest_merged.Add(digest_miss(d));
      }
      kll.bound = kll_merged.bound = a.RankError();
      middle.bound = digest_merged.bound = c.RankError(0.5);
      ends.bound = c.RankError(0.001);
    }
  }
  Print("KLL k=200, rank", n, seeds, kll, "(99 %)");
  Print("KLL k=200, rank, 10 parts merged", n, seeds, kll_merged, "(99 %)");
  Print("TDigest delta=200, rank at 0.5", n, seeds, middle, "(99 %)");
  Print("TDigest delta=200, rank at 0.5, 10 parts merged", n, seeds, digest_merged, "(99 %)");
  Print("TDigest delta=200, rank at 0.001 and 0.999", n, seeds, ends, "(99 %)");
}

}  // namespace
}  // namespace pilum

int main(int argc, char** argv) {
  const int middle = argc > 1 ? std::atoi(argv[1]) : 100, most = argc > 2 ? std::atoi(argv[2]) : 3;
  std::printf("| sketch | values | seeds | 50th | 95th | 99.9th | bound |\n|---|---|---|---|---|---|---|\n");
  const std::vector<std::pair<int64_t, int>> sizes = {{1, 1000}, {10, 1000}, {1000, 1000}, {100000, middle}, {10000000, most}};
  for (const auto& [n, seeds] : sizes) pilum::Distincts(n, seeds);
  for (const auto& [n, seeds] : sizes) pilum::Counts(n, seeds);
  for (const auto& [n, seeds] : sizes) pilum::Quantiles(n, seeds);
}
