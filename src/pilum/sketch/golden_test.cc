// The bytes of tests/golden/sketch are for ever: the same rows give them, and they are read. To add one, write it with
// PILUM_WRITE_GOLDEN=1; a file that is there is never changed.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "pilum/sketch/sketch_test_support.h"
#include "tests/support/paths/source_dir.h"

namespace pilum {
namespace {

// Rows that need no library: a linear congruence.
Rows GoldenRows(size_t n) {
  Rows out;
  uint64_t x = 42;
  for (size_t i = 0; i < n; ++i) {
    x = x * 6364136223846793005ull + 1442695040888963407ull;
    out.push_back(static_cast<int64_t>(x >> 40) % (i % 3 == 0 ? 10 : 5000));
  }
  return out;
}

void Compare(const std::string& name, const std::string& bytes) {
  const std::filesystem::path path =
      std::filesystem::path(testing::SourceDir()) / "tests/golden/sketch" / (name + ".bin");
  if (std::getenv("PILUM_WRITE_GOLDEN") != nullptr && !std::filesystem::exists(path)) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path;
  const std::string golden((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_TRUE(golden == bytes) << path << ": " << bytes.size() << " bytes that differ from the golden "
                               << golden.size();
}

template <typename S>
void Golden(const std::string& name, const typename S::Params& params) {
  for (size_t n : {0, 1, 100, 10000}) {
    S s = S::Empty(params).ValueOrDie();
    ASSERT_TRUE(s.Update(*Int64s(GoldenRows(n))).ok());
    const std::string bytes = s.ToBytes();
    Compare(fmt::format("{}_{}", name, n), bytes);
    EXPECT_EQ(S::FromBytes(bytes, name).ValueOrDie().ToBytes(), bytes);
  }
}

TEST(Golden, SameBytesForEver) {
  Golden<Hll>("hll_p10", {10, 0});
  Golden<Hll>("hll_p10_seed7", {10, 7});
  Golden<BloomFilter>("bloom", {43});
  Golden<CuckooFilter>("cuckoo", {4000});
  Golden<FuseFilter>("fuse_open", {8});
  Golden<CountMin>("count_min", {200, 4, false, 0});
  Golden<CountMin>("count_min_conservative", {200, 4, true, 0});
  Golden<HeavyHitters>("heavy_hitters", {64, 0});
  Golden<MinHash>("min_hash", {64, 0});
  Golden<Kll>("kll_int", {50, Kll::Kind::kInt, 0});
  Golden<Kll>("kll_float", {50, Kll::Kind::kFloat, 0});
  Golden<TDigest>("t_digest", {50});
  Golden<Moments>("moments_int", {Domain::kInt, 0});
}

TEST(Golden, SealedFuse) {
  for (uint32_t bits : {8, 16}) {
    FuseFilter s = FuseFilter::Empty({bits}).ValueOrDie();
    ASSERT_TRUE(s.Update(*Int64s(GoldenRows(1000))).ok());
    ASSERT_TRUE(s.Seal().ok());
    Compare(fmt::format("fuse_sealed_{}", bits), s.ToBytes());
  }
}

TEST(Golden, OtherValues) {
  HeavyHitters texts = HeavyHitters::Empty({64, 0}).ValueOrDie();
  ASSERT_TRUE(texts.Update(*Texts(GoldenRows(90))).ok());
  Compare("heavy_hitters_text", texts.ToBytes());
  std::vector<double> rows = {NAN, -0.0, INFINITY, 1e308, 5e-324};
  for (int64_t v : GoldenRows(500)) rows.push_back(static_cast<double>(v) / 7);
  Moments floats = Moments::Empty({Domain::kFloat, 0}).ValueOrDie();
  ASSERT_TRUE(floats.Update(*Doubles(rows)).ok());
  Compare("moments_float", floats.ToBytes());
  Moments words = Moments::Empty({Domain::kText, 0}).ValueOrDie();
  ASSERT_TRUE(words.Update(*Texts(GoldenRows(20))).ok());
  Compare("moments_text", words.ToBytes());
  TDigest digest = TDigest::Empty({50}).ValueOrDie();
  ASSERT_TRUE(digest.Update(*Doubles(rows)).ok());
  Compare("t_digest_float", digest.ToBytes());
}

}  // namespace
}  // namespace pilum
