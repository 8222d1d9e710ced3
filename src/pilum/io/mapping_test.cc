#include "pilum/io/mapping.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "pilum/io/object_store.h"

namespace pilum {
namespace {

class Mapping : public ::testing::Test {
 protected:
  void SetUp() override {
    temp_ = TempDir::Make().ValueOrDie();
    path_ = temp_->path() + "/x";
  }
  std::shared_ptr<const ByteSource> Open(size_t size) {
    std::string bytes(size, 'x');
    std::ofstream(path_, std::ios::binary) << bytes;
    ReadContext ctx;
    return OpenLocalFile(path_, ctx).ValueOrDie();
  }
  std::unique_ptr<TempDir> temp_;
  std::string path_;
};

TEST_F(Mapping, HoldsTheFileAndIsReadableBehindIt) {
  for (size_t size : {1u, 4095u, 4096u, 100'000u}) {
    auto source = Open(size);
    auto bytes = source->Mapped();
    ASSERT_EQ(bytes.size(), size);
    EXPECT_EQ(source->Mapped().data(), bytes.data());
    unsigned sum = 0;
    for (size_t i = 0; i < size + ByteSource::kReadSlack; ++i) sum += bytes.data()[i];
    EXPECT_EQ(sum, size * 'x') << "the slack holds zeros";
    EXPECT_TRUE(source->CheckMapped().ok());
  }
}

TEST_F(Mapping, NoneForMemoryAndEmptyFiles) {
  EXPECT_TRUE(MakeMemorySource("m", arrow::Buffer::FromString("abc"))->Mapped().empty());
  EXPECT_TRUE(Open(0)->Mapped().empty());
}

TEST_F(Mapping, AFileThatShrinksIsAnErrorAndNoCrash) {
  auto source = Open(100'000);
  auto bytes = source->Mapped();
  EXPECT_EQ(bytes[99'999], 'x');
  std::filesystem::resize_file(path_, 10'000);
  unsigned sum = 0;
  for (size_t i = 0; i < bytes.size(); i += 100) sum += bytes[i];  // past the end: SIGBUS without the guard
  EXPECT_EQ(sum, 100u * 'x');
  Status st = source->CheckMapped();
  EXPECT_EQ(KindOf(st), ErrorKind::kCorrupt);
  EXPECT_NE(st.message().find(path_), std::string::npos);
  EXPECT_NE(st.message().find("shrank while being read"), std::string::npos);
  // Growing back does not bring the bytes back.
  std::filesystem::resize_file(path_, 100'000);
  EXPECT_FALSE(source->CheckMapped().ok());
}

TEST_F(Mapping, BytesLostFromTheLastPageAreNoticed) {
  auto source = Open(4000);
  EXPECT_EQ(source->Mapped()[3999], 'x');
  std::filesystem::resize_file(path_, 3000);
  EXPECT_EQ(source->Mapped()[3999], 0);
  EXPECT_FALSE(source->CheckMapped().ok());
}

TEST_F(Mapping, ManyAtOnceFromManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 50; ++i) {
        std::string path = fmt::format("{}{}", path_, t);
        std::ofstream(path, std::ios::binary) << std::string(20'000, 'y');
        ReadContext ctx;
        auto source = OpenLocalFile(path, ctx).ValueOrDie();
        auto bytes = source->Mapped();
        std::filesystem::resize_file(path, 5'000);
        EXPECT_EQ(bytes[0], 'y');
        EXPECT_EQ(bytes[19'000], 0);
        EXPECT_FALSE(source->CheckMapped().ok());
      }
    });
  }
  for (auto& t : threads) t.join();
}

using MappingDeathTest = Mapping;

TEST_F(MappingDeathTest, OtherFaultsStayWhatTheyWere) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto source = Open(10);
  ASSERT_FALSE(source->Mapped().empty());
  EXPECT_EXIT(
      {
        struct sigaction plain = {};
        plain.sa_handler = SIG_DFL;
        sigaction(SIGBUS, &plain, nullptr);
        auto inner = Open(10);
        static_cast<void>(inner->Mapped());
        raise(SIGBUS);
      },
      ::testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(
      {
        signal(SIGBUS, [](int) { _exit(7); });
        auto inner = Open(10);
        static_cast<void>(inner->Mapped());
        raise(SIGBUS);
      },
      ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace pilum
