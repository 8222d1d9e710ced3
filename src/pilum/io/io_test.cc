#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <arrow/buffer.h>

#include "pilum/io/object_store.h"

namespace pilum {
namespace {

class Stores : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    temp_ = TempDir::Make().ValueOrDie();
    store_ = std::string(GetParam()) == "local" ? ObjectStore::Open(temp_->path() + "/root/").ValueOrDie()
                                                : ObjectStore::Memory();
  }
  std::string Read(const std::string& path) {
    ReadContext ctx;
    auto source = store_->OpenSource(path, ctx).ValueOrDie();
    return source->ReadRange({0, source->size()}, ctx).ValueOrDie()->ToString();
  }
  std::unique_ptr<TempDir> temp_;
  std::shared_ptr<ObjectStore> store_;
};

TEST_P(Stores, PutIfAbsentKeepsTheFirst) {
  EXPECT_TRUE(store_->PutIfAbsent("a/b", "one").ValueOrDie());
  EXPECT_FALSE(store_->PutIfAbsent("a/b", "two").ValueOrDie());
  EXPECT_EQ(Read("a/b"), "one");
}

TEST_P(Stores, OneWinnerInARace) {
  std::atomic<int> won{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] { won += store_->PutIfAbsent("x", std::string(1000, 'a' + i)).ValueOrDie(); });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(won, 1);
  EXPECT_EQ(Read("x").size(), 1000u);
}

TEST_P(Stores, CreateIsVisibleAtCloseOnly) {
  {
    auto sink = store_->Create("p/q").ValueOrDie();
    ASSERT_TRUE(sink->Write("hello", 5).ok());
    EXPECT_FALSE(store_->Exists("p/q").ValueOrDie());
    EXPECT_TRUE(store_->List("").ValueOrDie().empty());
  }  // dropped without Close
  EXPECT_FALSE(store_->Exists("p/q").ValueOrDie());
  auto sink = store_->Create("p/q").ValueOrDie();
  std::string big(600'000, 'z');
  ASSERT_TRUE(sink->Write(big.data(), big.size()).ok());
  ASSERT_TRUE(sink->Write("!", 1).ok());
  EXPECT_EQ(sink->position(), big.size() + 1);
  ASSERT_TRUE(sink->Close().ok());
  EXPECT_EQ(Read("p/q"), big + "!");
}

TEST_P(Stores, PutFileMovesOnceOnly) {
  std::string file = temp_->path() + "/spool";
  std::ofstream(file) << "payload";
  EXPECT_TRUE(store_->PutFileIfAbsent("d/e", file).ValueOrDie());
  std::ofstream(file) << "other";
  EXPECT_FALSE(store_->PutFileIfAbsent("d/e", file).ValueOrDie());
  EXPECT_EQ(Read("d/e"), "payload");
}

TEST_P(Stores, ListIsSortedAndByPrefix) {
  for (const char* p : {"b/2", "a/1", "b/1", "bb"}) ASSERT_TRUE(store_->PutIfAbsent(p, "x").ValueOrDie());
  std::vector<std::string> got;
  for (const auto& o : store_->List("b/").ValueOrDie()) got.push_back(o.path);
  EXPECT_EQ(got, (std::vector<std::string>{"b/1", "b/2"}));
  EXPECT_EQ(store_->List("b").ValueOrDie().size(), 3u);
  EXPECT_TRUE(store_->List("none/").ValueOrDie().empty());
  ASSERT_TRUE(store_->Remove("b/1").ok());
  ASSERT_TRUE(store_->Remove("b/1").ok());
  EXPECT_EQ(store_->List("b/").ValueOrDie().size(), 1u);
}

TEST_P(Stores, ListBetweenIsAfterAndUpTo) {
  for (const char* p : {"b/1", "b/2", "b/3", "b/4", "c/1"}) ASSERT_TRUE(store_->PutIfAbsent(p, "x").ValueOrDie());
  const auto paths = [&](const std::string& after, const std::string& up_to) {
    std::string out;
    for (const auto& o : store_->ListBetween("b/", after, up_to).ValueOrDie()) out += o.path + " ";
    return out;
  };
  EXPECT_EQ(paths("", "b/2"), "b/1 b/2 ");
  EXPECT_EQ(paths("b/2", "b/3"), "b/3 ");
  EXPECT_EQ(paths("b/3", ""), "b/4 ");
}

// An object's time lies between two looks at the clock around its appearance, whenever its bytes were written.
TEST_P(Stores, AgesAreOfAppearanceOnTheStoresClock) {
  ASSERT_TRUE(store_->PutIfAbsent("first", "x").ValueOrDie());
  const std::string file = temp_->path() + "/spool";
  std::ofstream(file) << "payload";
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const StoreTime before = store_->Now().ValueOrDie();
  ASSERT_TRUE(store_->PutFileIfAbsent("d/moved", file).ValueOrDie());
  ASSERT_TRUE(store_->PutIfAbsent("d/put", "x").ValueOrDie());
  auto sink = store_->Create("d/written").ValueOrDie();
  ASSERT_TRUE(sink->Close().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const StoreTime after = store_->Now().ValueOrDie();
  const auto listed = store_->List("d/").ValueOrDie();
  EXPECT_EQ(listed.size(), 3u);
  for (const ObjectInfo& o : listed) {
    EXPECT_GE(o.modified, before) << o.path;
    EXPECT_LT(o.modified, after) << o.path;
  }
  EXPECT_TRUE(store_->List("").ValueOrDie().size() == 4) << "the clock leaves nothing behind";
}

TEST(LocalStore, ListsWhatKilledWritesLeft) {
  auto temp = TempDir::Make().ValueOrDie();
  auto store = ObjectStore::Open(temp->path()).ValueOrDie();
  ASSERT_TRUE(store->PutIfAbsent("parts/a", "x").ValueOrDie());
  std::ofstream(temp->path() + "/parts/.b.tmp-1-2-3") << "half";
  EXPECT_EQ(store->List("parts/").ValueOrDie().size(), 1u);
  auto left = store->ListUnfinished("parts/").ValueOrDie();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].path, "parts/.b.tmp-1-2-3");
  EXPECT_EQ(left[0].size, 4u);
  ASSERT_TRUE(store->RemoveUnfinished(left[0]).ok());
  ASSERT_TRUE(store->RemoveUnfinished(left[0]).ok());
  EXPECT_TRUE(store->ListUnfinished("").ValueOrDie().empty());
  EXPECT_EQ(KindOf(ObjectStore::Open(temp->path() + "/none").ValueOrDie()->Now().status()), ErrorKind::kNotFound);
}

TEST(MemoryStore, TellsAgesByItsClock) {
  StoreTime now{};
  auto store = ObjectStore::Memory("memory:", [&now] { return now; });
  now += std::chrono::seconds(5);
  ASSERT_TRUE(store->PutIfAbsent("a", "x").ValueOrDie());
  now += std::chrono::hours(1);
  EXPECT_EQ(store->Now().ValueOrDie() - store->List("").ValueOrDie()[0].modified, std::chrono::hours(1));
}

TEST_P(Stores, PathsStayInside) {
  for (const char* p : {"", "/etc", "../x", "a/../b", "a//b", "a/"}) {
    EXPECT_EQ(KindOf(store_->PutIfAbsent(p, "x").status()), ErrorKind::kUsage) << p;
  }
  ReadContext ctx;
  EXPECT_EQ(KindOf(store_->OpenSource("no/such", ctx).status()), ErrorKind::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(Io, Stores, ::testing::Values("local", "memory"));

TEST(ByteSource, CoalescesCountsAndBounds) {
  std::string bytes(100'000, 0);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  auto source = MakeMemorySource("mem", arrow::Buffer::FromString(bytes));
  ReadStats stats;
  ReadContext ctx;
  ctx.stats = &stats;
  std::vector<ByteRange> ranges = {{90'000, 10}, {5, 3}, {100, 50}, {7, 4}, {100'000, 0}};
  auto got = source->ReadRanges(ranges, ctx).ValueOrDie();
  for (size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_EQ(got[i]->ToString(), bytes.substr(ranges[i].offset, ranges[i].size)) << i;
  }
  EXPECT_EQ(stats.requests, 2u);
  EXPECT_EQ(stats.bytes, 145u + 10u);
  for (ByteRange bad : {ByteRange{100'001, 0}, ByteRange{99'999, 2}, ByteRange{1, ~0ull}, ByteRange{~0ull, 1}}) {
    Status st = source->ReadRange(bad, ctx).status();
    EXPECT_EQ(KindOf(st), ErrorKind::kCorrupt);
    EXPECT_NE(st.message().find("mem"), std::string::npos);
  }
}

TEST(ByteSource, StopsWhenAsked) {
  auto source = MakeMemorySource("mem", arrow::Buffer::FromString(std::string(10, 'x')));
  ReadContext ctx;
  ctx.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_EQ(KindOf(source->ReadRange({0, 5}, ctx).status()), ErrorKind::kDeadline);
}

TEST(ObjectStore, NamesAndSchemes) {
  EXPECT_EQ(KindOf(ObjectStore::Open("s3://b/p").status()), ErrorKind::kUnsupported);
  auto temp = TempDir::Make().ValueOrDie();
  for (const char* name : {"a b", "100%25", "x#y?z", "日本", "[0]", "tail "}) {
    auto store = ObjectStore::Open(temp->path() + "/" + name).ValueOrDie();
    EXPECT_TRUE(store->PutIfAbsent("f", "1").ValueOrDie());
    EXPECT_TRUE(std::filesystem::exists(temp->path() + "/" + std::string(name) + "/f")) << name;
  }
  auto decoded = ObjectStore::Open("file://" + temp->path() + "/p%20q").ValueOrDie();
  EXPECT_TRUE(decoded->PutIfAbsent("f", "1").ValueOrDie());
  EXPECT_TRUE(std::filesystem::exists(temp->path() + "/p q/f"));
}

TEST(LocalFile, FoldersAndMissingFilesAreNamed) {
  ReadContext ctx;
  EXPECT_EQ(KindOf(OpenLocalFile("/no/such/file", ctx).status()), ErrorKind::kNotFound);
  EXPECT_EQ(KindOf(OpenLocalFile("/tmp", ctx).status()), ErrorKind::kUsage);
  EXPECT_EQ(KindOf(CreateLocalFile("/tmp").status()), ErrorKind::kUsage);
}

}  // namespace
}  // namespace pilum
