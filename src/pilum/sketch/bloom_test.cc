#include "pilum/sketch/bloom.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "pilum/base/hash.h"

namespace pilum {
namespace {

uint64_t HashOfNumber(uint64_t i) {
  return BloomFilter::HashOf(std::string_view(reinterpret_cast<const char*>(&i), 8));
}

TEST(Bloom, NeverMissesAndKeepsItsRate) {
  for (uint64_t n : {1ull, 10ull, 1000ull, 100000ull}) {
    BloomFilter f = BloomFilter::ForItems(n);
    for (uint64_t i = 0; i < n; ++i) f.Insert(HashOfNumber(i));
    for (uint64_t i = 0; i < n; ++i) ASSERT_TRUE(f.MayContain(HashOfNumber(i)));
    uint64_t wrong = 0;
    const uint64_t asked = 400000;
    for (uint64_t i = 0; i < asked; ++i) wrong += f.MayContain(HashOfNumber((1ull << 40) + i));
    const double rate = double(wrong) / double(asked);
    EXPECT_LT(rate, n <= 10 ? 1e-5 : 0.0105) << n;
    if (n >= 1000) {
      EXPECT_GT(rate, 0.005) << "larger than it need be at " << n;
    }
    RecordProperty("false_positives_" + std::to_string(n), std::to_string(rate));
    EXPECT_EQ(f.ToBytes().size(), BloomFilter::BytesForItems(n));
  }
}

TEST(Bloom, FloorAndSize) {
  EXPECT_EQ(BloomFilter::BlocksForItems(0), 43u);
  EXPECT_EQ(BloomFilter::BlocksForItems(1024), 43u);
  EXPECT_EQ(BloomFilter::BlocksForItems(100000), 4200u);
  EXPECT_LE(BloomFilter::BlocksForItems(~0ull), BloomFilter::kMaxBlocks);
}

TEST(Bloom, SameSetSameBytesInAnyOrder) {
  std::vector<uint64_t> hashes;
  for (uint64_t i = 0; i < 3000; ++i) hashes.push_back(HashOfNumber(i * 7));
  BloomFilter a = BloomFilter::ForItems(3000), b = a, left = a, right = a;
  for (uint64_t h : hashes) a.Insert(h);
  std::shuffle(hashes.begin(), hashes.end(), std::mt19937(3));
  for (size_t i = 0; i < hashes.size(); ++i) {
    b.Insert(hashes[i]);
    b.Insert(hashes[i]);
    (i < 2000 ? left : right).Insert(hashes[i]);
    if (i > 1500) right.Insert(hashes[i]);  // overlapping halves
  }
  EXPECT_EQ(a.ToBytes(), b.ToBytes());
  BloomFilter lr = left, rl = right;
  ASSERT_TRUE(lr.Merge(right).ok());
  ASSERT_TRUE(rl.Merge(left).ok());
  EXPECT_EQ(lr.ToBytes(), a.ToBytes());
  EXPECT_EQ(rl.ToBytes(), a.ToBytes());
  EXPECT_EQ(KindOf(lr.Merge(BloomFilter::ForItems(5000))), ErrorKind::kUsage);
}

TEST(Bloom, GoldenBytes) {
  BloomFilter f = BloomFilter::ForItems(1);
  for (uint64_t i = 0; i < 100; ++i) f.Insert(HashOfNumber(i));
  EXPECT_EQ(HashOfNumber(1), 0x9f29cb17a2a49995ull);
  EXPECT_EQ(Hex(Blake3Of(f.ToBytes())), "93546538a14542de08de1b192a383c9d6300f6f9e911f3d400717b737ac9951b");
}

TEST(Bloom, RoundTripAndHostileBytes) {
  BloomFilter f = BloomFilter::ForItems(1);
  f.Insert(HashOfNumber(5));
  const std::string bytes = f.ToBytes();
  ASSERT_EQ(BloomFilter::FromBytes(bytes, "x").ValueOrDie(), f);
  for (size_t n = 0; n < bytes.size(); n += n < 40 ? 1 : 97) {
    EXPECT_FALSE(BloomFilter::FromBytes(std::string_view(bytes).substr(0, n), "x").ok()) << n;
  }
  EXPECT_FALSE(BloomFilter::FromBytes(bytes + "a", "x").ok());
  for (size_t i = 0; i < BloomFilter::kHeaderBytes; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = bytes;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      EXPECT_FALSE(BloomFilter::FromBytes(bad, "x").ok()) << i;
    }
  }
}

}  // namespace
}  // namespace pilum
