// A dataset of small parts, and work on it through a store of which each call in turn fails, dies or hangs.
#pragma once

#include <gtest/gtest.h>

#include "tests/faults/fault_store.h"
#include "tests/faults/store_rows.h"

namespace pilum::testing {

// 700 rows, ids from 0, in six puts; its store tells the time that the test says.
struct World {
  std::shared_ptr<StoreTime> now = std::make_shared<StoreTime>(std::chrono::hours(24 * 365 * 50));
  std::shared_ptr<ObjectStore> store = ObjectStore::Memory("memory:", [now = now] { return *now; });
  static constexpr int64_t kRows = 700;

  World() { PutAll(kRows); }
  // What was put, again; all of it is there if `fresh` is 0.
  void PutAll(uint64_t fresh) {
    uint64_t already = 0;
    for (int64_t i = 0; i < 4; ++i) already += Put(store, Rows(i * 100, 100), {}).ValueOrDie().rows_already_there;
    already +=
        Put(store, Rows(400, 200), {.batch_id = "b1", .target_part_bytes = 3000}).ValueOrDie().rows_already_there;
    already += Put(store, Rows(600, 100), {.batch_id = "b2"}).ValueOrDie().rows_already_there;
    EXPECT_EQ(already + fresh, uint64_t{kRows});
  }
  void ExpectAllOnce(const std::string& what) const { ExpectAllOnceIn(store, what); }
  static void ExpectAllOnceIn(const std::shared_ptr<ObjectStore>& store, const std::string& what) {
    const auto ids = Ids(store);
    ASSERT_EQ(ids.size(), size_t{kRows}) << what;
    for (int64_t i = 0; i < kRows; ++i) ASSERT_EQ(ids[i], i) << what;
  }
  size_t Count(const std::string& folder) const { return store->List("d/" + folder).ValueOrDie().size(); }
};

inline const CompactOptions kCompact{.target_rows = 1000, .all = true};

// Makes a world of its own for each call of `work`, and that call fail: before it does anything or after it did all, alone or
// with all that follow. `after` looks at what is left.
//   prepare(World&); Status work(const World&, shared_ptr<ObjectStore> faulty); after(World&, what, Status of the work)
template <typename Prepare, typename Work, typename After>
void AtEveryCall(Prepare prepare, Work work, After after, uint64_t least_failures = 6) {
  for (FaultKind kind : {FaultKind::kBefore, FaultKind::kAfter}) {
    for (bool dies : {false, true}) {
      uint64_t failed = 0;
      for (uint64_t n = 0;; ++n) {
        World world;
        prepare(world);
        auto plan = std::make_shared<FaultPlan>();
        plan->fail_at = n;
        plan->kind = kind;
        plan->dies = dies;
        const Status done = work(world, std::make_shared<FaultStore>(world.store, plan));
        failed += !done.ok();
        const std::string what = "call " + std::to_string(n) + " " +
                                 plan->log[std::min<size_t>(n, plan->log.size() - 1)] + (dies ? ", dead" : "") +
                                 (kind == FaultKind::kAfter ? ", done and lost" : "");
        after(world, what, done);
        if (::testing::Test::HasFatalFailure()) return;
        if (plan->calls <= n) break;
      }
      EXPECT_GE(failed, least_failures);
    }
  }
}

// Makes each call of `work` hang in turn, and runs `others(World&, what)` meanwhile.
template <typename Prepare, typename Work, typename Others, typename After>
void HangingAtEveryCall(Prepare prepare, Work work, Others others, After after) {
  for (uint64_t n = 0;; ++n) {
    World world;
    prepare(world);
    auto plan = std::make_shared<FaultPlan>();
    std::string what = "call " + std::to_string(n);
    plan->before = [&](uint64_t call) {
      if (call != n) return;
      what += " " + plan->log.back() + ", hanging";
      others(world, what);
    };
    const Status done = work(world, std::make_shared<FaultStore>(world.store, plan));
    if (plan->calls <= n) break;
    after(world, what, done);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// What others do meanwhile: merge all, and sweep twice.
inline void MergeAndSweep(World& world, const std::string& what) {
  *world.now += std::chrono::hours(1);
  ASSERT_TRUE(Compact(world.store, kCompact).ok()) << what;
  *world.now += std::chrono::hours(1);
  ASSERT_TRUE(Sweep(world.store, std::chrono::seconds(2)).ok()) << what;
  *world.now += std::chrono::hours(1);
  ASSERT_TRUE(Sweep(world.store, std::chrono::seconds(2)).ok()) << what;
}

}  // namespace pilum::testing
