// Changes of a table on a disk that forgets, when the power is cut, whatever was not synced: what was acknowledged is there,
// whole; a cut at any call leaves the state before or after.
#include <gtest/gtest.h>

#include "tests/faults/column_changes.h"
#include "tests/faults/fault_store.h"
#include "tests/faults/forgetful_store.h"

namespace pilum::testing {
namespace {

void CutAtEveryCall(const TableChange& change, bool with_table) {
  auto reference = NumbersTable(with_table);
  const TableState before = Look(reference).ValueOrDie();
  ASSERT_TRUE(change(reference).ok());
  const TableState after = Look(reference).ValueOrDie();
  for (uint64_t n = 0;; ++n) {
    auto store = NumbersTable(with_table);
    auto disk = std::make_shared<ForgetfulStore>(store);
    auto plan = std::make_shared<FaultPlan>();
    plan->fail_at = n;
    plan->dies = true;
    const Status done = change(std::make_shared<FaultStore>(disk, plan));
    if (done.ok()) {
      EXPECT_LE(disk->unsynced(), 1u) << "more than the hint was not synced";
    }
    disk->Forget();
    const std::string what = "call " + std::to_string(n) + ": " + done.ToString();
    auto left = Look(store);
    ASSERT_TRUE(left.ok()) << what << ": " << left.status().ToString();
    if (done.ok()) {
      ASSERT_TRUE(*left == after) << what;
    } else {
      ASSERT_TRUE(*left == before || *left == after) << what;
    }
    const Status next = AppendOne(store);
    ASSERT_TRUE(next.ok()) << what << ": " << next.ToString();
    if (plan->calls <= n) break;
  }
}

TEST(PowerCut, Create) { CutAtEveryCall(Write(WriteMode::kCreate, 0, 50), /*with_table=*/false); }

TEST(PowerCut, EveryChange) {
  for (const auto& [name, change] : TableChanges()) {
    SCOPED_TRACE(name);
    CutAtEveryCall(change, /*with_table=*/true);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(PowerCut, EveryChangeOfColumns) {
  for (const auto& [name, change] : ColumnChanges()) {
    SCOPED_TRACE(name);
    CutAtEveryCall(change, /*with_table=*/true);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace pilum::testing
