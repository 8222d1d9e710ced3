// Codecs on bytes made by hand: the worked examples of docs/formats/lance_file.md, scalar references, hostile bytes.
#include "pilum/encoding/codec/codec.h"

#include <random>

#include <arrow/memory_pool.h>
#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include "pilum/base/bytes.h"

namespace pilum::codec {
namespace {

// Buffers as a ByteSource gives them: readable past the end.
struct Owned {
  explicit Owned(std::string s) : bytes(std::move(s)), size(bytes.size()) { bytes.resize(size + kSlack, '\xAA'); }
  Bytes view() const { return Bytes(reinterpret_cast<const uint8_t*>(bytes.data()), size); }
  std::string bytes;
  size_t size;
};

CodecDesc Flat(uint64_t bits) {
  CodecDesc d;
  d.bits = bits;
  return d;
}
CodecDesc Node(CodecKind kind, std::vector<CodecDesc> children, uint64_t bits = 0) {
  CodecDesc d;
  d.kind = kind;
  d.bits = bits;
  d.children = std::move(children);
  return d;
}

DecodeSpec Spec(uint64_t count, uint64_t bytes, bool wide = false) {
  return {count, bytes, wide, arrow::default_memory_pool()};
}

Result<DataBlock> DecodeChunk(const CodecDesc& d, const std::vector<Owned>& buffers, uint64_t n,
                              std::vector<RowRange> ranges, bool wide = false) {
  uint64_t bytes = 0;
  std::vector<Bytes> views;
  for (const auto& b : buffers) {
    views.push_back(b.view());
    bytes += b.size;
  }
  PILUM_ASSIGN_OR_RETURN(auto decoder, MakeValueDecoder(d, Spec(CountOf(ranges), bytes, wide)));
  PILUM_RETURN_NOT_OK(decoder->Append(views, n, ranges));
  return decoder->Finish();
}

template <typename T>
std::vector<T> Values(const DataBlock& b) {
  std::vector<T> out(b.count);
  std::memcpy(out.data(), b.data->data(), b.count * sizeof(T));
  return out;
}

std::vector<std::string> Strings(const DataBlock& b) {
  std::vector<std::string> out;
  for (uint64_t i = 0; i < b.count; ++i) {
    uint64_t from = b.wide ? LoadLE<int64_t>(b.offsets->data() + i * 8) : LoadLE<int32_t>(b.offsets->data() + i * 4);
    uint64_t to =
        b.wide ? LoadLE<int64_t>(b.offsets->data() + i * 8 + 8) : LoadLE<int32_t>(b.offsets->data() + i * 4 + 4);
    out.emplace_back(reinterpret_cast<const char*>(b.data->data()) + from, to - from);
  }
  return out;
}

template <typename T>
std::string Raw(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

TEST(Bitpack, EveryWidthAgreesWithTheDefinition) {
  std::mt19937_64 random(1);
  for (uint64_t bits : {8, 16, 32, 64}) {
    for (uint64_t width = 0; width <= bits; ++width) {
      std::string packed(128 * width, '\0');
      for (auto& c : packed) c = static_cast<char>(random());
      Owned in(packed);
      std::vector<uint8_t> fast(1024 * bits / 8 + kSlack), slow(1024 * bits / 8 + kSlack);
      Unpack1024(bits, width, in.view().data(), fast.data());
      Unpack1024Scalar(bits, width, in.view().data(), slow.data());
      ASSERT_EQ(fast, slow) << bits << " bits at " << width;
      for (uint64_t i : {0, 1, 16, 127, 128, 500, 1023}) {
        uint64_t want = 0;
        std::memcpy(&want, slow.data() + i * bits / 8, bits / 8);
        ASSERT_EQ(UnpackOne(bits, width, in.view().data(), i), want) << bits << " bits at " << width << ", value " << i;
      }
    }
  }
}

// int64 k % 8, 200 rows, at 3 bits: word 0 is all zero, word 1 holds 001 for rows 0, 1, 8, 9, 16, 17.
TEST(Bitpack, InlineChunkOfTheFormatPage) {
  std::vector<uint64_t> words(48);
  for (int lane = 0; lane < 16; ++lane) {
    for (int row = 0; row < 64; ++row) {
      static const int order[] = {0, 4, 2, 6, 1, 5, 3, 7};
      int index = order[row / 8] * 16 + row % 8 * 128 + lane;
      uint64_t v = index < 200 ? index % 8 : 0;
      for (int b = 0; b < 3; ++b) {
        int at = row * 3 + b;
        words[at / 64 * 16 + lane] |= (v >> b & 1) << (at % 64);
      }
    }
  }
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[1], 0x0009000009000009u);
  std::string bytes;
  AppendLE<uint64_t>(&bytes, 3);
  bytes += Raw(words);
  CodecDesc d = Node(CodecKind::kInlineBitpacking, {}, 64);
  std::vector<Owned> buffers{Owned(bytes)};
  auto all = DecodeChunk(d, buffers, 200, {{0, 200}});
  ASSERT_TRUE(all.ok()) << all.status();
  auto v = Values<uint64_t>(*all);
  for (int i = 0; i < 200; ++i) ASSERT_EQ(v[i], static_cast<uint64_t>(i % 8));
  auto few = DecodeChunk(d, buffers, 200, {{7, 9}, {199, 200}});
  EXPECT_EQ(Values<uint64_t>(*few), (std::vector<uint64_t>{7, 0, 7}));
  auto many = DecodeChunk(d, buffers, 200, {{3, 60}});
  EXPECT_EQ(Values<uint64_t>(*many)[5], 0u);

  std::vector<Owned> cut{Owned(bytes.substr(0, bytes.size() - 1))};
  EXPECT_EQ(KindOf(DecodeChunk(d, cut, 200, {{0, 200}}).status()), ErrorKind::kCorrupt);
  EXPECT_FALSE(DecodeChunk(d, buffers, 1025, {{0, 200}}).ok());
  bytes[0] = 65;  // wider than the type
  std::vector<Owned> wide{Owned(bytes)};
  EXPECT_FALSE(DecodeChunk(d, wide, 200, {{0, 200}}).ok());
}

TEST(Bitpack, OutOfLineTailIsRawOrPacked) {
  std::vector<uint16_t> out(2048 + 32);
  // 3 values at 1 bit: raw tail of 3 words, or a whole packed block of 64.
  Owned raw(Raw(std::vector<uint16_t>{1, 0, 1}));
  ASSERT_TRUE(DecodeOutOfLine(16, 1, raw.view(), 3, reinterpret_cast<uint8_t*>(out.data())).ok());
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[2], 1);
  std::vector<uint16_t> block(64);
  block[1] = 1;  // lane 1, row 0: value 1
  Owned packed(Raw(block));
  ASSERT_TRUE(DecodeOutOfLine(16, 1, packed.view(), 3, reinterpret_cast<uint8_t*>(out.data())).ok());
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 1);
  EXPECT_FALSE(DecodeOutOfLine(16, 1, packed.view(), 1500, reinterpret_cast<uint8_t*>(out.data())).ok());
}

TEST(Rle, RunsOfTheFormatPage) {
  CodecDesc d = Node(CodecKind::kRle, {Flat(32), Flat(8)});
  std::vector<Owned> buffers{Owned(Raw(std::vector<int32_t>{7, 7, 9})), Owned(std::string("\xff\x2d\x14", 3))};
  auto all = DecodeChunk(d, buffers, 320, {{0, 320}});
  ASSERT_TRUE(all.ok()) << all.status();
  auto v = Values<int32_t>(*all);
  for (int i = 0; i < 320; ++i) ASSERT_EQ(v[i], i < 300 ? 7 : 9) << i;
  EXPECT_EQ(Values<int32_t>(*DecodeChunk(d, buffers, 320, {{299, 301}})), (std::vector<int32_t>{7, 9}));
  // Runs past the chunk, as pylance 7 writes them: in the middle of one, and whole ones.
  EXPECT_EQ(Values<int32_t>(*DecodeChunk(d, buffers, 301, {{299, 301}})), (std::vector<int32_t>{7, 9}));
  EXPECT_EQ(Values<int32_t>(*DecodeChunk(d, buffers, 100, {{0, 100}})), std::vector<int32_t>(100, 7));
  EXPECT_FALSE(DecodeChunk(d, buffers, 321, {{0, 321}}).ok());  // fewer
}

TEST(Variable, OffsetsAreRelativeToTheBuffer) {
  std::string bytes = Raw(std::vector<uint32_t>{0x14, 0x19, 0x19, 0x19, 0x1e}) + "helloworldHH";
  CodecDesc d = Node(CodecKind::kVariable, {Flat(32)});
  std::vector<Owned> buffers{Owned(bytes)};
  EXPECT_EQ(Strings(*DecodeChunk(d, buffers, 4, {{0, 4}})), (std::vector<std::string>{"hello", "", "", "world"}));
  EXPECT_EQ(Strings(*DecodeChunk(d, buffers, 4, {{0, 1}, {3, 4}}, true)), (std::vector<std::string>{"hello", "world"}));
  std::string past = bytes;
  StoreLE<uint32_t>(past.data() + 16, 33);
  EXPECT_FALSE(DecodeChunk(d, {Owned(past)}, 4, {{3, 4}}).ok());
  std::string back = bytes;
  StoreLE<uint32_t>(back.data() + 4, 0x13);
  EXPECT_FALSE(DecodeChunk(d, {Owned(back)}, 4, {{0, 4}}).ok());
  EXPECT_FALSE(DecodeChunk(d, buffers, 1000, {{0, 4}}).ok());
}

TEST(ByteStreamSplit, JoinsBytes) {
  std::vector<uint32_t> values = {0x04030201, 0x14131211, 0x24232221};
  std::string split;
  for (int b = 0; b < 4; ++b) {
    for (uint32_t v : values) split += static_cast<char>(v >> (b * 8));
  }
  CodecDesc d = Node(CodecKind::kByteStreamSplit, {Flat(32)});
  std::vector<Owned> buffers{Owned(split)};
  EXPECT_EQ(Values<uint32_t>(*DecodeChunk(d, buffers, 3, {{0, 3}})), values);
  EXPECT_EQ(Values<uint32_t>(*DecodeChunk(d, buffers, 3, {{1, 2}}))[0], values[1]);
  EXPECT_FALSE(DecodeChunk(d, buffers, 4, {{0, 3}}).ok());
}

std::string Lz4(const std::string& s) {
  std::string out(LZ4_compressBound(s.size()), '\0');
  out.resize(LZ4_compress_default(s.data(), out.data(), s.size(), out.size()));
  std::string framed;
  AppendLE<uint32_t>(&framed, s.size());
  return framed + out;
}
std::string Zstd(const std::string& s, bool prefix) {
  std::string out(ZSTD_compressBound(s.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), s.data(), s.size(), 1));
  std::string framed;
  if (prefix) AppendLE<uint64_t>(&framed, s.size());
  return framed + out;
}

TEST(General, Lz4AndZstdWithAndWithoutPrefix) {
  std::vector<uint64_t> values(500);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i * i;
  std::string plain = Raw(values);
  for (auto [scheme, bytes] : {std::pair{Compression::kLz4, Lz4(plain)},
                               {Compression::kZstd, Zstd(plain, true)},
                               {Compression::kZstd, Zstd(plain, false)}}) {
    CodecDesc d = Node(CodecKind::kGeneral, {Flat(64)});
    d.scheme = scheme;
    std::vector<Owned> buffers{Owned(bytes)};
    auto all = DecodeChunk(d, buffers, 500, {{0, 500}});
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_EQ(Values<uint64_t>(*all), values);
    EXPECT_EQ(Values<uint64_t>(*DecodeChunk(d, buffers, 500, {{3, 4}, {499, 500}})),
              (std::vector<uint64_t>{9, 499 * 499}));
    EXPECT_FALSE(DecodeChunk(d, {Owned(bytes.substr(0, bytes.size() - 3))}, 500, {{0, 500}}).ok());
    EXPECT_FALSE(DecodeChunk(d, buffers, 501, {{0, 501}}).ok());
  }
}

TEST(General, ClaimedSizesAreBounded) {
  std::string huge;
  AppendLE<uint64_t>(&huge, uint64_t{1} << 45);
  huge += Zstd("x", false);
  EXPECT_EQ(KindOf(DecompressedSize(Compression::kZstd, Owned(huge).view()).status()), ErrorKind::kCorrupt);
  std::string lz4;
  AppendLE<uint32_t>(&lz4, 0x7fffffff);
  lz4 += "abc";
  EXPECT_FALSE(DecompressedSize(Compression::kLz4, Owned(lz4).view()).ok());
  EXPECT_EQ(*DecompressedSize(Compression::kZstd, Bytes()), 0u);
}

TEST(FixedSizeList, ValidityBeforeItems) {
  CodecDesc d = Node(CodecKind::kFixedSizeList, {Flat(16)});
  d.num_items = 2;
  d.has_validity = true;
  std::vector<Owned> buffers{Owned("\x0d"), Owned(Raw(std::vector<int16_t>{1, 0, 3, 4}))};
  auto block = DecodeChunk(d, buffers, 2, {{1, 2}});
  ASSERT_TRUE(block.ok()) << block.status();
  EXPECT_EQ(block->dimension, 2u);
  EXPECT_EQ(block->validity->data()[0] & 3, 3);
  EXPECT_EQ(Values<int16_t>(block->children[0]), (std::vector<int16_t>{3, 4}));
  d.num_items = 1 << 30;  // a schema may say anything: nothing of that size is allocated
  EXPECT_FALSE(DecodeChunk(d, buffers, 2, {{0, 2}}).ok());
}

TEST(PackedStruct, RowsAreCutIntoFields) {
  CodecDesc d = Node(CodecKind::kPackedStruct, {Flat(48)});
  d.field_bits = {32, 16};
  std::string rows = std::string("\1\0\0\0\2\0\3\0\0\0\4\0", 12);
  auto block = DecodeChunk(d, {Owned(rows)}, 2, {{0, 2}});
  ASSERT_TRUE(block.ok()) << block.status();
  EXPECT_EQ(Values<int32_t>(block->children[0]), (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(Values<int16_t>(block->children[1]), (std::vector<int16_t>{2, 4}));
  d.field_bits = {32, 32};
  EXPECT_FALSE(DecodeChunk(d, {Owned(rows)}, 2, {{0, 2}}).ok());
}

TEST(Block, VariableDictionary) {
  std::string bytes = Raw(std::vector<uint32_t>{32, 0x14, 0, 1, 3}) + "xyy";
  CodecDesc d = Node(CodecKind::kVariable, {Flat(32)});
  auto block = DecodeBlock(d, Owned(bytes).view(), 2, Spec(0, 0));
  ASSERT_TRUE(block.ok()) << block.status();
  EXPECT_EQ(Strings(*block), (std::vector<std::string>{"x", "yy"}));
  CodecDesc general = Node(CodecKind::kGeneral, {d});
  general.scheme = Compression::kLz4;
  EXPECT_EQ(Strings(*DecodeBlock(general, Owned(Lz4(bytes)).view(), 2, Spec(0, 0))), Strings(*block));
  for (uint64_t n : {uint64_t{3}, uint64_t{1} << 50, UINT64_MAX}) {
    EXPECT_FALSE(DecodeBlock(d, Owned(bytes).view(), n, Spec(0, 0)).ok()) << n;
    EXPECT_FALSE(DecodeBlock(Flat(64), Owned(bytes).view(), n, Spec(0, 0)).ok()) << n;
  }
}

TEST(Block, LevelsOfEveryKind) {
  std::vector<uint16_t> levels = {1, 0, 0, 1, 1};
  std::vector<uint16_t> out(2048);
  RowRange all{0, 5}, part{3, 5};
  ASSERT_TRUE(DecodeLevels(Flat(16), Owned(Raw(levels)).view(), 5, {&all, 1}, out.data()).ok());
  EXPECT_EQ(std::vector<uint16_t>(out.begin(), out.begin() + 5), levels);
  std::string runs;
  AppendLE<uint64_t>(&runs, 6);
  runs += Raw(std::vector<uint16_t>{1, 0, 1}) + std::string("\1\2\2", 3);
  CodecDesc rle = Node(CodecKind::kRle, {Flat(16), Flat(8)});
  ASSERT_TRUE(DecodeLevels(rle, Owned(runs).view(), 5, {&part, 1}, out.data()).ok());
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 1);
  StoreLE<uint64_t>(runs.data(), 7);
  EXPECT_FALSE(DecodeLevels(rle, Owned(runs).view(), 5, {&all, 1}, out.data()).ok());
  EXPECT_FALSE(DecodeLevels(Flat(8), Owned(Raw(levels)).view(), 5, {&all, 1}, out.data()).ok());
  EXPECT_LT(MaxBlockValues(rle, Owned(runs).view()), 100000u);
}

}  // namespace
}  // namespace pilum::codec
