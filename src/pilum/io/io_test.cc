#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <arrow/buffer.h>

#include "pilum/io/held_source.h"
#include "pilum/io/http/http_load.h"
#include "pilum/io/local_file.h"
#include "pilum/io/object_store.h"
#include "pilum/io/spool_space.h"
#include "pilum/io/s3/fake_s3.h"
#include "pilum/io/s3/s3_store.h"

namespace pilum {
namespace {

// A store to read has no call that writes: what is given one cannot.
template <typename Store>
concept Writes = requires(Store& s) {
  s.Create(std::string());
}
|| requires(Store& s) { s.PutIfAbsent(std::string(), std::string_view()); }
|| requires(Store& s) { s.PutFileIfAbsent(std::string(), std::string()); }
|| requires(Store& s) { s.Remove(std::string()); }
|| requires(Store& s) { s.RemoveUnfinished(ObjectInfo()); }
|| requires(Store& s) { s.Now(); };
static_assert(Writes<ObjectStore> && !Writes<ReadOnlyStore> && !std::is_convertible_v<ReadOnlyStore*, ObjectStore*>);

class Stores : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    temp_ = TempDir::Make().ValueOrDie();
    const std::string kind = GetParam();
    if (kind == "local") {
      store_ = ObjectStore::Open(temp_->path() + "/root/").ValueOrDie();
    } else if (kind == "memory") {
      store_ = ObjectStore::Memory();
    } else if (kind == "fake_s3") {
      store_ = FakeStore();
    } else {  // tests/s3/run.py starts a server and says where
      const char* uri = std::getenv("PILUM_TEST_S3");
      if (!uri) GTEST_SKIP() << "PILUM_TEST_S3 names no bucket";
      store_ = ObjectStore::Open(uri + temp_->path()).ValueOrDie();
    }
  }
  std::shared_ptr<ObjectStore> FakeStore() {
    s3::Config config;
    config.endpoint = "http://fake";
    config.region = "r";
    config.credentials = {"A", "S", ""};
    config.path_style = true;
    config.aws = false;
    config.part_bytes = 100'000;
    return s3::MakeStore("bucket", "p", config, &fake_, (*LoadHttp())->sha256);
  }
  // Long enough that the store's clock, which may tell seconds only, has gone on.
  void Pause() const {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::string(GetParam()) == "s3" ? 1100 : 30));
  }
  std::string Read(const std::string& path) {
    ReadContext ctx;
    auto source = store_->OpenSource(path, ctx).ValueOrDie();
    return source->ReadRange({0, source->size()}, ctx).ValueOrDie()->ToString();
  }
  std::unique_ptr<TempDir> temp_;
  s3::FakeS3 fake_;
  std::shared_ptr<ObjectStore> store_;
  ReadContext ctx_;
};

TEST_P(Stores, PutIfAbsentKeepsTheFirst) {
  EXPECT_TRUE(store_->PutIfAbsent("a/b", "one").ValueOrDie());
  EXPECT_FALSE(store_->PutIfAbsent("a/b", "two").ValueOrDie());
  EXPECT_EQ(Read("a/b"), "one");
}

TEST_P(Stores, OneWinnerInARace) {
  std::atomic<int> won{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) {
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
  EXPECT_EQ(sink->position(), big.size() + 1);
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

TEST_P(Stores, ListPathsGivesThePathsOfList) {
  for (const char* p : {"b/2", "b/c/d/e", "b/1", "bb", "c"}) ASSERT_TRUE(store_->PutIfAbsent(p, "x").ValueOrDie());
  for (const char* prefix : {"", "b", "b/", "b/c/", "b/c/d/e", "none/"}) {
    std::vector<std::string> want;
    for (const auto& o : store_->List(prefix).ValueOrDie()) want.push_back(o.path);
    auto got = store_->ListPaths(prefix, ctx_).ValueOrDie();
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, want) << prefix;
  }
}

TEST(HeldSource, IsOneRequest) {
  ReadStats stats;
  ReadContext ctx;
  ctx.stats = &stats;
  auto store = ObjectStore::Memory("m/");
  ASSERT_TRUE(store->PutIfAbsent("x", "0123456789").ValueOrDie());
  auto source = store->OpenSource("x", ctx).ValueOrDie();
  auto held = HoldWhole(*source, ctx).ValueOrDie();
  source.reset();
  EXPECT_EQ(held->name(), "m/x");
  EXPECT_EQ(held->size(), 10u);
  EXPECT_EQ(stats.requests, 1u);
  EXPECT_EQ(held->ReadRange({3, 4}, ctx).ValueOrDie()->ToString(), "3456");
  EXPECT_EQ(held->ReadRange({0, 10}, ctx).ValueOrDie()->ToString(), "0123456789");
  EXPECT_EQ(KindOf(held->ReadRange({8, 3}, ctx).status()), ErrorKind::kCorrupt);
  EXPECT_EQ(stats.requests, 1u);
  EXPECT_EQ(stats.bytes, 10u);
}

TEST_P(Stores, ListBetweenIsAfterAndUpTo) {
  for (const char* p : {"b/1", "b/2", "b/3", "b/4", "c/1"}) ASSERT_TRUE(store_->PutIfAbsent(p, "x").ValueOrDie());
  const auto paths = [&](const std::string& after, const std::string& up_to) {
    std::string out;
    for (const auto& o : store_->ListBetween("b/", after, up_to, ctx_).ValueOrDie()) out += o.path + " ";
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
  Pause();
  const StoreTime before = store_->Now().ValueOrDie();
  ASSERT_TRUE(store_->PutFileIfAbsent("d/moved", file).ValueOrDie());
  ASSERT_TRUE(store_->PutIfAbsent("d/put", "x").ValueOrDie());
  auto sink = store_->Create("d/written").ValueOrDie();
  ASSERT_TRUE(sink->Close().ok());
  Pause();
  const StoreTime after = store_->Now().ValueOrDie();
  const auto listed = store_->List("d/").ValueOrDie();
  EXPECT_EQ(listed.size(), 3u);
  for (const ObjectInfo& o : listed) {
    EXPECT_GE(o.modified, before) << o.path;
    EXPECT_LE(o.modified, after) << o.path;
    if (std::string_view(GetParam()) == "s3") continue;  // its clock tells seconds alone
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

TEST_P(Stores, LargeObjectsAreOnePiece) {
  std::string bytes(20'000'001, 0);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 + i / 4099);
  const std::string file = temp_->path() + "/spool";
  std::ofstream(file) << bytes;
  EXPECT_TRUE(store_->PutFileIfAbsent("large", file).ValueOrDie());
  EXPECT_FALSE(std::filesystem::exists(file));
  std::ofstream(file) << std::string(20'000'001, 'x');
  EXPECT_FALSE(store_->PutFileIfAbsent("large", file).ValueOrDie());
  EXPECT_EQ(Read("large"), bytes);
  auto sink = store_->Create("large").ValueOrDie();
  for (size_t at = 0; at < bytes.size(); at += 999'999) {
    ASSERT_TRUE(sink->Write(bytes.data() + at, std::min<size_t>(999'999, bytes.size() - at)).ok());
  }
  ASSERT_TRUE(sink->Close().ok());
  EXPECT_EQ(Read("large"), bytes);
  EXPECT_TRUE(store_->ListUnfinished("").ValueOrDie().empty());
}

TEST_P(Stores, AnyNameThatAPathMayHave) {
  for (const char* path : {"a b", "a+b", "a%20b", "a=b&c", "é/日本", "q?r#s", "x'y\"z", "(1)!*~", "@:,;$"}) {
    ASSERT_TRUE(store_->PutIfAbsent(path, path).ValueOrDie()) << path;
    EXPECT_FALSE(store_->PutIfAbsent(path, "other").ValueOrDie()) << path;
    EXPECT_EQ(Read(path), path);
    EXPECT_TRUE(store_->Exists(path).ValueOrDie()) << path;
    auto listed = store_->List(path).ValueOrDie();
    ASSERT_EQ(listed.size(), 1u) << path;
    EXPECT_EQ(listed[0].path, path);
    ASSERT_TRUE(store_->Remove(path).ok()) << path;
    EXPECT_FALSE(store_->Exists(path).ValueOrDie()) << path;
  }
}

TEST_P(Stores, PathsStayInside) {
  for (const char* p : {"", "/etc", "../x", "a/../b", "a//b", "a/"}) {
    EXPECT_EQ(KindOf(store_->PutIfAbsent(p, "x").status()), ErrorKind::kUsage) << p;
  }
  ReadContext ctx;
  EXPECT_EQ(KindOf(store_->OpenSource("no/such", ctx).status()), ErrorKind::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(Io, Stores, ::testing::Values("local", "memory", "fake_s3", "s3"));

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

std::shared_ptr<SlowReads> Slow(ReadCost cost) {
  auto slow = std::make_shared<SlowReads>();
  slow->cost = cost;
  return slow;
}

// Opened; what that costs is not counted.
std::shared_ptr<const ByteSource> OpenSlow(const std::string& bytes, const std::shared_ptr<SlowReads>& slow) {
  ReadContext ctx;
  auto source = OpenSlowMemorySource("slow", arrow::Buffer::FromString(bytes), slow, ctx).ValueOrDie();
  slow->requests = slow->bytes = 0;
  return source;
}

// As ReadRanges of `source`, checked against `bytes`.
void CheckRead(const ByteSource& source, const std::string& bytes, std::vector<ByteRange> ranges, ReadStats* stats) {
  ReadContext ctx;
  ctx.stats = stats;
  auto got = source.ReadRanges(ranges, ctx).ValueOrDie();
  for (size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_EQ(got[i]->ToString(), bytes.substr(ranges[i].offset, ranges[i].size)) << i;
  }
}

std::string Noise(size_t n) {
  std::string bytes(n, 0);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
  return bytes;
}

TEST(ByteSource, RequestsFollowTheCostOfTheSource) {
  const std::string bytes = Noise(100'000);
  auto slow = Slow({.gap = 1000, .most = 10'000, .parallel = 4, .tail = 0, .remote = true});
  auto source = OpenSlow(bytes, slow);
  ReadStats stats;
  // Gaps of 1,000 are read through, of 1,001 not; out of order, and one inside another.
  CheckRead(*source, bytes, {{5000, 10}, {1000, 10}, {2010, 10}, {3021, 500}, {3100, 10}}, &stats);
  EXPECT_EQ(stats.requests, 3u);
  EXPECT_EQ(stats.bytes, 1020u + 500u + 10u);
  // No gap makes a request larger than 10,000; overlap does, and is split in equal pieces.
  CheckRead(*source, bytes, {{0, 6000}, {6000, 4000}, {10'000, 1}}, &stats);
  EXPECT_EQ(stats.requests, 5u);
  CheckRead(*source, bytes, {{20'000, 25'001}, {40'000, 20'000}}, &stats);
  EXPECT_EQ(stats.requests, 9u);
  EXPECT_EQ(stats.bytes, 1530u + 10'001u + 40'000u);
  EXPECT_EQ(slow->requests, stats.requests);
  EXPECT_EQ(slow->bytes, stats.bytes);
}

TEST(ByteSource, SpareBytesCloseTheSmallestGaps) {
  const std::string bytes = Noise(100'000);
  auto slow = Slow({.gap = 10, .reach = 5000, .spare = 9000, .most = 50'000, .tail = 0, .remote = true});
  auto source = OpenSlow(bytes, slow);
  ReadStats stats;
  // Gaps of 4,000, 5,001 (too far), 3,000, 2,000 (then 0 of 9,000 are left) and 10 (near, which costs nothing).
  CheckRead(*source, bytes, {{0, 100}, {4100, 100}, {9201, 99}, {12'300, 100}, {14'400, 100}, {14'510, 5}}, &stats);
  EXPECT_EQ(stats.requests, 2u);
  EXPECT_EQ(stats.bytes, 4200u + 5314u);
  // 4,001 is more than is left.
  CheckRead(*source, bytes, {{0, 100}, {4101, 100}, {9202, 99}, {12'301, 100}, {14'401, 100}}, &stats);
  EXPECT_EQ(stats.requests, 5u);
  // A request stays below the most.
  CheckRead(*source, bytes, {{0, 30'000}, {31'000, 30'000}}, &stats);
  EXPECT_EQ(stats.requests, 7u);
}

TEST(ByteSource, RequestsAreInFlightTogether) {
  const std::string bytes = Noise(64'000);
  auto slow = Slow({.gap = 0, .most = 1000, .parallel = 8, .tail = 0, .remote = true});
  slow->latency = std::chrono::milliseconds(5);
  auto source = OpenSlow(bytes, slow);
  ReadStats stats;
  CheckRead(*source, bytes, {{0, 64'000}}, &stats);
  EXPECT_EQ(stats.requests, 64u);
  EXPECT_GT(slow->most_in_flight, 1);
  EXPECT_LE(slow->most_in_flight, 8);
}

// Fails from some byte on.
class BrokenSource : public ByteSource {
 public:
  uint64_t size() const override { return 100; }
  const std::string& name() const override { return name_; }
  const ReadCost& cost() const override { return cost_; }

 protected:
  Status ReadAt(ByteRange range, uint8_t* out, ReadContext&) const override {
    if (range.offset >= 90) throw std::bad_alloc();
    if (range.offset >= 30) return Status::IOError(fmt::format("broken at {}", range.offset));
    std::memset(out, 1, range.size);
    return Status::OK();
  }

 private:
  std::string name_ = "broken";
  ReadCost cost_{.gap = 0, .most = 10, .parallel = 4, .remote = true};
};

TEST(ByteSource, OneFailedRequestFailsTheRead) {
  BrokenSource source;
  ReadStats stats;
  ReadContext ctx;
  ctx.stats = &stats;
  EXPECT_EQ(source.ReadRange({0, 60}, ctx).status().message(), "broken at 30");
  EXPECT_EQ(KindOf(source.ReadRange({90, 10}, ctx).status()), ErrorKind::kMemory);
  EXPECT_EQ(stats.requests, 3u);
  EXPECT_EQ(stats.bytes, 30u);
}

TEST(ObjectStore, MemoryPlaysASlowOne) {
  auto slow = Slow({.tail = 4, .remote = true});
  auto store = ObjectStore::SlowMemory("memory:", slow);
  ASSERT_TRUE(store->PutIfAbsent("a", "0123456789").ValueOrDie());
  ReadStats stats;
  ReadContext ctx;
  ctx.stats = &stats;
  auto source = store->OpenSource("a", ctx).ValueOrDie();
  EXPECT_TRUE(source->cost().remote);
  EXPECT_EQ(stats.opens, 1u);
  EXPECT_EQ(stats.requests, 1u);
  EXPECT_EQ(stats.bytes, 4u);
  // The tail is there; what reaches before it is a request of all.
  CheckRead(*source, "0123456789", {{6, 4}, {9, 1}, {10, 0}}, &stats);
  EXPECT_EQ(stats.requests, 1u);
  CheckRead(*source, "0123456789", {{5, 2}, {7, 2}, {0, 1}}, &stats);
  EXPECT_EQ(stats.requests, 2u);
  EXPECT_EQ(stats.bytes, 4u + 7u);
  EXPECT_EQ(slow->requests, stats.requests);
  EXPECT_EQ(slow->bytes, stats.bytes);
}

TEST(ByteSource, StopsWhenAsked) {
  auto source = MakeMemorySource("mem", arrow::Buffer::FromString(std::string(10, 'x')));
  ReadContext ctx;
  ctx.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_EQ(KindOf(source->ReadRange({0, 5}, ctx).status()), ErrorKind::kDeadline);
}

TEST(ObjectStore, NamesAndSchemes) {
  EXPECT_EQ(KindOf(ObjectStore::Open("gs://b/p").status()), ErrorKind::kUnsupported);
  EXPECT_EQ(KindOf(ObjectStore::Open("/tmp/x", {{"region", "r"}}).status()), ErrorKind::kUsage);
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

// For notes that nobody relies on: in the same inode, but in no file that another name shares, or that a link leads to.
TEST(LocalFile, IsRefreshedWhereItLies) {
  namespace fs = std::filesystem;
  auto temp = TempDir::Make().ValueOrDie();
  const std::string path = temp->path() + "/note", other = temp->path() + "/other", link = temp->path() + "/link";
  EXPECT_FALSE(RefreshFile(path, "1"));
  EXPECT_FALSE(fs::exists(path)) << "it makes none";
  const auto text = [](const std::string& at) {
    std::ifstream in(at);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  for (const char* now : {"a first text", "short", "", "longer than the first text"}) {
    if (!fs::exists(path)) std::ofstream(path) << "as it was";
    EXPECT_TRUE(RefreshFile(path, now));
    EXPECT_EQ(text(path), now);
  }
  fs::create_symlink(path, link);
  EXPECT_FALSE(RefreshFile(link, "x"));
  fs::create_hard_link(path, other);
  EXPECT_FALSE(RefreshFile(path, "x"));
  EXPECT_EQ(text(other), "longer than the first text");
  EXPECT_FALSE(RefreshFile(temp->path(), "x"));
}

TEST(SpoolSpace, WhatDoesNotFitIsSaidBefore) {
  auto folder = TempDir::Make().ValueOrDie();
  EXPECT_TRUE(CheckSpoolSpace(folder->path(), 1).ok());
  const Status full = CheckSpoolSpace(folder->path(), uint64_t{1} << 60);
  EXPECT_TRUE(full.IsIOError());
  for (const std::string& part : {folder->path(), std::string("1152921504606.8 MB more"), std::string("PILUM_TMPDIR")})
    EXPECT_NE(full.message().find(part), std::string::npos) << full.message();
  EXPECT_TRUE(CheckSpoolSpace(folder->path() + "/nowhere", 1).ok()) << "writing says it better";
}

}  // namespace
}  // namespace pilum
