#include "pilum/table/newest_listed.h"

#include <gtest/gtest.h>

#include "pilum/io/object_store.h"

namespace pilum {
namespace {

TEST(NewestKept, IsFoundByTheSameStampAlone) {
  NewestKept kept;
  const FolderStamp stamp{1, 2, 3, 4};
  EXPECT_FALSE(kept.Find("a", stamp));
  kept.Keep("a", stamp, {{7}});
  EXPECT_EQ(kept.Find("a", stamp)->name.version, 7u);
  EXPECT_FALSE(kept.Find("b", stamp));
  for (const FolderStamp& other : {FolderStamp{0, 2, 3, 4}, {1, 0, 3, 4}, {1, 2, 0, 4}, {1, 2, 3, 0}}) {
    EXPECT_FALSE(kept.Find("a", other));
  }
  const FolderStamp later{1, 2, 5, 6};
  kept.Keep("a", later, {{8}});
  EXPECT_FALSE(kept.Find("a", stamp));
  EXPECT_EQ(kept.Find("a", later)->name.version, 8u);
}

TEST(NewestKept, HoldsSoManyTablesAndDropsTheOldest) {
  NewestKept kept;
  const FolderStamp stamp{1, 2, 3, 4};
  const size_t most = NewestKept::kMostTables;
  for (size_t i = 0; i < 2 * most + 1; ++i) kept.Keep(std::to_string(i), stamp, {{i}});
  for (size_t i = 0; i <= most; ++i) EXPECT_FALSE(kept.Find(std::to_string(i), stamp)) << i;
  for (size_t i = most + 1; i <= 2 * most; ++i) EXPECT_EQ(kept.Find(std::to_string(i), stamp)->name.version, i);
}

TEST(NewestListed, ByNumberAmongAttachedOnes) {
  auto store = ObjectStore::Memory();
  ReadContext ctx;
  EXPECT_FALSE(FindNewestListed(*store, ctx).ValueOrDie().version);
  for (const ManifestName& name : {ManifestName{9, ManifestScheme::kV1},
                                   {10, ManifestScheme::kV1},
                                   {2, ManifestScheme::kV1},
                                   {kDetachedBit | 5, ManifestScheme::kDetached}}) {
    ASSERT_TRUE(store->PutIfAbsent(ManifestPath(name), "x").ValueOrDie());
  }
  ASSERT_TRUE(store->PutIfAbsent("_versions/sub/12.manifest", "x").ValueOrDie());
  EXPECT_EQ(FindNewestListed(*store, ctx).ValueOrDie().version->name.version, 10u);
  EXPECT_FALSE(FindNewestListed(*store, ctx).ValueOrDie().mixed);
  ASSERT_TRUE(store->PutIfAbsent(ManifestPath({3, ManifestScheme::kV2}), "x").ValueOrDie());
  EXPECT_TRUE(FindNewestListed(*store, ctx).ValueOrDie().mixed);
}

}  // namespace
}  // namespace pilum
