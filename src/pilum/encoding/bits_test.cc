#include "pilum/encoding/bits.h"

#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "pilum/encoding/codec/codec.h"

namespace pilum::bits {
namespace {

using Bools = std::vector<bool>;

std::vector<uint64_t> Pack(const Bools& b) {
  std::vector<uint64_t> words(Words(b.size()));
  for (size_t i = 0; i < b.size(); ++i) words[i / 64] |= uint64_t{b[i]} << (i % 64);
  return words;
}

Bools Draw(std::mt19937_64* random, uint64_t n, uint64_t one_in) {
  Bools b(n);
  for (size_t i = 0; i < n; ++i) b[i] = (*random)() % one_in == 0;
  return b;
}

TEST(Bits, CountSelectAppend) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const uint64_t n = random() % 300;
    const Bools b = Draw(&random, n, 1 + random() % 4);
    const auto words = Pack(b);
    const uint64_t from = random() % (n + 1), to = from + random() % (n - from + 1);
    EXPECT_EQ(Count(words.data(), from, to), static_cast<uint64_t>(std::count(b.begin() + from, b.begin() + to, true)));
    uint64_t word = 0, before = 0, i = 0;
    for (uint64_t at = 0; at < n; ++at) {
      if (!b[at]) continue;
      if (i % 3 != 1) EXPECT_EQ(Select(words.data(), i, &word, &before), at);
      ++i;
    }
    Bools all = Draw(&random, random() % 200, 2);
    auto packed = Pack(all);
    Append(&packed, all.size(), words.data(), from, to - from);
    all.insert(all.end(), b.begin() + from, b.begin() + to);
    EXPECT_EQ(packed, Pack(all));
  }
}

TEST(Bits, CompressAndOffsetsAgreeWithTheirDefinition) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 300; ++round) {
    const uint64_t n = random() % 1500;
    const Bools starts = Draw(&random, n, 1 + random() % 40), visible = Draw(&random, n, 1 + random() % 2);
    Bools kept;
    std::vector<int64_t> offsets, all;
    for (uint64_t i = 0, seen = 0; i < n; ++i) {
      if (starts[i])
        kept.push_back(visible[i]), offsets.push_back(static_cast<int64_t>(seen)),
            all.push_back(static_cast<int64_t>(i));
      seen += visible[i];
    }
    const auto s = Pack(starts), v = Pack(visible);
    for (Kernel kernel : {Kernel::kBest, Kernel::kScalar}) {
      std::vector<uint64_t> out(s.size() + 1, 7);
      ASSERT_EQ(Compress(v.data(), s.data(), s.size(), out.data(), kernel), kept.size());
      out.resize(Words(kept.size()));
      ASSERT_EQ(out, Pack(kept));
      std::vector<int32_t> narrow(n + 16);
      std::vector<int64_t> wide(n + 16);
      ASSERT_EQ(Offsets(s.data(), v.data(), s.size(), narrow.data(), kernel), offsets.size());
      ASSERT_EQ(Offsets(s.data(), v.data(), s.size(), wide.data(), kernel), offsets.size());
      narrow.resize(offsets.size()), wide.resize(offsets.size());
      ASSERT_EQ(wide, offsets);
      ASSERT_EQ(std::vector<int64_t>(narrow.begin(), narrow.end()), offsets);
      narrow.resize(n + 16);
      ASSERT_EQ(Offsets(s.data(), nullptr, s.size(), narrow.data(), kernel), all.size());
      narrow.resize(all.size());
      ASSERT_EQ(std::vector<int64_t>(narrow.begin(), narrow.end()), all);
    }
  }
}

TEST(Bits, UnpackAgreesWithTheScalarKernel) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20; ++round) {
    uint64_t in[16], out[16];
    for (auto& w : in) w = random();
    uint16_t levels[1024];
    codec::Unpack1024Scalar(16, 1, reinterpret_cast<const uint8_t*>(in), reinterpret_cast<uint8_t*>(levels));
    Unpack1024(reinterpret_cast<const uint8_t*>(in), out);
    for (int i = 0; i < 1024; ++i) ASSERT_EQ(out[i / 64] >> (i % 64) & 1, levels[i]) << i;
  }
}

}  // namespace
}  // namespace pilum::bits
