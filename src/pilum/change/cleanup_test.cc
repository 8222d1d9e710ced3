#include <gtest/gtest.h>

#include "pilum/change/auto_cleanup.h"

namespace pilum {
namespace {

using Config = std::map<std::string, std::string>;
using std::chrono::hours;
using std::chrono::seconds;

std::optional<CleanupOptions> Asked(Config config, uint64_t version) {
  return AutoCleanupOf(config, version).ValueOrDie();
}

TEST(AutoCleanup, TakesItsTurn) {
  EXPECT_FALSE(Asked({}, 10).has_value());
  const Config every5 = {{"lance.auto_cleanup.interval", "5"}, {"lance.auto_cleanup.older_than", "14d"}};
  EXPECT_FALSE(Asked(every5, 9).has_value());
  EXPECT_FALSE(Asked(every5, kDetachedBit | 10).has_value());
  const auto asked = Asked(every5, 10);
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->policy.older_than, hours(14 * 24));
  EXPECT_FALSE(asked->error_if_tagged);
  EXPECT_FALSE(asked->policy.delete_unverified);
  EXPECT_TRUE(Asked({{"lance.auto_cleanup.interval", "0"}}, 7).has_value());
}

TEST(AutoCleanup, ReadsAges) {
  const auto age = [](const std::string& text) {
    return AutoCleanupOf({{"lance.auto_cleanup.interval", "1"}, {"lance.auto_cleanup.older_than", text}}, 1);
  };
  EXPECT_EQ(age("0s").ValueOrDie()->policy.older_than, seconds(0));
  EXPECT_EQ(age("1h 30m").ValueOrDie()->policy.older_than, seconds(5400));
  EXPECT_EQ(age("2weeks3 days").ValueOrDie()->policy.older_than, hours(17 * 24));
  EXPECT_EQ(age("250ms").ValueOrDie()->policy.older_than, std::chrono::milliseconds(250));
  for (const char* wrong : {"", "14", "d", "14x", "-1d", "1d x"}) {
    EXPECT_EQ(KindOf(age(wrong).status()), ErrorKind::kUsage) << wrong;
  }
  EXPECT_TRUE(age("99999999999999years").ok());
}

TEST(AutoCleanup, NamesTheKeyThatIsWrong) {
  for (const char* key : {"interval", "retain_versions", "delete_rate_limit"}) {
    Config config = {{"lance.auto_cleanup.interval", "1"}};
    config[std::string("lance.auto_cleanup.") + key] = "many";
    const Status st = AutoCleanupOf(config, 1).status();
    EXPECT_EQ(KindOf(st), ErrorKind::kUsage);
    EXPECT_NE(st.message().find(key), std::string::npos) << st.ToString();
  }
}

}  // namespace
}  // namespace pilum
