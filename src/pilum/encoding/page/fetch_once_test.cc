#include "pilum/encoding/page/fetch_once.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

namespace pilum {
namespace {

using Once = FetchOnce<int>;

TEST(FetchOnce, TheFirstFetchesAndTheOthersGetIt) {
  Once once;
  Once::Claim first(&once);
  EXPECT_EQ(first.Wait(), nullptr);
  std::atomic<int> got{0};
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      Once::Claim claim(&once);
      if (auto value = claim.Wait()) got += *value;
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(got, 0);
  once.Put(std::make_shared<const int>(7));
  first.Done();
  for (auto& t : others) t.join();
  EXPECT_EQ(got, 21);
  EXPECT_EQ(*Once::Claim(&once).Wait(), 7);
  EXPECT_EQ(*once.Put(std::make_shared<const int>(8)), 7);  // what is there stays
}

TEST(FetchOnce, AReadMayDoWithoutButTakesWhatIsComing) {
  Once once;
  EXPECT_EQ(Once::Claim(&once, false).Wait(), nullptr);  // nobody is at it: it does not become this read's duty
  Once::Claim first(&once);
  EXPECT_EQ(first.Wait(), nullptr);
  Once::Claim second(&once, false);
  std::thread fetch([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    once.Put(std::make_shared<const int>(7));
    first.Done();
  });
  EXPECT_EQ(*second.Wait(), 7);
  fetch.join();
}

TEST(FetchOnce, AReadThatGivesUpHandsItOn) {
  Once once;
  std::optional<Once::Claim> first;
  first.emplace(&once);
  std::atomic<bool> to_fetch{false};
  std::thread other([&] {
    Once::Claim claim(&once);
    to_fetch = claim.Wait() == nullptr;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(to_fetch);
  first.reset();
  other.join();
  EXPECT_TRUE(to_fetch);
}

}  // namespace
}  // namespace pilum
