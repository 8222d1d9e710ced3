// maintain over a store that fails, dies or hangs at the n-th call, for every n: no row is lost or counted twice, whatever it
// left, and the next one ends the work.
#include <gtest/gtest.h>

#include "tests/faults/fault_store.h"
#include "tests/faults/store_rows.h"

namespace pilum::testing {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr int64_t kParts = 18, kEach = 5;

Result<MaintainResult> Maintain(const std::shared_ptr<ObjectStore>& store, bool all = false) {
  PILUM_ASSIGN_OR_RETURN(auto parts, PartStore::OpenIn(store, "d"));
  ReadContext ctx;
  return parts->Maintain({all}, ctx);
}

struct World {
  std::shared_ptr<StoreTime> now = std::make_shared<StoreTime>(hours(24 * 365 * 50));
  std::shared_ptr<ObjectStore> store = ObjectStore::Memory("memory:", [now = now] { return *now; });

  // Eighteen parts in a bundle, and later ten without one.
  World() {
    static const Objects before = Made(0, kParts, true), after = Made(kParts, kParts + 10, false);
    PutAll(before);
    *now += seconds(10);
    PutAll(after);
  }
  void ExpectAllOnce(const std::string& what) const {
    const auto ids = Ids(store);
    ASSERT_EQ(ids.size(), size_t{(kParts + 10) * kEach}) << what;
    for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(ids[i], static_cast<int64_t>(i)) << what;
  }
  using Objects = std::vector<std::pair<std::string, std::string>>;
  static Objects Made(int64_t first, int64_t end, bool bundle) {
    const auto made = ObjectStore::Memory();
    for (int64_t p = first; p < end; ++p) EXPECT_TRUE(Put(made, Rows(p * kEach, kEach), {}).ok());
    if (bundle) EXPECT_TRUE(Maintain(made).ok());
    Objects out;
    ReadContext ctx;
    for (const ObjectInfo& o : made->List("").ValueOrDie()) {
      auto source = made->OpenSource(o.path, ctx).ValueOrDie();
      out.emplace_back(o.path, source->ReadRange({0, o.size}, ctx).ValueOrDie()->ToString());
    }
    return out;
  }
  void PutAll(const Objects& objects) const {
    for (const auto& [path, bytes] : objects) EXPECT_TRUE(store->PutIfAbsent(path, bytes).ok());
  }
  size_t Bundles() const { return store->List("d/bundles/").ValueOrDie().size(); }
};

TEST(MaintainFaults, AtEveryCall) {
  for (FaultKind kind : {FaultKind::kBefore, FaultKind::kAfter}) {
    for (bool dies : {false, true}) {
      uint64_t failed = 0;
      for (uint64_t n = 0;; ++n) {
        World world;
        auto plan = std::make_shared<FaultPlan>();
        plan->fail_at = n;
        plan->kind = kind;
        plan->dies = dies;
        failed += !Maintain(std::make_shared<FaultStore>(world.store, plan)).ok();
        const std::string what = "call " + std::to_string(n) + (dies ? ", dead" : "");
        world.ExpectAllOnce(what);
        ExpectSound(world.store, what);
        const auto rest = Maintain(world.store);
        ASSERT_TRUE(rest.ok()) << what;
        EXPECT_EQ(Maintain(world.store)->caches[0].written, 0u) << what << ": nothing is left to do";
        *world.now += seconds(5);
        ASSERT_TRUE(Sweep(world.store, seconds(2)).ok()) << what;
        EXPECT_GE(world.Bundles(), 1u);
        EXPECT_LE(world.Bundles(), 2u) << what;
        world.ExpectAllOnce(what + ", swept");
        if (::testing::Test::HasFatalFailure() || plan->calls <= n) break;
      }
      EXPECT_GT(failed, 5u);
    }
  }
}

// It hangs for hours, while others compact, maintain and sweep; then it goes on.
TEST(MaintainFaults, HangsAtEveryCall) {
  for (uint64_t n = 0;; ++n) {
    World world;
    auto plan = std::make_shared<FaultPlan>();
    plan->before = [&](uint64_t call) {
      if (call != n) return;
      ASSERT_TRUE(Compact(world.store, {.target_rows = 10, .all = true}).ok());
      ASSERT_TRUE(Maintain(world.store).ok());
      *world.now += hours(25);
      ASSERT_TRUE(Sweep(world.store, hours(24)).ok());
    };
    (void)Maintain(std::make_shared<FaultStore>(world.store, plan));
    const std::string what = "call " + std::to_string(n);
    world.ExpectAllOnce(what);
    ExpectSound(world.store, what);
    ASSERT_TRUE(Maintain(world.store).ok()) << what;
    *world.now += hours(25);
    ASSERT_TRUE(Sweep(world.store, hours(24)).ok()) << what;
    world.ExpectAllOnce(what + ", swept");
    if (::testing::Test::HasFatalFailure() || plan->calls <= n) break;
  }
}

// Reads of a bundle that fail at any call: rows, or an error; never fewer rows.
TEST(MaintainFaults, ReadsAtEveryCall) {
  World world;
  ASSERT_TRUE(Maintain(world.store).ok());
  for (uint64_t n = 0;; ++n) {
    auto plan = std::make_shared<FaultPlan>();
    plan->fail_at = n;
    const auto ids = TryIds(std::make_shared<FaultStore>(world.store, plan));
    if (ids.ok()) {
      EXPECT_EQ(ids->size(), size_t{(kParts + 10) * kEach}) << "call " << n;
    }
    if (plan->calls <= n) break;
  }
}

}  // namespace
}  // namespace pilum::testing
