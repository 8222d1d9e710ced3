#include "pilum/table/history.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "pilum/io/object_store.h"
#include "tests/support/paths/source_dir.h"

namespace pilum {
namespace {

namespace fs = std::filesystem;

// A copy of a golden table, to be damaged.
class HistoryOf : public ::testing::Test {
 protected:
  void Copy(const std::string& name) {
    dir_ = TempDir::Make().ValueOrDie();
    fs::copy(testing::SourceDir() + "/tests/golden/table/" + name + "/table.lance", path(),
             fs::copy_options::recursive);
  }
  std::string path() const { return dir_->path() + "/t.lance"; }
  std::string Manifest(uint64_t version) const { return path() + "/" + ManifestPath({version, ManifestScheme::kV2}); }
  void EraseTransactions() { fs::remove_all(path() + "/_transactions"); }

  std::vector<VersionRecord> All(std::optional<uint64_t> version = {}) {
    TableRef ref;
    ref.version = version;
    auto table = Table::Open(path(), ref, {}, ctx_);
    EXPECT_TRUE(table.ok()) << table.status();
    stats_.opens = stats_.requests = 0;
    ctx_.stats = &stats_;
    auto history = History::Open(**table, 0, ctx_).ValueOrDie();
    std::vector<VersionRecord> out;
    while (auto record = history->Next(ctx_).ValueOrDie()) out.push_back(std::move(*record));
    return out;
  }
  std::vector<std::string> Words(std::optional<uint64_t> version = {}) {
    std::vector<std::string> out;
    for (const VersionRecord& r : All(version)) out.push_back(r.words);
    return out;
  }

  std::unique_ptr<TempDir> dir_;
  ReadStats stats_;
  ReadContext ctx_;
};

using Texts = std::vector<std::string>;

TEST_F(HistoryOf, NewestFirstInWords) {
  Copy("mainline");
  EXPECT_EQ(Words(), Texts({"restored version 2: 35 rows in 3 fragments", "appended 2 rows in 1 fragment",
                            "overwrote the table with 10 rows in 1 fragment; gone: 35 rows in 3 fragments",
                            "appended 15 rows in 2 fragments", "created the table with 20 rows in 1 fragment"}));
}

TEST_F(HistoryOf, BeginsAtTheVersionThatIsOpen) {
  Copy("mainline");
  EXPECT_EQ(All(2).size(), 2);
}

TEST_F(HistoryOf, ReadsEachManifestOnce) {
  Copy("mainline");
  EXPECT_EQ(All().size(), 5);
  EXPECT_EQ(stats_.opens, 5);
  EXPECT_EQ(stats_.requests, 5);
}

TEST_F(HistoryOf, BytesAreThoseOfFilesThatTheOneBeforeHasNot) {
  Copy("mainline");
  for (const VersionRecord& r : All()) {
    ASSERT_TRUE(r.brought);
    EXPECT_EQ(r.brought->manifest, fs::file_size(Manifest(r.listed.name.version)));
    EXPECT_EQ(r.brought->transaction, fs::file_size(path() + "/_transactions/" + r.manifest->transaction_file));
    uint64_t data = 0;
    if (r.transaction->operation != "Restore") {
      for (const DataFile& f : r.change->new_files) data += fs::file_size(path() + "/data/" + f.path);
      EXPECT_GT(data, 0);
    }
    EXPECT_EQ(r.brought->data, data);
    EXPECT_EQ(r.brought->unknown_files, 0);
  }
}

TEST_F(HistoryOf, AVersionWhosePredecessorIsGone) {
  Copy("mainline");
  fs::remove(Manifest(3));
  const auto all = All();
  ASSERT_EQ(all.size(), 4);
  EXPECT_EQ(all[1].listed.name.version, 4);
  EXPECT_FALSE(all[1].change || all[1].brought);
  EXPECT_EQ(all[1].words, "appended 1 fragment");
}

TEST_F(HistoryOf, ADamagedVersionIsALineThatSaysSo) {
  Copy("mainline");
  fs::resize_file(Manifest(3), 40);
  const auto all = All();
  ASSERT_EQ(all.size(), 5);
  EXPECT_FALSE(all[2].damage.ok());
  EXPECT_NE(all[2].words.find("cannot be read: "), std::string::npos);
  EXPECT_EQ(all[1].words, "appended 1 fragment");
  EXPECT_EQ(all[3].words, "appended 15 rows in 2 fragments");
}

// Manifests of 0.33 hold no transaction; without the files, what they do tells.
TEST_F(HistoryOf, WithoutTransactions) {
  Copy("old-0.33.0-stable");
  const auto told = All();
  EraseTransactions();
  const auto compared = All();
  ASSERT_EQ(told.size(), compared.size());
  for (size_t i = 0; i < told.size(); ++i) {
    EXPECT_TRUE(told[i].transaction);
    EXPECT_FALSE(compared[i].transaction);
    EXPECT_EQ(told[i].change->added_rows, compared[i].change->added_rows);
    EXPECT_NE(compared[i].words, "changed nothing") << told[i].words;
  }
  EXPECT_EQ(compared.back().words, told.back().words);
}

TEST_F(HistoryOf, UpdatesAndMerges) {
  for (const char* name : {"updates", "merge-insert-stable"}) {
    Copy(name);
    bool updated = false;
    for (const VersionRecord& r : All()) {
      EXPECT_NE(r.words, "changed nothing");
      updated |= r.words.starts_with("updated ");
    }
    EXPECT_TRUE(updated) << name;
  }
}

// Compared with the version that its writer read.
TEST_F(HistoryOf, ADetachedVersionIsAloneInItsHistory) {
  Copy("detached");
  auto store = ReadOnlyStore::Open(path()).ValueOrDie();
  const auto detached = ListVersions(*store, ctx_).ValueOrDie().detached;
  ASSERT_EQ(detached.size(), 2);
  uint64_t bytes = 0;
  for (const ListedVersion& v : detached) {
    const auto all = All(v.name.version);
    ASSERT_EQ(all.size(), 1);
    ASSERT_TRUE(all[0].change && all[0].brought);
    EXPECT_TRUE(all[0].words.starts_with("appended ")) << all[0].words;
    // The second adds the file of the first once more: nothing new on disk.
    bytes += all[0].brought->data;
  }
  EXPECT_EQ(bytes, 927);
}

TEST_F(HistoryOf, BlobFilesAreOfTheirDataFile) {
  Copy("blobs-v2");
  uint64_t there = 0, brought = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path() + "/data")) {
    if (entry.is_regular_file()) there += entry.file_size();
  }
  for (const VersionRecord& r : All()) brought += r.brought->data;
  EXPECT_EQ(brought, there);
}

TEST_F(HistoryOf, Columns) {
  Copy("schema-evolution");
  std::string all;
  for (const std::string& words : Words()) all += words + "\n";
  for (const char* want : {"added column", "dropped column", "renamed column", "cast column"}) {
    EXPECT_NE(all.find(want), std::string::npos) << want << " in\n" << all;
  }
}

}  // namespace
}  // namespace pilum
