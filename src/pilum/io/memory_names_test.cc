#include "pilum/io/memory_names.h"

#include <gtest/gtest.h>

namespace pilum {
namespace {

std::string Names(const std::string& uri) {
  std::string out;
  const auto store = ObjectStore::Open(uri).ValueOrDie();
  for (const ObjectInfo& info : store->List("").ValueOrDie()) out += info.path + " ";
  return out;
}

void Put(const std::string& uri, const std::string& path) {
  ASSERT_TRUE(ObjectStore::Open(uri).ValueOrDie()->PutIfAbsent(path, "x").ValueOrDie()) << uri;
}

TEST(MemoryNames, AreKept) {
  Put("memory://kept", "a/b");
  EXPECT_EQ(Names("memory://kept"), "a/b ");
  EXPECT_EQ(Names("memory://kept/"), "a/b ");
  EXPECT_EQ(Names("memory://kept/a"), "b ") << "what lies below a name";
  EXPECT_EQ(Names("memory://kep"), "");
  Put("memory://kept/sub", "c");
  EXPECT_EQ(Names("memory://kept"), "a/b sub/c ");
}

TEST(MemoryNames, ANewTableTakesTheName) {
  Put("memory://t", "old");
  const MemoryPlace old = FindMemoryPlace("memory://t").ValueOrDie();
  {
    const MemoryPlace place = EmptyMemoryPlace("memory://t").ValueOrDie();
    EXPECT_NE(place.uri, old.uri);
    Put(place.uri, "new");
  }
  EXPECT_EQ(Names("memory://t"), "new ") << "the name keeps it";
  EXPECT_EQ(Names(old.uri), "old ") << "who has it open keeps the old one";
  EXPECT_EQ(old.store->uri(), old.uri);
  EXPECT_EQ(Names(old.uri + "/sub"), "");
}

TEST(MemoryNames, AnEmptyPlaceIsUsed) {
  const MemoryPlace first = FindMemoryPlace("memory://empty").ValueOrDie();
  EXPECT_EQ(EmptyMemoryPlace("memory://empty").ValueOrDie().uri, first.uri);
}

TEST(MemoryNames, WithoutANameEachIsAnother) {
  std::string uri;
  {
    const MemoryPlace one = EmptyMemoryPlace("memory://").ValueOrDie();
    const MemoryPlace two = EmptyMemoryPlace("memory://").ValueOrDie();
    uri = one.uri;
    EXPECT_NE(one.uri, two.uri);
    Put(one.uri, "x");
    Put(two.uri, "x");
    EXPECT_EQ(Names(one.uri), "x ");
  }
  EXPECT_EQ(Names(uri), "") << "nobody held it";
}

TEST(MemoryNames, Files) {
  ReadContext ctx;
  auto sink = CreateFileOrObject("memory://files/file.bin").ValueOrDie();
  ASSERT_TRUE(sink->Write("abc", 3).ok());
  const auto early = OpenFileOrObject("memory://files/file.bin", ctx);
  EXPECT_EQ(KindOf(early.status()), ErrorKind::kNotFound);
  ASSERT_TRUE(sink->Close().ok());
  EXPECT_EQ(OpenFileOrObject("memory://files/file.bin", ctx).ValueOrDie()->size(), 3u);
  ASSERT_TRUE(CreateFileOrObject("memory://file.bin").ValueOrDie()->Close().ok());
  EXPECT_EQ(OpenFileOrObject("memory://file.bin", ctx).ValueOrDie()->size(), 0u);
  ASSERT_TRUE(CreateFileOrObject("memory://f/g/h.bin").ValueOrDie()->Close().ok());
  EXPECT_EQ(OpenFileOrObject("memory://f/g/h.bin", ctx).ValueOrDie()->size(), 0u);
}

TEST(MemoryNames, BadOnes) {
  for (const char* uri : {"memory://a//b", "memory://a/../b", "memory:///a"}) {
    EXPECT_EQ(KindOf(ObjectStore::Open(uri).status()), ErrorKind::kUsage) << uri;
  }
  EXPECT_EQ(KindOf(ObjectStore::Open("memory://x", {{"region", "x"}}).status()), ErrorKind::kUsage);
}

}  // namespace
}  // namespace pilum
