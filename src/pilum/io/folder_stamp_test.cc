#include "pilum/io/folder_stamp.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "pilum/io/object_store.h"

namespace pilum {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSecond = 1'000'000'000;

TEST(FolderStamp, OnlyTimesThatLaterChangesCannotBearAreSettled) {
  const int64_t now = 1'700'000'000 * kSecond + 5;
  EXPECT_TRUE(IsSettled(now - 3 * kSecond, now));
  EXPECT_FALSE(IsSettled(now - kSecond, now));  // a file system may tell times apart by two seconds
  EXPECT_FALSE(IsSettled(now, now));
  EXPECT_FALSE(IsSettled(now + kSecond, now));          // a clock was set back
  EXPECT_FALSE(IsSettled(now - 5 - 9 * kSecond, now));  // whole seconds
  EXPECT_FALSE(IsSettled(INT64_MAX - 1, INT64_MIN));
}

class Stamped : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::temp_directory_path() / fmt::format("pilum-stamp-{}", ::getpid());
    fs::remove_all(dir_);
    for (const char* name : {"plain/x", "links/x", "folders/x", "folders/below/y"}) {
      fs::create_directories((dir_ / name).parent_path());
      std::ofstream(dir_ / name) << "x";
    }
    fs::create_symlink(dir_ / "nowhere", dir_ / "links/y");
    store_ = ObjectStore::Open(dir_.native()).ValueOrDie();
  }
  void TearDown() override { fs::remove_all(dir_); }

  static void Settle() { std::this_thread::sleep_for(std::chrono::milliseconds(2100)); }
  std::optional<FolderStamp> Listed(const std::string& folder) {
    std::optional<FolderStamp> stamp;
    ListStamped(*store_, folder, &stamp, ctx_).ValueOrDie();
    return stamp;
  }

  fs::path dir_;
  std::shared_ptr<ObjectStore> store_;
  ReadContext ctx_;
};

TEST_F(Stamped, EachChangeGivesAnotherOne) {
  Settle();
  const auto before = Listed("plain");
  if (!before) GTEST_SKIP() << "the file system of " << dir_ << " is none whose times are relied on";
  EXPECT_EQ(StampOf(*store_, "plain"), before);
  EXPECT_EQ(StampOf(*store_, "none"), std::nullopt);
  EXPECT_EQ(Listed("none"), std::nullopt);
  EXPECT_EQ(Listed("links"), std::nullopt);
  EXPECT_EQ(Listed("folders"), std::nullopt);
  std::ofstream(dir_ / "plain/y") << "y";
  EXPECT_NE(StampOf(*store_, "plain"), before);
  fs::remove(dir_ / "plain/y");
  EXPECT_NE(StampOf(*store_, "plain"), before);
  fs::last_write_time(dir_ / "plain", fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_NE(StampOf(*store_, "plain"), before);
}

TEST_F(Stamped, ListsAsTheStoreDoes) {
  for (const char* folder : {"plain", "links", "folders", "none"}) {
    std::optional<FolderStamp> stamp;
    EXPECT_EQ(ListStamped(*store_, folder, &stamp, ctx_).ValueOrDie(),
              store_->ListPaths(std::string(folder) + "/", ctx_).ValueOrDie());
  }
}

TEST_F(Stamped, OtherStoresHaveNone) {
  auto memory = ObjectStore::Memory();
  ASSERT_TRUE(memory->PutIfAbsent("a/x", "x").ValueOrDie());
  std::optional<FolderStamp> stamp = FolderStamp{};
  EXPECT_EQ(ListStamped(*memory, "a", &stamp, ctx_).ValueOrDie(), std::vector<std::string>{"a/x"});
  EXPECT_EQ(stamp, std::nullopt);
  EXPECT_EQ(StampOf(*memory, "a"), std::nullopt);
}

}  // namespace
}  // namespace pilum
