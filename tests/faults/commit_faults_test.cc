// Changes of a table over a store that fails or dies at the n-th call, for every n: the table opens with the rows from
// before or from after, never between; what was acknowledged is there; and the next change succeeds.
#include <gtest/gtest.h>

#include "tests/faults/fault_store.h"
#include "tests/faults/numbers_table.h"

namespace pilum::testing {
namespace {

void AtEveryCall(const TableChange& change, bool with_table = true) {
  auto reference = NumbersTable(with_table);
  const TableState before = Look(reference).ValueOrDie();
  ASSERT_TRUE(change(reference).ok());
  const TableState after = Look(reference).ValueOrDie();
  ASSERT_FALSE(before == after);
  for (FaultKind kind : {FaultKind::kBefore, FaultKind::kAfter}) {
    for (bool dies : {false, true}) {
      for (uint64_t n = 0;; ++n) {
        auto store = NumbersTable(with_table);
        auto plan = std::make_shared<FaultPlan>();
        plan->fail_at = n;
        plan->kind = kind;
        plan->dies = dies;
        const Status done = change(std::make_shared<FaultStore>(store, plan));
        const std::string what = "call " + std::to_string(n) + " " +
                                 plan->log[std::min<size_t>(n, plan->log.size() - 1)] + (dies ? ", dead" : "") +
                                 (kind == FaultKind::kAfter ? ", done and lost" : "") + ": " + done.ToString();
        auto left = Look(store);
        ASSERT_TRUE(left.ok()) << what << ": " << left.status().ToString();
        if (done.ok()) {
          ASSERT_TRUE(*left == after) << what;
        } else {
          ASSERT_TRUE(*left == before || *left == after) << what;
        }
        const Status next = AppendOne(store);
        ASSERT_TRUE(next.ok()) << what << ": " << next.ToString();
        ASSERT_EQ(Look(store).ValueOrDie().rows.size(), left->rows.size() + 1) << what;
        if (plan->calls <= n) break;
      }
    }
  }
}

TEST(CommitFaults, Create) { AtEveryCall(Write(WriteMode::kCreate, 0, 50), /*with_table=*/false); }

TEST(CommitFaults, EveryChange) {
  for (const auto& [name, change] : TableChanges()) {
    SCOPED_TRACE(name);
    AtEveryCall(change);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace pilum::testing
