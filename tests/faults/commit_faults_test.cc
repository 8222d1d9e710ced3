// Changes of a table over a store that fails or dies at the n-th call, for every n: the table opens with the rows from
// before or from after, never between; what was acknowledged is there; clean-up takes whatever else was left; and the next
// change succeeds. Or that waits at the n-th call while others commit: both are there, or it says that it failed.
#include <gtest/gtest.h>

#include "pilum/change/cleanup.h"
#include "tests/faults/at_every_fault.h"
#include "tests/faults/column_changes.h"

namespace pilum::testing {
namespace {

// How many objects each folder has once all was cleaned up that the newest version does not need. The hint may lack.
std::map<std::string, size_t> LeftByCleanup(const std::shared_ptr<ObjectStore>& store) {
  ReadContext ctx;
  CleanupOptions all;
  all.policy.retain = 1;
  all.policy.delete_unverified = true;
  const auto table = OpenToWrite(store, ctx);
  std::map<std::string, size_t> out;
  if (!table.ok()) return out;
  const auto done = CleanUp(*table, all, ctx);
  EXPECT_TRUE(done.ok()) << done.status().ToString();
  for (const ObjectInfo& o : store->List("").ValueOrDie()) {
    if (o.path.find("hint") == o.path.npos) ++out[o.path.substr(0, o.path.find('/'))];
  }
  return out;
}

void AtEveryCall(const TableChange& change, bool with_table = true) {
  auto reference = NumbersTable(with_table);
  const TableState before = Look(reference).ValueOrDie();
  const auto left_before = LeftByCleanup(NumbersTable(with_table));
  const Status works = change(reference);
  ASSERT_TRUE(works.ok()) << works.ToString();
  const TableState after = Look(reference).ValueOrDie();
  ASSERT_FALSE(before == after);
  const auto left_after = LeftByCleanup(reference);
  AtEveryFault(
      change, [&] { return NumbersTable(with_table); },
      [&](const auto& store, const Status& done, const std::string& what) {
        auto left = Look(store);
        ASSERT_TRUE(left.ok()) << what << ": " << left.status().ToString();
        if (done.ok()) {
          ASSERT_TRUE(*left == after) << what;
        } else {
          ASSERT_TRUE(*left == before || *left == after) << what;
        }
        if (left->columns >= 0) {
          ASSERT_EQ(LeftByCleanup(store), *left == after ? left_after : left_before) << what;
        }
        ASSERT_TRUE(Look(store).ValueOrDie() == *left) << what << ", cleaned up";
        const Status next = AppendOne(store);
        ASSERT_TRUE(next.ok()) << what << ": " << next.ToString();
        ASSERT_EQ(Look(store).ValueOrDie().rows.size(), left->rows.size() + 1) << what;
      });
}

TEST(CommitFaults, Create) { AtEveryCall(Write(WriteMode::kCreate, 0, 50), /*with_table=*/false); }

TEST(CommitFaults, EveryChange) {
  EachChange(TableChanges(), [](const TableChange& change) { AtEveryCall(change); });
}

TEST(CommitFaults, EveryChangeOfColumns) {
  EachChange(ColumnChanges(), [](const TableChange& change) { AtEveryCall(change); });
}

// --- others commit meanwhile

std::optional<TableState> InTurn(const std::vector<TableChange>& changes) {
  const auto store = NumbersTable(true);
  for (const TableChange& change : changes) {
    if (!change(store).ok()) return std::nullopt;
  }
  return Look(store).ValueOrDie();
}

// `change` waits at its n-th call while `others` commit: it is as if one had come after the other, or others' alone is there.
void WaitingAtEveryCall(const TableChange& change, const TableChange& others) {
  const auto before = InTurn({others, change}), after = InTurn({change, others}), alone = InTurn({others});
  const auto without = InTurn({change});
  size_t both = 0;
  for (uint64_t n = 0;; ++n) {
    const auto store = NumbersTable(true);
    auto plan = std::make_shared<FaultPlan>();
    bool came = false;  // not where the change was committed by then, and they are senseless after it
    plan->before = [&](uint64_t call) {
      if (call == n) came = others(store).ok();
    };
    const Status done = change(std::make_shared<FaultStore>(store, plan));
    if (plan->calls <= n) break;
    const std::string what = "call " + std::to_string(n) + " " + plan->log[n] + ": " + done.ToString();
    const auto left = Look(store);
    ASSERT_TRUE(left.ok()) << what << ": " << left.status().ToString();
    ASSERT_TRUE(came || !after) << what;
    if (!came) {
      ASSERT_TRUE(done.ok() && *left == without) << what;
    } else if (done.ok()) {
      ASSERT_TRUE(*left == before || *left == after) << what;
      ++both;
    } else {
      const ErrorKind kind = KindOf(done);
      const bool lost = kind == ErrorKind::kRetry || kind == ErrorKind::kConflict;
      const bool senseless = kind == ErrorKind::kUsage || kind == ErrorKind::kQuery || kind == ErrorKind::kNotFound;
      ASSERT_TRUE(lost || (senseless && !before)) << what;
      ASSERT_TRUE(*left == alone) << what;
      ASSERT_EQ(LeftByCleanup(store), LeftByCleanup([&] {
                  const auto theirs = NumbersTable(true);
                  EXPECT_TRUE(others(theirs).ok());
                  return theirs;
                }()))
          << what;
    }
  }
  EXPECT_EQ(both > 0, before || after);
}

TEST(CommitFaults, OthersCommitWhileColumnsChange) {
  const auto remove = [](auto table, ReadContext& ctx) { return DeleteRows(table, "a % 5 = 2", {}, ctx).status(); };
  const auto drop = [](auto table, ReadContext& ctx) { return DropColumns(table, {"b"}, {}, ctx).status(); };
  const auto compact = [](WritableTable table, ReadContext& ctx) {
    return CompactTable(table, {.target_rows_per_fragment = 30}, {}, ctx).status();
  };
  const std::vector<std::pair<std::string, TableChange>> others = {
      {"append", AppendOne}, {"delete", OnTable(remove)}, {"drop", OnTable(drop)}, {"compact", OnTable(compact)}};
  for (const auto& [name, change] : ColumnChanges()) {
    for (const auto& [other, what] : others) {
      SCOPED_TRACE(name + " / " + other);
      WaitingAtEveryCall(change, what);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace pilum::testing
