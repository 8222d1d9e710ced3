#include "pilum/table/folder/inventory.h"

#include <gtest/gtest.h>

#include "pilum/io/object_store.h"

namespace pilum {
namespace {

TEST(Inventory, EachObjectIsSomething) {
  struct Case {
    const char* path;
    ObjectKind kind;
    const char* branch;
  };
  const Case cases[] = {
      {"_versions/18446744073709551614.manifest", ObjectKind::kManifest, ""},
      {"_versions/7.manifest", ObjectKind::kManifest, ""},
      {"_versions/d13283759918835059629.manifest", ObjectKind::kManifest, ""},
      {"_versions/foo.manifest", ObjectKind::kStray, ""},
      {"_versions/18446744073709551614.manifest#1", ObjectKind::kTemporary, ""},
      {"_versions/.tmp_18446744073709551614.manifest", ObjectKind::kTemporary, ""},
      {"_versions/latest_version_hint.json", ObjectKind::kHint, ""},
      {"_latest.manifest", ObjectKind::kHint, ""},
      {"_transactions/0-1.txn", ObjectKind::kTransaction, ""},
      {"_transactions/x", ObjectKind::kStray, ""},
      {"data/a.lance", ObjectKind::kData, ""},
      {"data/a/1.blob", ObjectKind::kBlob, ""},
      {"data/.tmpQw", ObjectKind::kTemporary, ""},
      {"data/x.txt", ObjectKind::kStray, ""},
      {"_deletions/3-7-99.arrow", ObjectKind::kDeletions, ""},
      {"_deletions/3-8-41.bin", ObjectKind::kDeletions, ""},
      {"_deletions/3-8.bin", ObjectKind::kStray, ""},
      {"_deletions/3-8-41.foo", ObjectKind::kStray, ""},
      {"_indices/u/page_data.lance", ObjectKind::kIndex, ""},
      {"_indices/x", ObjectKind::kStray, ""},
      {"_refs/tags/a.json", ObjectKind::kTag, ""},
      {"_refs/branches/a%2Fb.json", ObjectKind::kBranch, ""},
      {"_refs/x.json", ObjectKind::kStray, ""},
      {"tree/dev/_versions/1.manifest", ObjectKind::kManifest, "dev"},
      {"tree/feature/x/data/a.lance", ObjectKind::kData, "feature/x"},
      {"tree/dev/x", ObjectKind::kStray, ""},
      {"tree/x", ObjectKind::kStray, ""},
      {"other/_versions/1.manifest", ObjectKind::kStray, ""},
      {"README.md", ObjectKind::kStray, ""},
  };
  for (const Case& c : cases) {
    const TableObject o = ClassifyObject({c.path, 1, {}, {}});
    EXPECT_EQ(o.kind, c.kind) << c.path;
    EXPECT_EQ(o.branch, c.branch) << c.path;
    EXPECT_EQ(o.note.empty(),
              o.kind != ObjectKind::kStray && o.kind != ObjectKind::kTemporary && o.path != "_latest.manifest")
        << c.path;
  }
}

TEST(Inventory, FindsAndSums) {
  auto store = ObjectStore::Memory("memory:t");
  for (const auto& [path, size] : std::vector<std::pair<std::string, size_t>>{{"data/a.lance", 5},
                                                                              {"data/b.lance", 7},
                                                                              {"data/c.lance", 100},
                                                                              {"data0", 1},
                                                                              {"_versions/1.manifest", 9}}) {
    ASSERT_TRUE(store->PutIfAbsent(path, std::string(size, 'x')).ok());
  }
  ReadContext ctx;
  const Inventory inventory = ListInventory(*store, ctx).ValueOrDie();
  ASSERT_EQ(inventory.objects.size(), 5u);
  EXPECT_EQ(inventory.objects[*inventory.Find("data/b.lance")].size, 7u);
  EXPECT_FALSE(inventory.Find("data/").has_value());
  const auto [first, end] = inventory.Below("data/");
  EXPECT_EQ(end - first, 3u);
  const auto totals = TotalsByKind(inventory);
  ASSERT_EQ(totals.size(), 3u);  // manifest, data, stray
  EXPECT_EQ(totals[1].count, 3u);
  EXPECT_EQ(totals[1].bytes, 112u);
  EXPECT_EQ(totals[1].median, 7u);
  EXPECT_EQ(totals[1].largest, 100u);
  EXPECT_EQ(totals[1].largest_path, "data/c.lance");
}

TEST(Inventory, NothingIsAnError) {
  ReadContext ctx;
  EXPECT_EQ(KindOf(ListInventory(*ObjectStore::Memory("memory:none"), ctx).status()), ErrorKind::kNotFound);
}

}  // namespace
}  // namespace pilum
