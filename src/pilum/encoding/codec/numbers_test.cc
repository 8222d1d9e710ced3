// Sequences of version 2.3: what they decode to, and what is refused before anything of its size is made.
#include "pilum/encoding/codec/numbers.h"

#include <gtest/gtest.h>

#include "pilum/base/bytes.h"

namespace pilum::codec {
namespace {

CodecDesc Flat(uint64_t bits) { return {.kind = CodecKind::kFlat, .bits = bits}; }
CodecDesc Range(uint64_t start, uint64_t step) {
  return {.kind = CodecKind::kRange, .bits = 64, .start = start, .step = step};
}
CodecDesc Of(CodecKind kind, std::vector<CodecDesc> children, uint64_t num_items = 0, uint64_t start = 0) {
  CodecDesc d;
  d.kind = kind;
  d.bits = 64;
  d.start = start;
  d.num_items = num_items;
  d.children = std::move(children);
  return d;
}

class Payload {
 public:
  template <typename T>
  Payload& Add(std::initializer_list<T> values) {
    for (T v : values) {
      bytes_.resize(bytes_.size() + sizeof(T));
      StoreLE<T>(bytes_.data() + bytes_.size() - sizeof(T), v);
    }
    return *this;
  }
  Bytes bytes() {
    const size_t n = bytes_.size();
    bytes_.reserve(n + kSlack);
    return {bytes_.data(), n};
  }

 private:
  std::vector<uint8_t> bytes_;
};

std::vector<uint64_t> All(const Result<Numbers>& numbers) {
  std::vector<uint64_t> out;
  EXPECT_TRUE(numbers.ok()) << numbers.status();
  for (uint64_t i = 0; numbers.ok() && i < numbers->size(); ++i) out.push_back((*numbers)[i]);
  return out;
}
using V = std::vector<uint64_t>;

TEST(Numbers, EachKind) {
  EXPECT_EQ(All(DecodeNumbers(Range(3, 10), {}, 3)), (V{3, 13, 23}));
  CodecDesc constant{.kind = CodecKind::kConstant, .bytes = std::string("\5\0\0\0", 4), .has_bytes = true};
  EXPECT_EQ(All(DecodeNumbers(constant, {}, 2)), (V{5, 5}));
  Payload flat;
  EXPECT_EQ(All(DecodeNumbers(Flat(16), flat.Add<uint16_t>({7, 9}).bytes(), 2)), (V{7, 9}));
  Payload deltas;
  EXPECT_EQ(All(DecodeNumbers(Of(CodecKind::kDelta, {Flat(8)}, 0, 4), deltas.Add<uint8_t>({1, 0, 6}).bytes(), 4)),
            (V{4, 5, 5, 11}));
  EXPECT_EQ(All(DecodeNumbers(Of(CodecKind::kDelta, {Range(1, 1)}), {}, 4)), (V{0, 1, 3, 6}));
  // Keys with bytes, items without.
  Payload keys;
  keys.Add<uint64_t>({3, 0}).Add<uint8_t>({1, 0, 1});
  EXPECT_EQ(All(DecodeNumbers(Of(CodecKind::kDictionary, {Flat(8), Range(1, 1)}, 2), keys.bytes(), 3)), (V{2, 1, 2}));
  Payload runs;
  runs.Add<uint64_t>({4}).Add<uint16_t>({8, 9}).Add<uint16_t>({1, 3});
  EXPECT_EQ(All(DecodeNumbers(Of(CodecKind::kRle, {Flat(16), Flat(16)}), runs.bytes(), 4)), (V{8, 9, 9, 9}));
  // Nothing stored at all: 0 once, 7 twice.
  const CodecDesc free_runs = Of(CodecKind::kRle, {Range(0, 7), Range(1, 1)});
  EXPECT_FALSE(HasPayload(free_runs));
  EXPECT_EQ(All(DecodeNumbers(free_runs, {}, 3)), (V{0, 7, 7}));
}

TEST(Numbers, PositionsAreFoundWhereTheyAre) {
  Payload flat;
  const Numbers stored = *DecodeNumbers(Flat(8), flat.Add<uint8_t>({3, 13, 23}).bytes(), 3);
  const Numbers range = *DecodeNumbers(Range(3, 10), {}, 3);
  for (const Numbers* n : {&stored, &range}) {
    EXPECT_TRUE(n->CheckPositions(24).ok());
    EXPECT_FALSE(n->CheckPositions(23).ok());
    for (uint64_t v = 0; v < 30; ++v) EXPECT_EQ(n->LowerBound(v), v <= 3 ? 0u : v <= 13 ? 1u : v <= 23 ? 2u : 3u) << v;
  }
  EXPECT_FALSE(DecodeNumbers(Range(3, 0), {}, 2)->CheckPositions(100).ok());
}

TEST(Numbers, WhatCannotBeIsRefused) {
  auto refused = [](const CodecDesc& d, Bytes in, uint64_t n) {
    EXPECT_FALSE(DecodeNumbers(d, in, n).ok()) << d.ToString();
  };
  const uint64_t huge = uint64_t{1} << 40;
  EXPECT_TRUE(DecodeNumbers(Range(0, 1), {}, huge).ok());  // takes no memory
  refused(Range(0, huge), {}, huge);
  refused(Of(CodecKind::kDelta, {Range(0, 1)}), {}, huge);
  refused(Of(CodecKind::kRle, {Range(0, 1), Range(huge, 1)}), {}, huge);
  refused({.kind = CodecKind::kConstant}, {}, 1);
  refused(Flat(64), {}, 1);
  refused(Flat(24), {}, 1);
  Payload keys;
  keys.Add<uint64_t>({1, 0}).Add<uint8_t>({2});
  refused(Of(CodecKind::kDictionary, {Flat(8), Range(0, 1)}, 2), keys.bytes(), 1);
  Payload sizes;
  refused(Of(CodecKind::kDictionary, {Flat(8), Flat(8)}, 1), sizes.Add<uint64_t>({1, ~uint64_t{0}}).bytes(), 1);
  Payload runs;
  runs.Add<uint64_t>({1}).Add<uint8_t>({8, 3});
  refused(Of(CodecKind::kRle, {Flat(8), Flat(8)}), runs.bytes(), 4);
  refused(Of(CodecKind::kRle, {Range(1, 1), Range(0, 0)}), {}, 4);
}

}  // namespace
}  // namespace pilum::codec
