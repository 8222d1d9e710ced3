// Encodings of version 2.0, from hand-made descriptions: those that today's writers no longer use, and what is refused.
#include <cstring>

#include <arrow/api.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "pilum/base/bytes.h"
#include "pilum/encoding/v2_0/array.h"
#include "pilum/encoding/v2_0/columns.h"
#include "pilum/encoding/v2_0/plain_cache.h"

namespace pilum::v2_0 {
namespace {

struct Buffers {
  std::string bytes;
  std::vector<ByteRange> ranges;
  uint32_t Add(const std::string& b) {
    ranges.push_back({bytes.size(), b.size()});
    bytes += b;
    return static_cast<uint32_t>(ranges.size() - 1);
  }
  // Buffers with the slack that reads rely on.
  std::vector<BufferPtr> Fetch(const std::vector<ByteRange>& wanted) {
    std::vector<BufferPtr> out;
    for (const ByteRange& r : wanted) {
      fetched += r.size;
      auto padded = arrow::Buffer::FromString(bytes.substr(r.offset, r.size) + std::string(64, 'x'));
      out.push_back(arrow::SliceBuffer(padded, 0, static_cast<int64_t>(r.size)));
    }
    return out;
  }
  NodeContext context() const { return {&ranges, 1000, bytes.size()}; }
  uint64_t fetched = 0;
};

Result<std::shared_ptr<arrow::Array>> Read(Buffers* b, const ArrayDesc& desc, uint64_t n, const RowSet& rows,
                                           const std::shared_ptr<arrow::DataType>& type) {
  PILUM_ASSIGN_OR_RETURN(NodePtr node, MakeNode(desc, b->context(), n, type));
  auto read = node->StartRead(rows);
  std::vector<BufferPtr> fetched;
  while (true) {
    PILUM_ASSIGN_OR_RETURN(auto ranges, read->Next(std::move(fetched)));
    if (ranges.empty()) break;
    fetched = b->Fetch(ranges);
  }
  PILUM_ASSIGN_OR_RETURN(Values values, read->Finish({arrow::default_memory_pool()}));
  PILUM_ASSIGN_OR_RETURN(auto data, ToArrayData(std::move(values), type, arrow::default_memory_pool()));
  auto array = arrow::MakeArray(data);
  PILUM_RETURN_NOT_OK(array->ValidateFull());
  return array;
}

std::string Show(const Result<std::shared_ptr<arrow::Array>>& array) {
  if (!array.ok()) return array.status().ToString();
  arrow::PrettyPrintOptions options{0, 100};
  options.skip_new_lines = true;
  std::string out;
  EXPECT_TRUE(arrow::PrettyPrint(**array, options, &out).ok());
  return out;
}

ArrayDesc Flat(uint64_t bits, uint32_t buffer, Compression compression = Compression::kNone) {
  ArrayDesc d;
  d.bits = bits;
  d.buffer = buffer;
  d.compression = compression;
  return d;
}

ArrayDesc Packed(ArrayKind kind, uint64_t packed, uint64_t bits, uint32_t buffer, bool is_signed = false) {
  ArrayDesc d = Flat(bits, buffer);
  d.kind = kind;
  d.packed_bits = packed;
  d.is_signed = is_signed;
  return d;
}

template <typename T>
std::string Pack(const std::vector<T>& values) {
  std::string out;
  for (T v : values) AppendLE(&out, v);
  return out;
}

std::string PackBits(const std::vector<int64_t>& values, uint64_t width) {
  std::string out((values.size() * width + 7) / 8, '\0');
  for (size_t i = 0; i < values.size() * width; ++i) {
    if (values[i / width] >> (i % width) & 1) out[i / 8] = static_cast<char>(out[i / 8] | 1 << (i % 8));
  }
  return out;
}

TEST(V20, BitpackedKeepsTheSign) {
  for (uint64_t width : {3, 7, 13, 33, 61, 64}) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < 50; ++i) values.push_back(i % 7 - 3);
    Buffers b;
    ArrayDesc d = Packed(ArrayKind::kBitpacked, width, 64, b.Add(PackBits(values, width)), true);
    RowSet rows = RowSet::FromRanges({{1, 4}, {17, 18}, {40, 50}});
    auto got = Read(&b, d, 50, rows, arrow::int64());
    ASSERT_TRUE(got.ok()) << got.status();
    size_t at = 0;
    for (uint64_t r : rows.ToVector()) {
      EXPECT_EQ(static_cast<const arrow::Int64Array&>(**got).Value(static_cast<int64_t>(at++)), values[r]) << width;
    }
    EXPECT_LE(b.fetched, width * 14 / 8 + 6);
    EXPECT_EQ(KindOf(Read(&b, d, 500, rows, arrow::int64()).status()), ErrorKind::kCorrupt);
    d.bits = 16;
    EXPECT_EQ(KindOf(Read(&b, d, 50, rows, arrow::int64()).status()), ErrorKind::kCorrupt);
  }
  Buffers b;
  ArrayDesc d = Packed(ArrayKind::kBitpacked, 5, 16, b.Add(PackBits({31, 2, 17}, 5)));
  EXPECT_EQ(Show(Read(&b, d, 3, RowSet::All(3), arrow::uint16())), "[31,2,17]");
}

// Blocks of 1,024, of which just those with wanted rows are fetched. Width 8 of 8: a plain copy in permuted order.
TEST(V20, BitpackedForNonNegFetchesBlocks) {
  std::string packed(3 * 1024, '\0');
  for (size_t block = 0; block < 3; ++block) {
    for (size_t i = 0; i < 1024; ++i) packed[block * 1024 + i] = static_cast<char>(block * 3);
  }
  Buffers b;
  ArrayDesc d = Packed(ArrayKind::kBitpackedForNonNeg, 8, 8, b.Add(packed));
  RowSet rows = RowSet::FromRanges({{1023, 1025}, {2070, 2071}});
  EXPECT_EQ(Show(Read(&b, d, 2072, rows, arrow::uint8())), "[0,3,6]");
  EXPECT_EQ(b.fetched, 3072u);
  b.fetched = 0;
  EXPECT_EQ(Show(Read(&b, d, 2072, RowSet::Range(5, 6), arrow::uint8())), "[0]");
  EXPECT_EQ(b.fetched, 1024u);
  EXPECT_FALSE(Read(&b, d, 3073, rows, arrow::uint8()).ok());
}

TEST(V20, FixedSizeBinary) {
  Buffers b;
  ArrayDesc d;
  d.kind = ArrayKind::kFixedSizeBinary;
  d.byte_width = 2;
  d.children = {Flat(8, b.Add("aabbcc"))};
  EXPECT_EQ(Show(Read(&b, d, 3, RowSet::Range(1, 3), arrow::utf8())), R"(["bb","cc"])");
  EXPECT_EQ(Show(Read(&b, d, 3, RowSet::Range(1, 2), arrow::fixed_size_binary(2))), "[6262]");
  EXPECT_FALSE(Read(&b, d, 4, RowSet::Range(1, 3), arrow::utf8()).ok());
  EXPECT_FALSE(Read(&b, d, 3, RowSet::Range(1, 2), arrow::fixed_size_binary(3)).ok());
}

TEST(V20, WholeBufferCompression) {
  std::string plain = Pack<int32_t>({1, 2, 3, 4, 5}), frame(100, '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), plain.data(), plain.size(), 1));
  Buffers b;
  uint32_t buffer = b.Add(Pack<uint64_t>({plain.size()}) + frame);
  ArrayDesc d = Flat(32, buffer, Compression::kZstd);
  EXPECT_EQ(Show(Read(&b, d, 5, RowSet::FromSorted({0, 2, 4}), arrow::int32())), "[1,3,5]");
  EXPECT_EQ(KindOf(Read(&b, d, 6, RowSet::All(6), arrow::int32()).status()), ErrorKind::kCorrupt);
}

ArrayDesc Strings(Buffers* b, const std::vector<uint64_t>& ends, const std::string& bytes, uint64_t adjustment) {
  ArrayDesc d;
  d.kind = ArrayKind::kBinary;
  d.null_adjustment = adjustment;
  uint32_t offsets = b->Add(Pack(ends));
  d.children = {Flat(64, offsets), Flat(8, b->Add(bytes))};
  return d;
}

TEST(V20, StringsReadOnlyTheirBytes) {
  Buffers b;
  ArrayDesc d = Strings(&b, {5, 16, 5, 10}, "helloworld", 11);
  EXPECT_EQ(Show(Read(&b, d, 4, RowSet::All(4), arrow::utf8())), R"(["hello",null,"","world"])");
  b.fetched = 0;
  EXPECT_EQ(Show(Read(&b, d, 4, RowSet::Range(3, 4), arrow::large_utf8())), R"(["world"])");
  EXPECT_EQ(b.fetched, 2 * 8 + 5u);
  EXPECT_EQ(Show(Read(&b, d, 4, RowSet::FromSorted({0, 3}), arrow::binary())), "[68656C6C6F,776F726C64]");
}

TEST(V20, OffsetsAreChecked) {
  for (std::vector<uint64_t> ends : {std::vector<uint64_t>{5, 3, 10}, {5, 7, 11}, {5, 23, 10}, {~0ull, 1, 2}}) {
    Buffers b;
    ArrayDesc d = Strings(&b, ends, "helloworld", 12);
    EXPECT_EQ(KindOf(Read(&b, d, 3, RowSet::All(3), arrow::utf8()).status()), ErrorKind::kCorrupt);
  }
  Buffers b;  // backwards between two ranges of rows
  ArrayDesc d = Strings(&b, {5, 9, 2, 3}, "helloworld", 11);
  EXPECT_EQ(KindOf(Read(&b, d, 4, RowSet::FromSorted({1, 3}), arrow::utf8()).status()), ErrorKind::kCorrupt);
}

TEST(V20, DictionariesMeanTwoThings) {
  Buffers b;
  ArrayDesc items = Strings(&b, {1, 3, 7}, "rgg", 4);  // "r", "gg", null
  ArrayDesc d;
  d.kind = ArrayKind::kDictionary;
  d.num_items = 3;
  d.children = {Flat(8, b.Add(std::string("\1\2\0\1", 4))), items};
  EXPECT_EQ(Show(Read(&b, d, 4, RowSet::All(4), arrow::utf8())), R"(["r","gg",null,"r"])");
  auto type = arrow::dictionary(arrow::int8(), arrow::utf8());
  auto got = Read(&b, d, 4, RowSet::All(4), type);
  ASSERT_TRUE(got.ok()) << got.status();
  const auto& array = static_cast<const arrow::DictionaryArray&>(**got);
  EXPECT_EQ(Show(array.dictionary()), R"(["r","gg"])");
  EXPECT_EQ(Show(array.indices()), "[1,null,0,1]");
  d.num_items = 1;
  EXPECT_EQ(KindOf(Read(&b, d, 4, RowSet::All(4), arrow::utf8()).status()), ErrorKind::kCorrupt);
  d.num_items = 0;  // then all must be null
  EXPECT_EQ(Show(Read(&b, d, 4, RowSet::Range(2, 3), arrow::utf8())), "[null]");
  EXPECT_EQ(KindOf(Read(&b, d, 4, RowSet::All(4), type).status()), ErrorKind::kCorrupt);
}

TEST(V20, NothingStoredIsBounded) {
  Buffers b;
  ArrayDesc d;
  d.kind = ArrayKind::kNullable;
  d.nulls = Nulls::kAll;
  EXPECT_EQ(Show(Read(&b, d, 1000, RowSet::Range(7, 9), arrow::int32())), "[null,null]");
  EXPECT_EQ(KindOf(Read(&b, d, 1001, RowSet::Range(7, 9), arrow::int32()).status()), ErrorKind::kCorrupt);
  ArrayDesc list;
  list.kind = ArrayKind::kFixedSizeList;
  list.dimension = 2;
  list.children = {d};
  EXPECT_EQ(Show(Read(&b, list, 9, RowSet::Range(7, 8), arrow::fixed_size_list(arrow::int16(), 2))), "[[null,null]]");
}

TEST(V20, DescriptionsAreChecked) {
  for (std::string bytes : {std::string("\xff"), std::string(), std::string("\x12\x00", 2), std::string("\x3a\x00", 2),
                            std::string("\x52\x04\x08\x05\x10\x07", 6) /* 5 of 7 bits */}) {
    EXPECT_FALSE(ParseArrayEncoding(bytes).ok());
  }
  std::string deep = std::string("\x0a\x02\x08\x20", 4);  // flat of 32 bits
  auto flat = ParseArrayEncoding(deep);
  ASSERT_TRUE(flat.ok()) << flat.status();
  EXPECT_EQ((*flat)->ToString(), "flat(32)");
  for (int i = 0; i < 200; ++i)
    deep = "\x12" +
           PackBits({static_cast<int64_t>((deep.size() & 127) | 128), static_cast<int64_t>(deep.size() >> 7)}, 8) +
           deep;
  EXPECT_FALSE(ParseArrayEncoding(deep).ok());
}

TEST(V20, ColumnsMustFitTogether) {
  Buffers b;
  auto flat = std::make_shared<const ArrayDesc>(Flat(32, 0));
  b.Add(Pack<int32_t>({1, 2, 3}));
  PageInfo page{.buffers = b.ranges, .length = 3};
  page.array = flat;
  auto schema = arrow::schema({arrow::field("a", arrow::int32()), arrow::field("b", arrow::int32())});
  auto leaves = *LeafColumnsOf(*schema);
  auto open = [&](std::vector<std::vector<PageInfo>> columns) {
    return OpenColumns(*schema, leaves, std::move(columns), 3, b.bytes.size());
  };
  auto good = open({{page}, {page}});
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->num_rows, 3u);
  PageInfo shorter = page;
  shorter.length = 2;
  for (auto& bad : std::vector<std::vector<std::vector<PageInfo>>>{
           {{page}}, {{page}, {shorter}}, {{page}, {page}, {page}}, {{page}, {}}}) {
    auto result = open(bad);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(KindOf(result.status()), ErrorKind::kCorrupt) << result.status();
  }
}

// A file of many small pages has as many compressed buffers: each is found without a look at all others, what keeps them
// counts too, and the ones that were not used for longest go.
TEST(PlainCache, ManySmallBuffers) {
  constexpr uint64_t kBuffers = 400'000;
  PlainCache cache(64 << 20);
  const auto small = std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>("plain"), 5);
  for (uint64_t i = 0; i < kBuffers; ++i) {
    cache.Add({i * 8, 7}, small);
    ASSERT_EQ(cache.Find({0, 7}), small) << i;
    ASSERT_LE(cache.bytes(), uint64_t{64} << 20);
  }
  EXPECT_EQ(cache.Find({8, 7}), nullptr);
  EXPECT_EQ(cache.Find({(kBuffers - 1) * 8, 7}), small);
  EXPECT_EQ(cache.Find({0, 6}), nullptr);
  const uint64_t before = cache.bytes();
  cache.Add({0, 7}, small);
  EXPECT_EQ(cache.bytes(), before);
}

}  // namespace
}  // namespace pilum::v2_0
