#include "pilum/table/refs.h"

#include <gtest/gtest.h>

#include "pilum/io/object_store.h"

namespace pilum {
namespace {

class Refs : public ::testing::Test {
 protected:
  void Put(const std::string& path, const std::string& text) { ASSERT_TRUE(store_->PutIfAbsent(path, text).ok()); }
  std::shared_ptr<ObjectStore> store_ = ObjectStore::Memory();
  ReadContext ctx_;
};

TEST_F(Refs, TagsAndBranches) {
  Put("_refs/tags/v1.json", R"({"branch": null, "version": 3, "createdAt": "2026-11-29T20:51:17Z", "manifestSize": 9,
                                "metadata": {"by": "me"}})");
  Put("_refs/tags/dev.json", R"({"branch": "dev", "version": 18446744073709551615})");
  Put("_refs/tags/.tmp", "x");
  Put("_refs/branches/feature%2Fx.json", R"({"parentBranch": "dev", "parentVersion": 4, "createAt": 1795985477,
      "identifier": {"version_mapping": [[2, "ab"], [3, "cd"], "odd"]}})");
  const auto tags = ListTags(*store_, ctx_).ValueOrDie();
  ASSERT_EQ(tags.size(), 2u);
  EXPECT_EQ(tags.at("v1").version, 3u);
  EXPECT_EQ(tags.at("v1").branch, std::nullopt);
  EXPECT_EQ(tags.at("v1").metadata.at("by"), "me");
  EXPECT_EQ(tags.at("dev").branch, "dev");
  EXPECT_EQ(tags.at("dev").version, UINT64_MAX);
  const auto branches = ListBranches(*store_, ctx_).ValueOrDie();
  ASSERT_EQ(branches.size(), 1u);
  EXPECT_EQ(branches.at("feature/x").parent, "dev");
  EXPECT_EQ(branches.at("feature/x").created_at, 1795985477);
  EXPECT_EQ(branches.at("feature/x").identifier.size(), 2u);
  EXPECT_EQ(FindTag(*store_, "v1", ctx_).ValueOrDie()->version, 3u);
  EXPECT_EQ(FindTag(*store_, "nope", ctx_).ValueOrDie(), std::nullopt);
}

TEST_F(Refs, NoneAndDamagedOnes) {
  EXPECT_TRUE(ListTags(*store_, ctx_).ValueOrDie().empty());
  int i = 0;
  for (const char* text : {"", "[]", "{", "{}", R"({"version": -1})", R"({"version": "3"})", R"({"version": 1.5})"}) {
    const std::string name = fmt::format("t{}", i++);
    Put("_refs/tags/" + name + ".json", text);
    const auto tag = FindTag(*store_, name, ctx_);
    EXPECT_EQ(KindOf(tag.status()), ErrorKind::kCorrupt) << text;
    EXPECT_NE(tag.status().message().find(name + ".json"), std::string::npos) << tag.status().message();
  }
  EXPECT_FALSE(ListTags(*store_, ctx_).ok());
}

TEST_F(Refs, NamesThatWouldLeaveTheFolderAreRefused) {
  for (const char* name : {"", "..", "../x", "a/b", ".a", "a.lock", "a\nb"}) {
    EXPECT_EQ(KindOf(FindTag(*store_, name, ctx_).status()), ErrorKind::kUsage) << name;
  }
  for (const char* name : {"", "/a", "a/", "a//b", "a/../b", "../a"}) EXPECT_FALSE(CheckBranchName(name).ok()) << name;
  for (const char* name : {"dev", "feature/x", "é", "a-1_b.c"}) EXPECT_TRUE(CheckBranchName(name).ok()) << name;
  EXPECT_EQ(BranchFolder("feature/x"), "tree/feature/x");
}

}  // namespace
}  // namespace pilum
