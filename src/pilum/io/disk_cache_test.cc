// A folder of bytes of remote objects: bounded, checked, shared.
#include "pilum/io/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <arrow/buffer.h>

#include "pilum/io/object_store.h"

namespace pilum {
namespace {

namespace fs = std::filesystem;

class DiskCacheTest : public ::testing::Test {
 protected:
  std::vector<fs::path> Files() const {
    std::vector<fs::path> out;
    for (const auto& e : fs::recursive_directory_iterator(dir_->path())) {
      if (e.is_regular_file()) out.push_back(e.path());
    }
    return out;
  }
  uint64_t Bytes() const {
    uint64_t n = 0;
    for (const auto& f : Files()) n += fs::file_size(f);
    return n;
  }
  std::unique_ptr<TempDir> dir_ = TempDir::Make().ValueOrDie();
  DiskCache cache_{dir_->path(), 1 << 20};
};

TEST_F(DiskCacheTest, KeepsAndForgets) {
  EXPECT_FALSE(cache_.Get("a"));
  cache_.Put("a", "one");
  cache_.Put("b", "");
  EXPECT_EQ(*cache_.Get("a"), "one");
  EXPECT_EQ(*cache_.Get("b"), "");
  EXPECT_FALSE(cache_.Get("ab"));
  cache_.Put("a", "two");
  EXPECT_EQ(*cache_.Get("a"), "two");
  cache_.Remove("a");
  cache_.Remove("a");
  EXPECT_FALSE(cache_.Get("a"));
  DiskCache another(dir_->path(), 1 << 20);
  EXPECT_EQ(*another.Get("b"), "");
}

TEST_F(DiskCacheTest, DamageIsAbsence) {
  const std::string bytes(500, 'x');
  for (size_t at = 0;; at += 7) {
    cache_.Put("key", bytes);
    ASSERT_EQ(Files().size(), 1u);
    const fs::path file = Files()[0];
    if (at >= fs::file_size(file)) break;
    std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
    f.seekg(static_cast<std::streamoff>(at));
    const char c = static_cast<char>(f.get() ^ 1);
    f.seekp(static_cast<std::streamoff>(at));
    f.put(c);
    f.close();
    EXPECT_FALSE(cache_.Get("key")) << at;
    cache_.Put("key", bytes);
    fs::resize_file(file, at);
    EXPECT_FALSE(cache_.Get("key")) << at;
  }
  // Another key's file in its place.
  cache_.Put("other", bytes);
  cache_.Remove("key");
  const fs::path other = Files()[0];
  cache_.Put("key", "k");
  fs::path key;
  for (const auto& f : Files()) {
    if (f != other) key = f;
  }
  fs::copy_file(other, key, fs::copy_options::overwrite_existing);
  EXPECT_FALSE(cache_.Get("key"));
  EXPECT_EQ(*cache_.Get("other"), bytes);
}

TEST_F(DiskCacheTest, StaysWithinItsBoundAndKeepsWhatIsUsed) {
  std::ofstream(dir_->path() + "/somebody's file") << std::string(2 << 20, 's');
  fs::create_directories(dir_->path() + "/ab");
  std::ofstream(dir_->path() + "/ab/else") << "theirs";
  const std::string bytes(20'000, 'x');
  cache_.Put("used", bytes);
  for (int i = 0; i < 200; ++i) {
    cache_.Put("k" + std::to_string(i), bytes);
    ASSERT_TRUE(cache_.Get("used")) << i;
    EXPECT_LE(Bytes() - (2 << 20) - 6, (1 << 20) + (1 << 20) / 16 + 30'000);
    if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // of files' clocks
  }
  cache_.Trim();
  EXPECT_LE(Bytes() - (2 << 20) - 6, 1u << 20);
  EXPECT_FALSE(cache_.Get("k0"));
  EXPECT_TRUE(cache_.Get("k199"));
  cache_.Put("huge", std::string(1 << 20, 'h'));
  EXPECT_FALSE(cache_.Get("huge")) << "it would push out everything else";
  EXPECT_TRUE(fs::exists(dir_->path() + "/somebody's file"));
  EXPECT_TRUE(fs::exists(dir_->path() + "/ab/else"));
}

TEST_F(DiskCacheTest, WhatKilledProcessesLeftGoes) {
  cache_.Put("a", "one");
  const fs::path file = Files()[0];
  const fs::path old_one = file.native() + ".tmp-1-1", new_one = file.native() + ".tmp-1-2";
  std::ofstream(old_one) << "half";
  std::ofstream(new_one) << "half";
  fs::last_write_time(old_one, fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache_.Trim();
  EXPECT_FALSE(fs::exists(old_one));
  EXPECT_TRUE(fs::exists(new_one));
}

TEST_F(DiskCacheTest, AFolderThatCannotBeWrittenIsNoError) {
  DiskCache none("/proc/none", 1 << 20);
  none.Put("a", "one");
  EXPECT_FALSE(none.Get("a"));
  none.Trim();
}

// Many processes write, read, damage nothing and trim at once: what is read is right or absent.
TEST_F(DiskCacheTest, ManyProcesses) {
  const auto value = [](int key) { return std::string(3000 + key % 7 * 1000, static_cast<char>('a' + key % 26)); };
  std::vector<pid_t> children;
  for (int p = 0; p < 4; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      DiskCache cache(dir_->path(), 200'000);
      bool ok = true;
      for (int i = 0; i < 400; ++i) {
        const int key = (i * 31 + p * 17) % 90;
        const auto held = cache.Get(std::to_string(key));
        ok = ok && (!held || *held == value(key));
        if (!held) cache.Put(std::to_string(key), value(key));
      }
      ::_exit(ok ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  DiskCache(dir_->path(), 200'000).Trim();
  EXPECT_LE(Bytes(), 200'000u);
}

TEST_F(DiskCacheTest, SourcesAskOnce) {
  std::string bytes(900'000, 0);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 + i / 977);
  auto slow = std::make_shared<SlowReads>();
  auto store = ObjectStore::SlowMemory("slow:", slow);
  ASSERT_TRUE(store->PutIfAbsent("x", bytes).ok());
  auto shared = std::make_shared<DiskCache>(dir_->path(), 8 << 20);
  for (int round = 0; round < 2; ++round) {
    ReadStats stats;
    ReadContext ctx;
    ctx.stats = &stats;
    const auto source = MakeCachedSource(
        "x", bytes.size(), "slow:/x", store->cost(), [&](ReadContext& c) { return store->OpenSource("x", c); }, shared);
    EXPECT_EQ(stats.requests, 0u);
    const std::vector<ByteRange> ranges = {{10, 100}, {bytes.size() - 1000, 1000}};
    const auto got = source->ReadRanges(ranges, ctx).ValueOrDie();
    EXPECT_EQ(got[0]->ToString(), bytes.substr(10, 100));
    EXPECT_EQ(got[1]->ToString(), bytes.substr(bytes.size() - 1000));
    EXPECT_EQ(stats.requests, round == 0 ? 2u : 0u) << "the tail comes with the opening";
    EXPECT_EQ(stats.opens, round == 0 ? 1u : 0u);
    EXPECT_EQ(slow->requests, 2u);
  }
  // Listed with another size: it is another object.
  ReadContext ctx;
  const auto wrong = MakeCachedSource(
      "x", 77, "slow:/y", store->cost(), [&](ReadContext& c) { return store->OpenSource("x", c); }, shared);
  EXPECT_EQ(KindOf(wrong->ReadRange({0, 77}, ctx).status()), ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace pilum
