// Compaction and sweep over a store that fails, dies or hangs at the n-th call, for every n: each acknowledged row counts
// exactly once at every listing, retried puts add nothing, and the next compaction ends what was left.
#include <gtest/gtest.h>

#include "tests/faults/every_call.h"

namespace pilum::testing {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

void Nothing(World&) {}
void CompactFirst(World& world) {
  ASSERT_TRUE(Compact(world.store, kCompact).ok());
  *world.now += seconds(10);
}

TEST(CompactFaults, CompactAtEveryCall) {
  AtEveryCall(
      Nothing, [](const World&, const auto& store) { return Compact(store, kCompact).status(); },
      [](World& world, const std::string& what, const Status&) {
        world.ExpectAllOnce(what);
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
      CompactFirst, [](const World&, const auto& store) { return Sweep(store, seconds(2)).status(); },
      [](World& world, const std::string& what, const Status&) {
        world.ExpectAllOnce(what);
        world.PutAll(0);
        ASSERT_TRUE(Sweep(world.store, seconds(2)).ok()) << what;
        world.ExpectAllOnce(what + ", swept");
        EXPECT_EQ(world.Count("parts/"), 0u) << what;
        ExpectSound(world.store, what);
      });
}

// A compactor hangs at its n-th call for hours, while others take its plan over, sweep, put again; then it goes on.
TEST(CompactFaults, CompactHangsAtEveryCall) {
  HangingAtEveryCall(
      Nothing, [](const World&, const auto& store) { return Compact(store, kCompact).status(); },
      [](World& world, const std::string& what) {
        *world.now += hours(1);
        ASSERT_TRUE(Compact(world.store, kCompact).ok()) << what;
        world.ExpectAllOnce(what + ", others");
        ASSERT_TRUE(Put(world.store, Rows(1000, 10), {.batch_id = "late"}).ok());
        MergeAndSweep(world, what);
        world.PutAll(0);
      },
      [](World& world, const std::string& what, const Status&) {  // it may find its work done by others
        const auto ids = Ids(world.store);
        EXPECT_EQ(ids.size(), size_t{World::kRows} + 10) << what;
        EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end()) << what;
        *world.now += hours(1);
        ASSERT_TRUE(Sweep(world.store, seconds(2)).ok()) << what;
        EXPECT_EQ(Ids(world.store), ids) << what;
        ExpectSound(world.store, what);
      });
}

// A sweep hangs at its n-th call while others put, merge and sweep: what it then removes is what it saw hidden.
TEST(CompactFaults, SweepHangsAtEveryCall) {
  HangingAtEveryCall(
      CompactFirst, [](const World&, const auto& store) { return Sweep(store, seconds(2)).status(); },
      [](World& world, const std::string& what) {
        world.PutAll(0);
        ASSERT_TRUE(Put(world.store, Rows(1000, 10), {}).ok());
        MergeAndSweep(world, what);
        ASSERT_TRUE(Put(world.store, Rows(1010, 10), {}).ok());
      },
      [](World& world, const std::string& what, const Status& done) {
        ASSERT_TRUE(done.ok()) << what << ": " << done.ToString();
        const auto ids = Ids(world.store);
        EXPECT_EQ(ids.size(), size_t{World::kRows} + 20) << what;
        EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end()) << what;
        ExpectSound(world.store, what);
      });
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
