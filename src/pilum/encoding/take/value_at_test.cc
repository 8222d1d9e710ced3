// Single levels against the decoder of whole blocks, which is their reference.
#include "pilum/encoding/take/value_at.h"

#include <random>

#include <gtest/gtest.h>

#include "pilum/base/bytes.h"

namespace pilum::take {
namespace {

CodecDesc Flat(uint64_t bits) {
  CodecDesc d;
  d.bits = bits;
  return d;
}

struct Block {
  std::string name;
  CodecDesc desc;
  uint64_t n;
  std::string bytes;  // with slack behind
  codec::Bytes view() const { return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size() - codec::kSlack}; }
};

// Any bits are levels of some kind, so the blocks are random.
std::vector<Block> Blocks(std::mt19937_64* random) {
  std::vector<Block> out;
  auto add = [&](std::string name, CodecDesc desc, uint64_t n, std::string head, uint64_t size) {
    for (uint64_t i = 0; i < size; ++i) head.push_back(static_cast<char>((*random)()));
    head.append(codec::kSlack, '\x55');
    out.push_back({std::move(name), std::move(desc), n, std::move(head)});
  };
  for (uint64_t n : {1, 63, 64, 500, 1024}) {
    add("flat", Flat(16), n, "", n * 2);
    for (char width : {0, 1, 2, 7, 16}) {
      CodecDesc d = Flat(16);
      d.kind = CodecKind::kInlineBitpacking;
      add(fmt::format("inline {}", int{width}), d, n, std::string{width, 0}, 128ull * static_cast<uint64_t>(width));
    }
  }
  for (uint64_t width : {1, 2, 5}) {
    CodecDesc d = Flat(16);
    d.kind = CodecKind::kOutOfLineBitpacking;
    d.children = {Flat(width)};
    add(fmt::format("packed {}", width), d, 2 * 1024 + 300, "", 3 * 128 * width);
    add(fmt::format("packed {} and a raw tail", width), d, 1024 + 30, "", 128 * width + 60);
    add(fmt::format("packed {} full", width), d, 2048, "", 256 * width);
  }
  CodecDesc rle = Flat(16);
  rle.kind = CodecKind::kRle;
  rle.children = {Flat(16), Flat(8)};
  std::string runs(8, '\0');
  StoreLE<uint64_t>(runs.data(), 2 * 20);
  for (int i = 0; i < 20; ++i) AppendLE<uint16_t>(&runs, static_cast<uint16_t>(i * 3));
  uint64_t total = 0;
  for (int i = 0; i < 20; ++i) {
    const auto length = static_cast<uint8_t>(i == 7 ? 0 : 1 + (*random)() % 255);
    runs.push_back(static_cast<char>(length));
    total += length;
  }
  add("runs", rle, total, runs, 0);
  return out;
}

TEST(LevelAt, AgreesWithWholeBlocks) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20; ++round) {
    for (const Block& b : Blocks(&random)) {
      ASSERT_TRUE(LevelsAreAddressable(b.desc)) << b.name;
      std::vector<uint16_t> want((b.n + 1023) / 1024 * 1024 + codec::kSlack);
      const RowRange all{0, b.n};
      ASSERT_TRUE(codec::DecodeLevels(b.desc, b.view(), b.n, {&all, 1}, want.data()).ok()) << b.name;
      bool only_bits = true;
      for (uint64_t i = 0; i < b.n; ++i) {
        auto got = LevelAt(b.desc, b.view(), b.n, i);
        ASSERT_TRUE(got.ok()) << b.name << got.status();
        ASSERT_EQ(*got, want[i]) << b.name << " level " << i << " of " << b.n;
        only_bits &= want[i] <= 1;
      }
      std::vector<uint64_t> bits;
      auto as_bits = LevelBits(b.desc, b.view(), b.n, &bits);
      ASSERT_TRUE(as_bits.ok()) << b.name;
      if (!*as_bits) continue;
      ASSERT_TRUE(only_bits) << b.name;
      uint64_t ones = 0;
      for (uint64_t i = 0; i < b.n; ++i) {
        ASSERT_EQ(bits[i / 64] >> (i % 64) & 1, want[i]) << b.name << " bit " << i << " of " << b.n;
        if (want[i]) EXPECT_EQ(PlaceOfOne(bits, b.n, ones), i);
        EXPECT_EQ(CountOnes(bits, i), ones);
        ones += want[i];
      }
      EXPECT_EQ(PlaceOfOne(bits, b.n, ones), b.n);
    }
  }
}

TEST(LevelAt, WhatDoesNotFitIsRefused) {
  std::mt19937_64 random(2);
  for (const Block& b : Blocks(&random)) {
    if (b.view().empty() || b.name == "inline 0") continue;
    auto cut = b.view().first(b.view().size() - 1);
    EXPECT_EQ(KindOf(LevelAt(b.desc, cut, b.n, b.n - 1).status()), ErrorKind::kCorrupt) << b.name << " of " << b.n;
  }
}

}  // namespace
}  // namespace pilum::take
