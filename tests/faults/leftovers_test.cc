// Files of changes that came to nothing: gone where it is certain that no version has them, kept where it is not.
#include <gtest/gtest.h>

#include "tests/faults/fault_store.h"
#include "tests/faults/numbers_table.h"

namespace pilum::testing {
namespace {

std::vector<std::string> FilesOf(const ObjectStore& store) {
  std::vector<std::string> out;
  const auto listed = store.List("").ValueOrDie();
  for (const ObjectInfo& o : listed) out.push_back(o.path);
  return out;
}

std::string Last(FaultPlan* plan) {
  std::lock_guard lock(plan->mutex);
  return plan->log.back();
}

// `change`, and before its commit that of somebody else leaves no sense in it.
void ConflictLeavesNothing(const TableChange& change) {
  auto store = NumbersTable(true);
  auto expected = FilesOf(*store);
  auto plan = std::make_shared<FaultPlan>();
  bool wrote = false, done_first = false;
  plan->before = [&](uint64_t) {
    const std::string what = Last(plan.get());
    wrote |= what.starts_with("put _deletions/");
    if (!wrote || done_first || what != "list _versions/") return;
    done_first = true;
    const auto before = FilesOf(*store);
    ASSERT_GT(before.size(), expected.size());
    ASSERT_TRUE(Write(WriteMode::kOverwrite, 0, 50)(store).ok());
    const auto after = FilesOf(*store);
    std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(expected));
    std::sort(expected.begin(), expected.end());
  };
  const Status done = change(std::make_shared<FaultStore>(store, plan));
  EXPECT_EQ(KindOf(done), ErrorKind::kConflict) << done.ToString();
  EXPECT_EQ(FilesOf(*store), expected);
}

TEST(Leftovers, ConflictsLeaveNoFiles) {
  for (const auto& [name, change] : TableChanges()) {
    if (name != "delete" && name != "update" && name != "upsert") continue;
    SCOPED_TRACE(name);
    ConflictLeavesNothing(change);
  }
}

// The answer to the put of the manifest is lost, and it cannot be looked at: the version is there, with its files.
TEST(Leftovers, AnUncertainCommitKeepsItsFiles) {
  for (const auto& [name, change] : TableChanges()) {
    if (name != "delete" && name != "update" && name != "upsert") continue;
    SCOPED_TRACE(name);
    auto reference = NumbersTable(true);
    ASSERT_TRUE(change(reference).ok());
    auto store = NumbersTable(true);
    auto plan = std::make_shared<FaultPlan>();
    plan->kind = FaultKind::kAfter;
    bool lost = false;
    plan->before = [&](uint64_t call) {
      const std::string what = Last(plan.get());
      if (what.starts_with("put _versions/")) {
        plan->fail_at = call;
        lost = true;
      } else if (lost && what.starts_with("open _versions/")) {
        plan->fail_at = call;
      }
    };
    const Status done = change(std::make_shared<FaultStore>(store, plan));
    EXPECT_FALSE(done.ok());
    EXPECT_FALSE(MadeNoVersion(done)) << done.ToString();
    EXPECT_NE(done.message().find("may or may not have been committed"), std::string::npos) << done.ToString();
    const auto left = Look(store);
    ASSERT_TRUE(left.ok()) << left.status().ToString();
    EXPECT_EQ(left->rows, Look(reference).ValueOrDie().rows);
  }
}

}  // namespace
}  // namespace pilum::testing
