// Clean-ups over a store that fails or dies at the n-th call, for every n: each version that is kept has its rows, and a
// second run takes what is left, so that the folder is as it would have been.
#include <set>

#include <gtest/gtest.h>

#include "pilum/change/cleanup.h"
#include "pilum/change/tags.h"
#include "tests/faults/fault_store.h"
#include "tests/faults/numbers_table.h"

namespace pilum::testing {
namespace {

using Rows = std::map<uint64_t, std::vector<int64_t>>;

// Seven versions; a tag on the second. Only the store tells what is there.
std::shared_ptr<ObjectStore> OldTable() {
  auto store = NumbersTable(true);
  ReadContext ctx;
  const auto at = OpenToWrite(store, ctx).ValueOrDie();
  EXPECT_TRUE(CreateTag(at, "kept", ctx).ok());
  const auto del = [&](const std::string& where) {
    return DeleteRows(OpenToWrite(store, ctx).ValueOrDie(), where, {}, ctx).status();
  };
  EXPECT_TRUE(del("a % 7 = 3").ok());
  EXPECT_TRUE(Write(WriteMode::kAppend, 100, 150)(store).ok());
  EXPECT_TRUE(del("a < 20").ok());
  EXPECT_TRUE(Write(WriteMode::kOverwrite, 200, 250)(store).ok());
  EXPECT_TRUE(del("a > 240").ok());
  return store;
}

std::vector<uint64_t> Listed(const std::shared_ptr<ObjectStore>& store) {
  ReadContext ctx;
  std::vector<uint64_t> out;
  for (const auto& v : ListVersions(*store, ctx).ValueOrDie().attached) out.push_back(v.name.version);
  return out;
}

Rows RowsOf(const std::shared_ptr<ObjectStore>& store, const std::vector<uint64_t>& versions) {
  Rows out;
  for (const uint64_t version : versions) {
    ReadContext ctx;
    TableRef ref;
    ref.version = version;
    auto table = Table::Open(store, ref, ctx);
    EXPECT_TRUE(table.ok()) << table.status().ToString();
    auto state = table.ok() ? LookAt(**table) : Result<TableState>(table.status());
    EXPECT_TRUE(state.ok()) << state.status().ToString();
    if (state.ok()) out[version] = state->rows;
  }
  return out;
}

std::set<std::string> Paths(const std::shared_ptr<ObjectStore>& store) {
  std::set<std::string> out;
  for (const ObjectInfo& o : store->List("").ValueOrDie()) out.insert(o.path);
  return out;
}

CleanupOptions AllButTwo() {
  CleanupOptions out;
  out.policy.retain = 2;
  out.error_if_tagged = false;
  return out;
}

Result<CleanupStats> Clean(const std::shared_ptr<ObjectStore>& store, const CleanupOptions& options) {
  ReadContext ctx;
  PILUM_ASSIGN_OR_RETURN(const auto table, OpenToWrite(store, ctx));
  return CleanUp(table, options, ctx);
}

// Names are random, so what is left is told by kind and number.
std::map<std::string, size_t> CountByFolder(const std::shared_ptr<ObjectStore>& store) {
  std::map<std::string, size_t> out;
  for (const std::string& path : Paths(store)) ++out[path.substr(0, path.find('/'))];
  return out;
}

TEST(CleanupFaults, EveryCall) {
  const auto reference = OldTable();
  const Rows before = RowsOf(reference, Listed(reference));
  ASSERT_EQ(before.size(), 7u);
  const CleanupStats whole = Clean(reference, AllButTwo()).ValueOrDie();
  EXPECT_EQ(whole.old_versions, 4u);
  EXPECT_EQ(whole.transaction_files_removed, 4u);
  EXPECT_GT(whole.data_files_removed, 0u);
  EXPECT_GT(whole.deletion_files_removed, 0u);
  const std::vector<uint64_t> kept = {2, 6, 7};
  ASSERT_EQ(Listed(reference), kept);
  const auto left = CountByFolder(reference);
  for (const FaultKind kind : {FaultKind::kBefore, FaultKind::kAfter}) {
    for (const bool dies : {false, true}) {
      uint64_t failed = 0;
      for (uint64_t n = 0;; ++n) {
        const auto store = OldTable();
        auto plan = std::make_shared<FaultPlan>();
        plan->fail_at = n;
        plan->kind = kind;
        plan->dies = dies;
        const auto done = Clean(std::make_shared<FaultStore>(store, plan), AllButTwo());
        const std::string what = "call " + std::to_string(n) + " " +
                                 plan->log[std::min<size_t>(n, plan->log.size() - 1)] + (dies ? ", dead" : "");
        failed += !done.ok() || done->failed_deletes > 0;
        for (const auto& [version, rows] : RowsOf(store, kept)) ASSERT_EQ(rows, before.at(version)) << what;
        const auto again = Clean(store, AllButTwo());
        ASSERT_TRUE(again.ok()) << what << ": " << again.status().ToString();
        ASSERT_EQ(again->failed_deletes, 0u) << what;
        ASSERT_EQ(Listed(store), kept) << what;
        ASSERT_EQ(CountByFolder(store), left) << what;
        for (const auto& [version, rows] : RowsOf(store, kept)) ASSERT_EQ(rows, before.at(version)) << what;
        ASSERT_TRUE(AppendOne(store).ok()) << what;
        if (plan->calls <= n) break;
      }
      EXPECT_GE(failed, 20u);
    }
  }
}

// Others commit, at each call of the clean-up in turn: what they committed has its rows.
TEST(CleanupFaults, OthersCommitMeanwhile) {
  for (uint64_t n = 0;; ++n) {
    const auto store = OldTable();
    auto plan = std::make_shared<FaultPlan>();
    plan->before = [&](uint64_t call) {
      if (call == n) ASSERT_TRUE(AppendOne(store).ok());
    };
    const auto done = Clean(std::make_shared<FaultStore>(store, plan), AllButTwo());
    ASSERT_TRUE(done.ok()) << n << done.status().ToString();
    if (plan->calls <= n) break;
    const auto versions = Listed(store);
    ASSERT_EQ(versions.back(), 8u);
    ASSERT_EQ(RowsOf(store, versions)[8].back(), 1000) << n;
  }
}

// A version tagged, or restored, once all was read: it stays, and so do its files.
TEST(CleanupFaults, TaggedOrRestoredAfterTheListing) {
  for (const bool restored : {false, true}) {
    const auto store = OldTable();
    ReadContext ctx;
    const auto table = OpenToWrite(store, ctx).ValueOrDie();
    auto foreseen = ForeseeCleanup(*table.table, AllButTwo(), ctx).ValueOrDie();
    const Rows before = RowsOf(store, {4});
    WritableTable fourth = table;
    fourth.table = table.table->Reopen(4, ctx).ValueOrDie();
    if (restored) {
      ASSERT_TRUE(RestoreTable(fourth, {}, ctx).ok());
    } else {
      ASSERT_TRUE(CreateTag(fourth, "late", ctx).ok());
    }
    ASSERT_TRUE(CleanUp(table, std::move(foreseen), AllButTwo(), ctx).ok());
    const uint64_t at = restored ? 8 : 4;
    EXPECT_EQ(RowsOf(store, {at}).at(at), before.at(4));
  }
}

}  // namespace
}  // namespace pilum::testing
