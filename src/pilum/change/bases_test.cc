// Base paths: their numbers, and what data files go where.
#include "pilum/change/bases.h"

#include <gtest/gtest.h>

namespace pilum {
namespace {

std::vector<uint32_t> IdsOf(const std::vector<BasePath>& bases) {
  std::vector<uint32_t> out;
  for (const auto& b : bases) out.push_back(b.id);
  return out;
}

TEST(Bases, AreNumberedFromTheLeastFree) {
  const auto numbered = NumberedBases({{0, "a", "/a"}, {2, "b", "/b"}, {0, "", "/c"}, {0, "", "/d"}});
  ASSERT_TRUE(numbered.ok());
  EXPECT_EQ(IdsOf(*numbered), (std::vector<uint32_t>{1, 2, 3, 4}));
}

TEST(Bases, AreEachThereOnce) {
  for (const std::vector<BasePath>& twice : {std::vector<BasePath>{{0, "a", "/a"}, {0, "a", "/b"}},
                                             {{0, "a", "/a"}, {0, "b", "/a"}},
                                             {{7, "a", "/a"}, {7, "b", "/b"}},
                                             {{0, "a", ""}}}) {
    EXPECT_EQ(KindOf(NumberedBases(twice).status()), ErrorKind::kUsage);
  }
  EXPECT_TRUE(NumberedBases({{0, "", "/a"}, {0, "", "/b"}}).ok());  // without names
}

TEST(Bases, TargetsAreFoundByNameThenByPath) {
  const std::vector<BasePath> bases = {{3, "/b", "memory://bases-a", false}, {1, "", "/b", true}};
  BaseChoice choice;
  choice.names = {"/b", "memory://bases-a"};
  const auto targets = TargetsOf(choice, bases, {});
  ASSERT_TRUE(targets.ok());
  EXPECT_EQ((*targets)[0].base, 3u);
  EXPECT_EQ((*targets)[0].folder, "");
  EXPECT_EQ((*targets)[1].base, 3u);
  choice.names = {"nope"};
  EXPECT_NE(TargetsOf(choice, bases, {}).status().message().find("not found in available bases: /b, /b"),
            std::string::npos);
}

TEST(Bases, AllOfThemComeById) {
  const std::vector<BasePath> bases = {{3, "x", "memory://bases-x", false}, {1, "y", "memory://bases-y", true}};
  const BaseChoice all{{}, true, true};
  const auto targets = TargetsOf(all, bases, {});
  ASSERT_TRUE(targets.ok());
  ASSERT_EQ(targets->size(), 3u);
  EXPECT_FALSE((*targets)[0].base);
  EXPECT_EQ((*targets)[1].base, 1u);
  EXPECT_EQ((*targets)[1].folder, "data/");
  EXPECT_EQ((*targets)[2].base, 3u);
  EXPECT_EQ(KindOf(TargetsOf({{}, true, false}, {}, {}).status()), ErrorKind::kUsage);
  EXPECT_EQ(KindOf(TargetsOf({{"x"}, true, true}, bases, {}).status()), ErrorKind::kUsage);
}

}  // namespace
}  // namespace pilum
