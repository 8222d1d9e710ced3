// 4 writers, 4 compactors, 2 who bundle and a sweeper on one store, with a pause at any call: at each listing every acknowledged row
// counts exactly once, and nothing is there that nobody put.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "tests/faults/fault_store.h"
#include "tests/faults/store_rows.h"
#include "tests/support/budget.h"

namespace pilum::testing {
namespace {

test::Budget budget;

using namespace std::chrono_literals;

class Race {
 public:
  explicit Race(uint64_t seed) : seed_(seed) {}

  // Work over and over by `threads` threads until Stop.
  template <typename F>
  void Run(F work, int threads) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this, work, id = next_id_++] {
        for (uint64_t k = 0; !stop_; ++k) work(id * 1'000'000 + k);
      });
    }
  }
  void Stop() {
    stop_ = true;
    threads_.clear();
  }

  // The store through which a worker's every call may take its time.
  std::shared_ptr<ObjectStore> Slow(uint64_t seed) const {
    auto plan = std::make_shared<FaultPlan>();
    auto random = std::make_shared<std::mt19937_64>(seed_ + seed);
    plan->before = [random](uint64_t) {
      const uint64_t r = (*random)() % 64;
      if (r == 0) std::this_thread::sleep_for(60ms);  // longer than the sweeper's grace
      if (r < 8) std::this_thread::sleep_for(std::chrono::microseconds((*random)() % 4000));
    };
    return std::make_shared<FaultStore>(store_, plan);
  }

  void WriteOne(uint64_t seed) {
    std::mt19937_64 random(seed_ ^ seed);
    const int64_t first = static_cast<int64_t>(next_row_.fetch_add(100)), n = 1 + static_cast<int64_t>(random() % 100);
    PutOptions options{.target_part_bytes = 1500};
    if (random() % 2) options.batch_id = "b" + std::to_string(first);
    Note(&tried_, first, n);
    // Now and then twice at once, cut differently: as two versions would.
    std::jthread twin;
    if (!options.batch_id.empty() && random() % 4 == 0) {
      twin = std::jthread([=, this] {
        auto other = options;
        other.target_part_bytes = 700;
        EXPECT_TRUE(Put(Slow(seed + 1), Rows(first, n), other).ok());
      });
    }
    const auto done = Put(Slow(seed), Rows(first, n), options);
    ASSERT_TRUE(done.ok()) << done.status().ToString();
    Note(&acknowledged_, first, n);
    if (random() % 3 == 0) ASSERT_TRUE(Put(Slow(seed), Rows(first, n), options).ok());
  }

  void CompactOne(uint64_t seed) {
    constexpr uint64_t kTargets[] = {50, 400, 100'000};
    const auto done = Compact(Slow(seed), {.target_rows = kTargets[seed % 3], .all = seed % 2 == 0});
    if (!done.ok()) ASSERT_EQ(KindOf(done.status()), ErrorKind::kNotFound) << done.status().ToString();
  }

  void SweepOne(uint64_t seed) {
    const auto done = Sweep(Slow(seed), 40ms);
    ASSERT_TRUE(done.ok() || KindOf(done.status()) == ErrorKind::kNotFound) << done.status().ToString();
    swept_ += done.ok() ? done->parts : 0;
  }

  void MaintainOne(uint64_t seed) {
    auto parts = PartStore::OpenIn(Slow(seed), "d").ValueOrDie();
    ReadContext ctx;
    const auto done = parts->Maintain({seed % 4 == 0}, ctx);
    if (!done.ok()) ASSERT_EQ(KindOf(done.status()), ErrorKind::kNotFound) << done.status().ToString();
    if (done.ok()) bundled_ += done->caches[0].written;
  }

  // One listing: the rows acknowledged before it began are all there, once; all that are there were put. False: a part went
  // before it was read, as readers of a grace this short must expect.
  bool Look(bool use_index) {
    const std::set<int64_t> must = Get(&acknowledged_);
    const auto ids = TryIds(store_, use_index);
    if (!ids.ok()) {
      EXPECT_EQ(KindOf(ids.status()), ErrorKind::kNotFound) << ids.status().ToString();
      return false;
    }
    const std::set<int64_t> may = Get(&tried_), got(ids->begin(), ids->end());
    EXPECT_EQ(got.size(), ids->size()) << "rows count twice";
    EXPECT_TRUE(std::includes(got.begin(), got.end(), must.begin(), must.end())) << "acknowledged rows are missing";
    EXPECT_TRUE(std::includes(may.begin(), may.end(), got.begin(), got.end())) << "rows that nobody put";
    return true;
  }

  uint64_t swept() const { return swept_; }
  uint64_t bundled() const { return bundled_; }
  std::shared_ptr<ObjectStore> store() const { return store_; }

 private:
  void Note(std::set<int64_t>* set, int64_t first, int64_t n) {
    std::lock_guard lock(mutex_);
    for (int64_t i = first; i < first + n; ++i) set->insert(i);
  }
  std::set<int64_t> Get(const std::set<int64_t>* set) {
    std::lock_guard lock(mutex_);
    return *set;
  }

  const uint64_t seed_;
  const std::shared_ptr<ObjectStore> store_ = ObjectStore::Memory();
  std::mutex mutex_;
  std::set<int64_t> tried_, acknowledged_;
  std::atomic<uint64_t> next_row_{0}, swept_{0}, bundled_{0};
  std::atomic<bool> stop_{false};
  uint64_t next_id_ = 1;
  std::vector<std::jthread> threads_;
};

TEST(StoreRace, EveryAcknowledgedRowCountsOnce) {
  const uint64_t seed = budget.seed;
  const auto start = std::chrono::steady_clock::now();
  Race race(seed);
  race.Run([&](uint64_t s) { race.WriteOne(s); }, 4);
  race.Run([&](uint64_t s) { race.CompactOne(s); }, 4);
  race.Run([&](uint64_t s) { race.SweepOne(s); }, 1);
  race.Run([&](uint64_t s) { race.MaintainOne(s); }, 2);
  uint64_t looks = 0, again = 0;
  while (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(budget.seconds) &&
         !::testing::Test::HasFailure()) {
    (race.Look(looks % 2 == 0) ? looks : again)++;
  }
  race.Stop();
  EXPECT_TRUE(race.Look(true));
  const auto before = Ids(race.store());
  ASSERT_TRUE(Compact(race.store(), {.all = true}).ok());
  std::this_thread::sleep_for(50ms);
  ASSERT_TRUE(Sweep(race.store(), 40ms).ok());
  EXPECT_EQ(Ids(race.store()), before);
  // A put that took longer than the grace may have lost its sidecars to the sweep: that costs scans, and is all that may be.
  auto parts = PartStore::OpenIn(race.store(), "d").ValueOrDie();
  ReadContext ctx;
  const auto found = parts->Check(ctx).ValueOrDie();
  for (const Status& fault : found.faults) {
    EXPECT_NE(fault.message().find("missing; queries scan"), std::string::npos) << fault.ToString();
  }
  EXPECT_GT(looks, 3u);
  EXPECT_GT(race.swept(), 0u);
  std::printf("race: %llu listings, %llu had to list again, %zu rows, %llu parts swept, seed %llu\n",
              static_cast<unsigned long long>(looks), static_cast<unsigned long long>(again), before.size(),
              static_cast<unsigned long long>(race.swept()), static_cast<unsigned long long>(seed));
}

}  // namespace

void ParseBudget(int argc, char** argv) { budget.Parse(argc, argv); }

}  // namespace pilum::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  pilum::testing::ParseBudget(argc, argv);
  return RUN_ALL_TESTS();
}
