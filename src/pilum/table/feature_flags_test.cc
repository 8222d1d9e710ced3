#include "pilum/table/feature_flags.h"

#include <gtest/gtest.h>

namespace pilum {
namespace {

TEST(FeatureFlags, EveryBitIsJudged) {
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t flag = uint64_t{1} << bit;
    const bool readable = flag < 4096 && flag != 64 && flag != 512;
    const Status st = CheckReadable(flag, flag);
    EXPECT_EQ(st.ok(), readable) << flag;
    if (!st.ok()) {
      EXPECT_EQ(KindOf(st), ErrorKind::kUnsupported);
      EXPECT_NE(st.message().find(std::to_string(flag)), std::string::npos) << st.message();
    }
    EXPECT_TRUE(CheckReadable(0, flag).ok() || flag == 256 || flag == 1024) << "writers' flags do not bind readers";
  }
  EXPECT_TRUE(CheckReadable(0, 0).ok());
}

TEST(FeatureFlags, WordsThatContradictEachOtherAreCorrupt) {
  EXPECT_EQ(KindOf(CheckReadable(256, 0)), ErrorKind::kCorrupt);
  EXPECT_EQ(KindOf(CheckReadable(0, 1024)), ErrorKind::kCorrupt);
}

TEST(FeatureFlags, NamesForPeople) {
  EXPECT_EQ(FeatureFlagNames(1 | 16 | 4096), "deletion files, base paths, bit 12 (4096)");
  EXPECT_EQ(FeatureFlagNames(0), "");
  EXPECT_NE(CheckReadable(64, 0).message().find("data overlay files"), std::string::npos);
}

}  // namespace
}  // namespace pilum
