// A change of a table through a store of which each call in turn fails: before it does anything or after it did all, alone or
// with all that follow.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/faults/fault_store.h"
#include "tests/faults/forgetful_store.h"
#include "tests/faults/numbers_table.h"

namespace pilum::testing {

//   shared_ptr<ObjectStore> make();  judge(const shared_ptr<ObjectStore>& left, const Status& done, const std::string& what)
template <typename Make, typename Judge>
void AtEveryFault(const TableChange& change, Make make, Judge judge) {
  for (FaultKind kind : {FaultKind::kBefore, FaultKind::kAfter}) {
    for (bool dies : {false, true}) {
      for (uint64_t n = 0;; ++n) {
        const std::shared_ptr<ObjectStore> store = make();
        auto plan = std::make_shared<FaultPlan>();
        plan->fail_at = n;
        plan->kind = kind;
        plan->dies = dies;
        const Status done = change(std::make_shared<FaultStore>(store, plan));
        const std::string what = "call " + std::to_string(n) + " " +
                                 plan->log[std::min<size_t>(n, plan->log.size() - 1)] + (dies ? ", dead" : "") +
                                 (kind == FaultKind::kAfter ? ", done and lost" : "") + ": " + done.ToString();
        judge(store, done, what);
        if (::testing::Test::HasFatalFailure()) return;
        if (plan->calls <= n) break;
      }
    }
  }
}

// The same on a disk whose power is cut at each call in turn; `judge` is told, too, how many
// objects were not synced.
//   judge(const shared_ptr<ObjectStore>& left, size_t unsynced, const Status& done, const std::string& what)
template <typename Make, typename Judge>
void AtEveryCut(const TableChange& change, Make make, Judge judge) {
  for (uint64_t n = 0;; ++n) {
    const std::shared_ptr<ObjectStore> store = make();
    auto disk = std::make_shared<ForgetfulStore>(store);
    auto plan = std::make_shared<FaultPlan>();
    plan->fail_at = n;
    plan->dies = true;
    const Status done = change(std::make_shared<FaultStore>(disk, plan));
    const size_t unsynced = disk->unsynced();
    disk->Forget();
    judge(store, unsynced, done, "call " + std::to_string(n) + ": " + done.ToString());
    if (::testing::Test::HasFatalFailure() || plan->calls <= n) return;
  }
}

}  // namespace pilum::testing
