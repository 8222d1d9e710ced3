// How fast each sketch is, in nanoseconds of CPU a value, ours and (where built with its headers) datasketches' in turns:
//   sketch_speed [ROWS] [TURNS]       a JSON line a job: ours, theirs, ratio theirs / ours (above 1: ours is faster), goal.
// Medians of the turns; goals are ratios, or nanoseconds where there is no peer. One thread.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <random>

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
#include "pilum/sketch/t_digest.h"
#include "pilum/sketch/value_hash.h"

#ifdef PILUM_HAS_DATASKETCHES
#include <hll.hpp>
#include <kll_sketch.hpp>
#include <tdigest.hpp>
#endif

namespace pilum {
namespace {

double CpuNow() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

int turns = 7;
volatile uint64_t sink;

using Work = std::function<void()>;

double Seconds(const Work& work) {
  const double begin = CpuNow();
  work();
  return CpuNow() - begin;
}

double Median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// per: how many of what the time is divided by. goal: of the ratio, or (theirs empty) of our nanoseconds.
void Job(const char* name, double per, const Work& ours, const Work& theirs, double goal) {
  std::vector<double> a, b;
  ours();
  if (theirs) theirs();
  for (int i = 0; i < turns; ++i) {
    a.push_back(Seconds(ours) / per * 1e9);
    if (theirs) b.push_back(Seconds(theirs) / per * 1e9);
  }
  std::printf("{\"race\": \"sketch_speed\", \"job\": \"%s\", \"ns\": %.3f", name, Median(a));
  if (theirs) {
    const double ratio = Median(b) / Median(a);
    std::printf(", \"peer\": \"datasketches\", \"peer_ns\": %.3f, \"ratio\": %.2f, \"goal_ratio\": %g, \"met\": %s",
                Median(b), ratio, goal, ratio >= goal ? "true" : "false");
  } else if (goal > 0) {
    std::printf(", \"goal_ns\": %g, \"met\": %s", goal, Median(a) <= goal ? "true" : "false");
  }
  std::printf("}\n");
  std::fflush(stdout);
}

template <typename S>
Work Updating(const typename S::Params& params, const std::shared_ptr<arrow::Array>& array) {
  return [=] {
    S s = S::Empty(params).ValueOrDie();
    if (!s.Update(*array).ok()) std::abort();
    sink = s.ToBytes().size();
  };
}

template <typename S>
void MergeAndDecode(const char* name, const S& a, const S& b) {
  const std::string bytes = a.ToBytes();
  constexpr int kTimes = 200;
  Job((std::string(name) + " merge").c_str(), kTimes, [&] {
    for (int i = 0; i < kTimes; ++i) {
      S c = a;
      if (!c.Merge(b).ok()) std::abort();
    }
  }, {}, 1e5);
  Job((std::string(name) + " decode").c_str(), kTimes, [&] {
    for (int i = 0; i < kTimes; ++i) sink = S::FromBytes(bytes, "x").ok();
  }, {}, 1e5);
}

void Race(int64_t rows) {
  std::mt19937_64 rng(1);
  arrow::Int64Builder ints;
  arrow::DoubleBuilder doubles;
  arrow::StringBuilder strings;
  std::normal_distribution<double> normal;
  const int64_t text_rows = rows / 4;
  for (int64_t i = 0; i < rows; ++i) {
    if (!ints.Append(static_cast<int64_t>(rng())).ok() || !doubles.Append(normal(rng)).ok()) std::abort();
  }
  for (int64_t i = 0; i < text_rows; ++i) {
    char text[65];
    std::snprintf(text, sizeof(text), "%016llx%016llx%016llx%016llx", static_cast<unsigned long long>(rng()),
                  static_cast<unsigned long long>(rng()), static_cast<unsigned long long>(rng()),
                  static_cast<unsigned long long>(rng()));
    if (!strings.Append(text, 64).ok()) std::abort();
  }
  const auto int_array = ints.Finish().ValueOrDie(), double_array = doubles.Finish().ValueOrDie(),
             text_array = strings.Finish().ValueOrDie();
  const double n = static_cast<double>(rows), m = static_cast<double>(text_rows);
  Work none, hll_ints, hll_texts, kll, digest;
#ifdef PILUM_HAS_DATASKETCHES
  const auto* raw_ints = static_cast<const arrow::Int64Array&>(*int_array).raw_values();
  const auto* raw = static_cast<const arrow::DoubleArray&>(*double_array).raw_values();
  hll_ints = [=] {
    datasketches::hll_sketch s(12, datasketches::HLL_8);
    for (int64_t i = 0; i < rows; ++i) s.update(raw_ints[i]);
    sink = static_cast<uint64_t>(s.get_estimate());
  };
  hll_texts = [=] {
    datasketches::hll_sketch s(12, datasketches::HLL_8);
    const auto& a = static_cast<const arrow::StringArray&>(*text_array);
    for (int64_t i = 0; i < a.length(); ++i) s.update(a.GetView(i).data(), a.GetView(i).size());
    sink = static_cast<uint64_t>(s.get_estimate());
  };
  kll = [=] {
    datasketches::kll_sketch<double> s(200);
    for (int64_t i = 0; i < rows; ++i) s.update(raw[i]);
    sink = s.get_num_retained();
  };
  digest = [=] {
    datasketches::tdigest<double> s(200);
    for (int64_t i = 0; i < rows; ++i) s.update(raw[i]);
    sink = s.serialize().size();
  };
#endif
  Job("HLL update int64", n, Updating<Hll>({12, 0}, int_array), hll_ints, hll_ints ? 1 : 0);
  Job("HLL update 64-byte text", m, Updating<Hll>({12, 0}, text_array), hll_texts, hll_texts ? 1 : 0);
  Job("KLL update double", n, Updating<Kll>({}, double_array), kll, kll ? 2 : 0);
  Job("TDigest update double", n, Updating<TDigest>({}, double_array), digest, digest ? 2 : 0);
  Job("Moments update double", n, Updating<Moments>({Domain::kFloat, 0}, double_array), none, 0);
  Job("Moments update int64", n, Updating<Moments>({Domain::kInt, 0}, int_array), none, 0);
  Job("MinHash update int64", n, Updating<MinHash>({}, int_array), none, 0);
  Job("CountMin update int64", n, Updating<CountMin>({}, int_array), none, 0);
  Job("HeavyHitters update int64, all distinct", n, Updating<HeavyHitters>({}, int_array), none, 0);

  std::vector<uint64_t> hashes(200000), absent(4096), few(hashes.begin(), hashes.end());
  for (uint64_t& h : hashes) h = rng();
  for (uint64_t& h : absent) h = rng();
  BloomFilter bloom = BloomFilter::ForItems(10000);
  bloom.Insert(std::span<const uint64_t>(hashes).first(10000));
  CuckooFilter cuckoo = CuckooFilter::Empty({10000}).ValueOrDie();
  FuseFilter fuse = FuseFilter::Empty({}).ValueOrDie();
  for (size_t i = 0; i < 10000; ++i) {
    if (!cuckoo.Insert(hashes[i]).ok() || !fuse.Insert(hashes[i]).ok()) std::abort();
  }
  if (!fuse.Seal().ok()) std::abort();
  std::vector<uint8_t> out(absent.size());
  const auto probe = [&](const char* name, const auto& filter, double goal) {
    Job(name, 100.0 * static_cast<double>(absent.size()), [&] {
      for (int i = 0; i < 100; ++i) filter.MayContain(absent, out.data());
      sink = out[0];
    }, {}, goal);
  };
  probe("Bloom probe, 13 KB", bloom, 5);
  probe("Cuckoo probe, 23 KB", cuckoo, 0);
  probe("Fuse probe, 12 KB", fuse, 0);

  const auto half = [&](const std::shared_ptr<arrow::Array>& a, int which) { return a->Slice(which * rows / 2, rows / 2); };
  const auto both = [&]<typename S>(const char* name, const typename S::Params& params, const auto& array) {
    S a = S::Empty(params).ValueOrDie(), b = a;
    if (!a.Update(*half(array, 0)).ok() || !b.Update(*half(array, 1)).ok()) std::abort();
    MergeAndDecode(name, a, b);
  };
  both.template operator()<Hll>("HLL", {12, 0}, int_array);
  both.template operator()<Kll>("KLL", {}, double_array);
  both.template operator()<TDigest>("TDigest", {}, double_array);
  both.template operator()<MinHash>("MinHash", {}, int_array);
  both.template operator()<CountMin>("CountMin", {}, int_array);
  both.template operator()<HeavyHitters>("HeavyHitters", {}, int_array);
  both.template operator()<Moments>("Moments", {Domain::kFloat, 0}, double_array);
}

}  // namespace
}  // namespace pilum

int main(int argc, char** argv) {
  if (argc > 2) pilum::turns = std::atoi(argv[2]);
  pilum::Race(argc > 1 ? std::atoll(argv[1]) : 2000000);
}
