// Branches, clones and names of manifests over a store that fails or dies at the n-th call, for every n: there is the whole of
// it or nothing, the table that it comes from is as it was, and doing it again ends it.
#include <gtest/gtest.h>

#include "pilum/change/branches.h"
#include "pilum/change/clone.h"
#include "pilum/change/migrate_names.h"
#include "pilum/io/folder_store.h"
#include "tests/faults/fault_store.h"
#include "tests/faults/numbers_table.h"

namespace pilum::testing {
namespace {

struct Outcome {
  Status done;
  std::string what;
};

// `prepare` gives the store that fails; `check` sees it as it was left.
void AtEveryCall(const std::function<std::shared_ptr<ObjectStore>()>& prepare,
                 const std::function<Status(const std::shared_ptr<ObjectStore>&)>& work,
                 const std::function<void(const std::shared_ptr<ObjectStore>&, const Outcome&)>& check) {
  for (FaultKind kind : {FaultKind::kBefore, FaultKind::kAfter}) {
    for (bool dies : {false, true}) {
      for (uint64_t n = 0;; ++n) {
        const auto store = prepare();
        auto plan = std::make_shared<FaultPlan>();
        plan->fail_at = n;
        plan->kind = kind;
        plan->dies = dies;
        Outcome out{work(std::make_shared<FaultStore>(store, plan)), ""};
        out.what = "call " + std::to_string(n) + " " + plan->log[std::min<size_t>(n, plan->log.size() - 1)] +
                   (dies ? ", dead" : "") + (kind == FaultKind::kAfter ? ", done and lost" : "") + ": " +
                   out.done.ToString();
        SCOPED_TRACE(out.what);
        check(store, out);
        if (::testing::Test::HasFatalFailure() || plan->calls <= n) break;
      }
    }
  }
}

std::shared_ptr<ObjectStore> Table60() { return NumbersTable(true); }

TEST(BranchFaults, Create) {
  const auto create = OnTable(
      [](const WritableTable& table, ReadContext& ctx) { return CreateBranch(table, "a/b", true, ctx).status(); });
  const TableState before = Look(Table60()).ValueOrDie();
  AtEveryCall(Table60, create, [&](const std::shared_ptr<ObjectStore>& store, const Outcome& first) {
    ReadContext ctx;
    ASSERT_TRUE(Look(store).ValueOrDie() == before);
    const auto listed = ListBranches(*store, ctx);
    ASSERT_TRUE(listed.ok()) << listed.status().ToString();
    const bool there = listed->contains("a/b");
    if (first.done.ok()) {
      ASSERT_TRUE(there);
    }
    const Status again = create(store);
    ASSERT_EQ(again.ok(), !there) << again.ToString();
    const auto branch = Table::Open(FolderOf(store, "tree/a/b"), {}, ctx);
    ASSERT_TRUE(branch.ok()) << branch.status().ToString();
    ASSERT_EQ((*branch)->manifest().version, 2u);
    ASSERT_EQ((*branch)->manifest().branch, "a/b");
    ASSERT_EQ(ListBranches(*store, ctx).ValueOrDie().at("a/b").parent_version, 2u);
  });
}

TEST(BranchFaults, Delete) {
  const auto with_branch = [] {
    auto store = Table60();
    ReadContext ctx;
    EXPECT_TRUE(CreateBranch(OpenToWrite(store, ctx).ValueOrDie(), "a", true, ctx).ok());
    EXPECT_TRUE(CreateBranch(OpenToWrite(store, ctx).ValueOrDie(), "a/b", true, ctx).ok());
    return store;
  };
  const auto remove =
      OnTable([](const WritableTable& table, ReadContext& ctx) { return DeleteBranch(table, "a", ctx); });
  const TableState before = Look(Table60()).ValueOrDie();
  AtEveryCall(with_branch, remove, [&](const std::shared_ptr<ObjectStore>& store, const Outcome& first) {
    ReadContext ctx;
    ASSERT_TRUE(Look(store).ValueOrDie() == before);
    const Status again = remove(store);
    ASSERT_TRUE(again.ok() || KindOf(again) == ErrorKind::kNotFound) << again.ToString();
    if (first.done.ok()) {
      ASSERT_EQ(KindOf(again), ErrorKind::kNotFound);
    }
    const auto branches = ListBranches(*store, ctx).ValueOrDie();
    ASSERT_EQ(branches.size(), 1u);
    ASSERT_TRUE(branches.contains("a/b"));
    for (const auto& o : store->List("tree/a/").ValueOrDie()) ASSERT_TRUE(o.path.starts_with("tree/a/b/")) << o.path;
    ASSERT_TRUE(Table::Open(FolderOf(store, "tree/a/b"), {}, ctx).ok());
  });
}

void CloneAtEveryCall(bool shallow) {
  const auto source = Table60();
  const TableState before = Look(source).ValueOrDie();
  const auto clone = [&](const std::shared_ptr<ObjectStore>& target) -> Status {
    ReadContext ctx;
    PILUM_ASSIGN_OR_RETURN(const WritableTable table, OpenToWrite(source, ctx));
    return (shallow ? ShallowClone(table, target, true, ctx) : DeepClone(table, target, true, ctx)).status();
  };
  AtEveryCall([] { return ObjectStore::Memory(); }, clone,
              [&](const std::shared_ptr<ObjectStore>& target, const Outcome& first) {
                ReadContext ctx;
                const auto made = Table::Open(target, {}, ctx);
                ASSERT_TRUE(made.ok() || KindOf(made.status()) == ErrorKind::kNotFound) << made.status().ToString();
                if (first.done.ok()) {
                  ASSERT_TRUE(made.ok());
                }
                const Status again = clone(target);
                ASSERT_EQ(again.ok(), !made.ok()) << again.ToString();
                const auto whole = Table::Open(target, {}, ctx);
                ASSERT_TRUE(whole.ok()) << whole.status().ToString();
                ASSERT_EQ((*whole)->manifest().fragments.size(), before.fragments);
                if (!shallow) {
                  ASSERT_TRUE(LookAt(**whole).ValueOrDie() == before);
                }
              });
}

TEST(BranchFaults, ShallowClone) { CloneAtEveryCall(true); }
TEST(BranchFaults, DeepClone) { CloneAtEveryCall(false); }

TEST(BranchFaults, MigratedNames) {
  const auto old_names = [] {
    auto store = ObjectStore::Memory();
    ReadContext ctx;
    auto options = TwentyRowsAFile(WriteMode::kCreate);
    options.v1_names = true;
    EXPECT_TRUE(WriteTable(store, *Numbers(0, 50), options, ctx).ok());
    EXPECT_TRUE(Write(WriteMode::kAppend, 50, 60)(store).ok());
    return store;
  };
  const TableState before = Look(old_names()).ValueOrDie();
  const auto migrate = [](const std::shared_ptr<ObjectStore>& store) {
    ReadContext ctx;
    return MigrateManifestNames(store.get(), ctx).status();
  };
  AtEveryCall(old_names, migrate, [&](const std::shared_ptr<ObjectStore>& store, const Outcome& first) {
    ReadContext ctx;
    const auto left = Look(store);
    if (first.done.ok()) {
      ASSERT_TRUE(left.ok());
    }
    // Never an older version taken for the newest.
    ASSERT_TRUE(left.ok() ? *left == before : KindOf(left.status()) == ErrorKind::kCorrupt);
    ASSERT_TRUE(migrate(store).ok());
    ASSERT_TRUE(Look(store).ValueOrDie() == before);
    const auto versions = ListVersions(*store, ctx).ValueOrDie();
    ASSERT_FALSE(versions.mixed);
    ASSERT_EQ(versions.attached.size(), 2u);
    for (const auto& v : versions.attached) ASSERT_EQ(v.name.scheme, ManifestScheme::kV2);
  });
}

}  // namespace
}  // namespace pilum::testing
