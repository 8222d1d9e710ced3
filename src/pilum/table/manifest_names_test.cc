#include "pilum/table/manifest_names.h"

#include <gtest/gtest.h>

#include "pilum/io/object_store.h"

namespace pilum {
namespace {

Status Put(ObjectStore& store, const std::string& path) { return store.PutIfAbsent(path, "x").status(); }

TEST(ManifestNames, AllThreeWaysRoundTrip) {
  const ManifestName names[] = {{7, ManifestScheme::kV1},
                                {1, ManifestScheme::kV2},
                                {UINT64_MAX / 2, ManifestScheme::kV2},
                                {kDetachedBit | 5, ManifestScheme::kDetached}};
  for (const ManifestName& name : names) EXPECT_EQ(ParseManifestName(FormatManifestName(name)), name);
  EXPECT_EQ(FormatManifestName({1, ManifestScheme::kV2}), "18446744073709551614.manifest");
  EXPECT_EQ(FormatManifestName({7, ManifestScheme::kV1}), "7.manifest");
}

TEST(ManifestNames, WhatIsNoManifestIsPassedOver) {
  for (const char* name : {"foo.manifest", "7.manifest#1", ".tmp7.manifest", "7", ".manifest", "007.manifest",
                           "-7.manifest", "99999999999999999999.manifest", "d7.manifest", "dx.manifest",
                           "latest_version_hint.json", "18446744073709551616.manifest"}) {
    EXPECT_FALSE(ParseManifestName(name)) << name;
  }
}

TEST(ManifestNames, VersionsComeInOrderOfNumbers) {
  auto store = ObjectStore::Memory();
  for (const char* v : {"9", "10", "11", "2"}) ASSERT_TRUE(Put(*store, fmt::format("_versions/{}.manifest", v)).ok());
  ASSERT_TRUE(Put(*store, "_versions/stray.txt").ok());
  ASSERT_TRUE(Put(*store, "_versions/sub/12.manifest").ok());
  ReadContext ctx;
  const auto listed = ListVersions(*store, ctx).ValueOrDie();
  std::vector<uint64_t> versions;
  for (const auto& v : listed.attached) versions.push_back(v.name.version);
  EXPECT_EQ(versions, (std::vector<uint64_t>{2, 9, 10, 11}));
  EXPECT_FALSE(listed.mixed);
  ASSERT_TRUE(Put(*store, ManifestPath({3, ManifestScheme::kV2})).ok());
  EXPECT_TRUE(ListVersions(*store, ctx).ValueOrDie().mixed);
}

}  // namespace
}  // namespace pilum
