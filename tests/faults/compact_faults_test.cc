// Compaction and sweep over a store that fails, dies or hangs at the n-th call, for every n: each acknowledged row counts
// exactly once at every listing, retried puts add nothing, and the next compaction ends what was left.
#include <gtest/gtest.h>

#include "tests/faults/fault_store.h"
#include "tests/faults/store_rows.h"

namespace pilum::testing {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

// A dataset of small parts whose store tells the time that the test says.
struct World {
  std::shared_ptr<StoreTime> now = std::make_shared<StoreTime>(hours(24 * 365 * 50));
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
  void ExpectAllOnce(const std::string& what) const {
    const auto ids = Ids(store);
    ASSERT_EQ(ids.size(), size_t{kRows}) << what;
    for (int64_t i = 0; i < kRows; ++i) ASSERT_EQ(ids[i], i) << what;
  }
  size_t Count(const std::string& folder) const { return store->List("d/" + folder).ValueOrDie().size(); }
};

const CompactOptions kCompact{.target_rows = 1000, .all = true};

// Runs `work` over a store with each kind of fault at each call; `after` looks at what is left.
template <typename Work, typename After>
void AtEveryCall(bool compacted_before, Work work, After after) {
  for (FaultKind kind : {FaultKind::kBefore, FaultKind::kAfter}) {
    for (bool dies : {false, true}) {
      uint64_t failed = 0;
      for (uint64_t n = 0;; ++n) {
        World world;
        if (compacted_before) {
          ASSERT_TRUE(Compact(world.store, kCompact).ok());
          *world.now += seconds(10);
        }
        auto plan = std::make_shared<FaultPlan>();
        plan->fail_at = n;
        plan->kind = kind;
        plan->dies = dies;
        const Status done = work(std::make_shared<FaultStore>(world.store, plan));
        failed += !done.ok();
        const std::string what = "call " + std::to_string(n) + " " +
                                 plan->log[std::min<size_t>(n, plan->log.size() - 1)] + (dies ? ", dead" : "") +
                                 (kind == FaultKind::kAfter ? ", done and lost" : "");
        world.ExpectAllOnce(what);
        after(world, what);
        if (::testing::Test::HasFatalFailure()) return;
        if (plan->calls <= n) break;
      }
      EXPECT_GT(failed, 5u);
    }
  }
}

TEST(CompactFaults, CompactAtEveryCall) {
  AtEveryCall(
      false, [](const auto& store) { return Compact(store, kCompact).status(); },
      [](World& world, const std::string& what) {
        world.PutAll(0);
        world.ExpectAllOnce(what + ", put again");
        *world.now += hours(1);  // whoever planned is not coming back
        auto rest = Compact(world.store, kCompact);
        ASSERT_TRUE(rest.ok()) << what << ": " << rest.status().ToString();
        world.ExpectAllOnce(what + ", ended");
        *world.now += seconds(3);
        ASSERT_TRUE(Sweep(world.store, seconds(2)).ok()) << what;
        world.ExpectAllOnce(what + ", swept");
        EXPECT_EQ(world.Count("parts/"), 0u) << what;
        world.PutAll(0);
        world.ExpectAllOnce(what + ", swept and put again");
        ExpectSound(world.store, what);
      });
}

TEST(CompactFaults, SweepAtEveryCall) {
  AtEveryCall(
      true, [](const auto& store) { return Sweep(store, seconds(2)).status(); },
      [](World& world, const std::string& what) {
        world.PutAll(0);
        ASSERT_TRUE(Sweep(world.store, seconds(2)).ok()) << what;
        world.ExpectAllOnce(what + ", swept");
        EXPECT_EQ(world.Count("parts/"), 0u) << what;
        ExpectSound(world.store, what);
      });
}

// A compactor hangs at its n-th call for hours, while others take its plan over, sweep, put again; then it goes on.
TEST(CompactFaults, CompactHangsAtEveryCall) {
  for (uint64_t n = 0;; ++n) {
    World world;
    auto plan = std::make_shared<FaultPlan>();
    std::string what = "call " + std::to_string(n);
    plan->before = [&](uint64_t call) {
      if (call != n) return;
      what += " " + plan->log.back();
      *world.now += hours(1);
      ASSERT_TRUE(Compact(world.store, kCompact).ok()) << what;
      world.ExpectAllOnce(what + ", others");
      ASSERT_TRUE(Put(world.store, Rows(1000, 10), {.batch_id = "late"}).ok());
      ASSERT_TRUE(Compact(world.store, kCompact).ok()) << what;
      *world.now += hours(1);
      ASSERT_TRUE(Sweep(world.store, seconds(2)).ok()) << what;
      *world.now += hours(1);
      ASSERT_TRUE(Sweep(world.store, seconds(2)).ok()) << what;
      world.PutAll(0);
    };
    (void)Compact(std::make_shared<FaultStore>(world.store, plan), kCompact);  // it may find its work done by others
    if (plan->calls <= n) break;
    const auto ids = Ids(world.store);
    EXPECT_EQ(ids.size(), size_t{World::kRows} + 10) << what;
    EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end()) << what;
    *world.now += hours(1);
    ASSERT_TRUE(Sweep(world.store, seconds(2)).ok()) << what;
    EXPECT_EQ(Ids(world.store), ids) << what;
    ExpectSound(world.store, what);
    if (HasFatalFailure()) return;
  }
}

// A put hangs at its n-th call while what it puts was put by another, merged and swept: its rows still count once.
TEST(CompactFaults, PutHangsAtEveryCall) {
  for (const std::string batch : {"", "b9"}) {
    for (uint64_t n = 0;; ++n) {
      World world;
      const PutOptions options{.batch_id = batch};
      auto plan = std::make_shared<FaultPlan>();
      plan->before = [&](uint64_t call) {
        if (call != n) return;
        ASSERT_TRUE(Put(world.store, Rows(2000, 50), options).ok());
        ASSERT_TRUE(Compact(world.store, kCompact).ok());
        *world.now += hours(1);
        ASSERT_TRUE(Sweep(world.store, seconds(2)).ok());
      };
      auto late = Put(std::make_shared<FaultStore>(world.store, plan), Rows(2000, 50), options);
      const std::string what = "batch '" + batch + "' call " + std::to_string(n);
      ASSERT_TRUE(late.ok()) << what << ": " << late.status().ToString();
      const auto ids = Ids(world.store);
      EXPECT_EQ(ids.size(), size_t{World::kRows} + 50) << what;
      EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end()) << what;
      if (plan->calls <= n || HasFailure()) break;
    }
  }
}

}  // namespace
}  // namespace pilum::testing
