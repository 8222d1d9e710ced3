// Commits on the real file system, as a power cut at any of their calls would leave them: what a manifest names is there,
// whole, whatever else was written in time; what was acknowledged is there. And how often a commit waits for the disk.
#include <gtest/gtest.h>

#include "pilum/change/clone.h"
#include "pilum/change/settings.h"
#include "pilum/io/local_file.h"
#include "tests/faults/local_disk.h"
#include "tests/faults/numbers_table.h"

namespace pilum::testing {
namespace {

// A table on the disk, empty or as NumbersTable.
struct DiskTable {
  std::unique_ptr<TempDir> temp = TempDir::Make().ValueOrDie();
  std::shared_ptr<ObjectStore> store = ObjectStore::Open(temp->path()).ValueOrDie();
  explicit DiskTable(bool with_table) {
    if (!with_table) return;
    EXPECT_TRUE(Write(WriteMode::kCreate, 0, 50)(store).ok());
    EXPECT_TRUE(Write(WriteMode::kAppend, 50, 60)(store).ok());
  }
};

// What is left on the disk, as a store.
std::shared_ptr<ObjectStore> StoreOf(const LocalDisk::Files& files) {
  auto store = ObjectStore::Memory();
  for (const auto& [path, bytes] : files) {
    if (!IsTemporaryName(path.substr(path.rfind('/') + 1))) EXPECT_TRUE(store->PutIfAbsent(path, bytes).ok());
  }
  return store;
}

// Of the newest version too, that the file of its transaction is there: readers before 14 want it.
Result<TableState> LookAtAll(const std::shared_ptr<ObjectStore>& store) {
  PILUM_ASSIGN_OR_RETURN(TableState out, Look(store));
  if (out.columns < 0) return out;
  ReadContext ctx;
  PILUM_ASSIGN_OR_RETURN(auto table, Table::Open(store, {}, ctx));
  PILUM_ASSIGN_OR_RETURN(auto file, store->OpenSource("_transactions/" + table->manifest().transaction_file, ctx));
  PILUM_ASSIGN_OR_RETURN(const std::string message, ReadTransactionFile(*file, ctx));
  PILUM_RETURN_NOT_OK(ParseTransaction(message).status());
  if (message.empty()) return Corrupt(file->name(), "", "the transaction is empty");
  return out;
}

struct Kept {
  std::string call;  // that comes next
  LocalDisk::Files files;
};

void CutAtEveryCall(const TableChange& change, bool with_table) {
  DiskTable table(with_table);
  const TableState before = Look(table.store).ValueOrDie();
  std::vector<Kept> all;
  {
    LocalDisk disk(table.temp->path());
    const auto keep = [&](const std::string& call) {
      for (auto& files : disk.Left()) {
        if (all.empty() || all.back().files != files) all.push_back({call, std::move(files)});
      }
    };
    disk.OnCall(keep);
    const Status done = change(table.store);
    ASSERT_TRUE(done.ok()) << done.ToString();
    keep("acknowledged");
  }
  const TableState after = Look(table.store).ValueOrDie();
  ASSERT_FALSE(before == after);
  for (const Kept& cut : all) {
    const auto left = LookAtAll(StoreOf(cut.files));
    ASSERT_TRUE(left.ok()) << cut.call << ": " << left.status().ToString();
    ASSERT_TRUE(*left == after || (cut.call != "acknowledged" && *left == before)) << cut.call;
    const Status next = AppendOne(StoreOf(cut.files));
    ASSERT_TRUE(next.ok()) << cut.call << ": " << next.ToString();
  }
}

TEST(LocalPowerCut, Create) { CutAtEveryCall(Write(WriteMode::kCreate, 0, 50), /*with_table=*/false); }

TEST(LocalPowerCut, EveryChange) {
  EachChange(TableChanges(), [](const TableChange& change) { CutAtEveryCall(change, /*with_table=*/true); });
}

struct Waits {
  uint64_t syncs, own;
  bool operator==(const Waits&) const = default;
};
void PrintTo(const Waits& w, std::ostream* out) { *out << w.syncs << " syncs, " << w.own << " waits"; }

Waits WaitsOf(const TableChange& change) {
  DiskTable table(/*with_table=*/true);
  const LocalDisk disk(table.temp->path());
  const Status done = change(table.store);
  EXPECT_TRUE(done.ok()) << done.ToString();
  return {disk.syncs(), disk.own_syncs()};
}

// Manifest, data file, transaction, the folders of both, that of the manifest: of them four one after another.
TEST(LocalPowerCut, ACommitWaitsFourTimes) {
  EXPECT_EQ(WaitsOf(Write(WriteMode::kAppend, 100, 110)), (Waits{6, 4}));
  EXPECT_EQ(WaitsOf(OnTable([](auto table, ReadContext& ctx) {
              SettingsChange change;
              change.config = {{{"k", "v"}}, false};
              return ChangeSettings(table, change, {}, ctx).status();
            })),
            (Waits{4, 4}));
  // Ten data files.
  EXPECT_EQ(WaitsOf(Write(WriteMode::kAppend, 100, 300)), (Waits{15, 4}));
  EXPECT_EQ(WaitsOf([](const std::shared_ptr<ObjectStore>& store) {
              ReadContext ctx;
              WriteTableOptions how = TwentyRowsAFile(WriteMode::kAppend);
              how.sync = false;
              return WriteTable(store, *Numbers(100, 110), how, ctx).status();
            }),
            (Waits{0, 0}));
}

}  // namespace
}  // namespace pilum::testing
