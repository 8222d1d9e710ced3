// Levels against the worked examples of the format page, and layouts whose bytes are known.
#include "pilum/encoding/write/internal.h"
#include "pilum/encoding/write/test_pages.h"

namespace pilum {
namespace {

using test::HexOf;
using test::Json;
using test::Pages;
using write::LevelPlan;
using write::LevelWalk;

std::vector<int> Ints(const write::Vec<uint8_t>& v) { return {v.begin(), v.end()}; }

TEST(Levels, WorkedExample) {
  auto type = arrow::list(arrow::list(arrow::int32()));
  auto array = Json(type, "[[[1,2],[],[3]], null, [], [null,[4]], [[null]]]");
  auto column = LeafColumnsOf(*arrow::schema({arrow::field("c", type)})).ValueOrDie().at(0);
  auto plan = LevelPlan::Make(column).ValueOrDie();
  LevelWalk walk;
  ASSERT_TRUE(walk.Walk(column, plan, array->data(), 0, array->length()).ok());
  EXPECT_EQ(Ints(walk.rep), (std::vector<int>{2, 0, 1, 1, 2, 2, 2, 1, 2}));
  EXPECT_EQ(Ints(walk.def), (std::vector<int>{0, 0, 3, 0, 4, 5, 2, 0, 1}));
  int64_t slots = 0;
  for (const auto& r : walk.runs) slots += r.len;
  EXPECT_EQ(slots, 5);

  auto pages = Pages(array).ValueOrDie();
  ASSERT_EQ(pages.size(), 1u);
  const PageLayout& l = pages[0].layout;
  EXPECT_EQ(l.layers, (std::vector<RepDefLayer>{RepDefLayer::kNullableItem, RepDefLayer::kNullAndEmptyList,
                                                RepDefLayer::kNullAndEmptyList}));
  EXPECT_EQ(l.num_items, 5u);
  EXPECT_EQ(pages[0].length, 5u);
}

TEST(Levels, NullListsWithContentsAreDropped) {
  auto offsets = arrow::Buffer::FromVector(std::vector<int32_t>{0, 2, 4, 5});
  auto values = Json(arrow::int32(), "[1,2,77,78,5]");
  auto valid = arrow::Buffer::FromVector(std::vector<uint8_t>{0b101});
  auto array =
      arrow::MakeArray(arrow::ArrayData::Make(arrow::list(arrow::int32()), 3, {valid, offsets}, {values->data()}));
  auto clean = Json(array->type(), "[[1,2],null,[5]]");
  EXPECT_EQ(test::Fingerprint(Pages(array).ValueOrDie()), test::Fingerprint(Pages(clean).ValueOrDie()));
}

TEST(Levels, ValuesUnderNullsDoNotShow) {
  auto valid = arrow::Buffer::FromVector(std::vector<uint8_t>{0b1010});
  auto make = [&](std::vector<int64_t> v) {
    return arrow::MakeArray(
        arrow::ArrayData::Make(arrow::int64(), 4, {valid, arrow::Buffer::FromVector(std::move(v))}));
  };
  EXPECT_EQ(test::Fingerprint(Pages(make({1, 2, 3, 4})).ValueOrDie()),
            test::Fingerprint(Pages(make({9, 2, -1, 4})).ValueOrDie()));
  auto strings = [&](std::vector<int32_t> ends, const std::string& text) {
    return arrow::MakeArray(arrow::ArrayData::Make(
        arrow::utf8(), 4, {valid, arrow::Buffer::FromVector(std::move(ends)), arrow::Buffer::FromString(text)}));
  };
  EXPECT_EQ(test::Fingerprint(Pages(strings({0, 3, 4, 5, 6}, "xxxabc")).ValueOrDie()),
            test::Fingerprint(Pages(strings({0, 0, 1, 1, 2}, "ac")).ValueOrDie()));
}

TEST(Levels, NullableInt32Chunk) {
  auto array = Json(arrow::int32(), "[1,null,3]");
  auto p = Pages(array, {FileVersion::kV2_1}).ValueOrDie().at(0);
  EXPECT_EQ(HexOf(p.buffers[0]), "30 00");
  EXPECT_EQ(HexOf(p.buffers[1]),
            "03 00 06 00 0c 00 fe fe 00 00 01 00 00 00 fe fe 01 00 00 00 00 00 00 00 03 00 00 00 fe fe fe fe");
  EXPECT_FALSE(p.layout.has_large_chunk);
  auto q = Pages(array, {FileVersion::kV2_2}).ValueOrDie().at(0);
  EXPECT_EQ(HexOf(q.buffers[0]), "30 00 00 00");
  EXPECT_EQ(HexOf(q.buffers[1]).substr(0, 35), "03 00 06 00 0c 00 00 00 00 00 01 00");
  EXPECT_TRUE(q.layout.has_large_chunk);
}

TEST(Levels, ListChunkAndRepetitionIndex) {
  auto p = Pages(Json(arrow::list(arrow::int32()), "[[1,2],null,[],[null,5]]")).ValueOrDie().at(0);
  EXPECT_EQ(HexOf(p.buffers[0]), "60 00");
  EXPECT_EQ(HexOf(p.buffers[1]),
            "06 00 0c 00 0c 00 10 00 01 00 00 00 01 00 01 00 01 00 00 00 fe fe fe fe 00 00 00 00 02 00 03 00 01 00 00 "
            "00 fe fe "
            "fe fe 01 00 00 00 02 00 00 00 00 00 00 00 05 00 00 00");
  EXPECT_EQ(HexOf(p.buffers[2]), "04 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00");
  EXPECT_EQ(p.layout.num_items, 4u);
}

TEST(Levels, RepetitionIndexAcrossChunks) {
  // 3 lists of 1,500 int32: chunks of 1,024 values cut inside rows.
  auto values = std::make_shared<arrow::Int32Builder>();
  arrow::ListBuilder builder(arrow::default_memory_pool(), values);
  for (int row = 0; row < 3; ++row) {
    ASSERT_TRUE(builder.Append().ok());
    for (int i = 0; i < 1500; ++i) ASSERT_TRUE(values->Append(i * 1000003 * (i % 2 ? 1 : -1)).ok());
  }
  auto p = Pages(builder.Finish().ValueOrDie()).ValueOrDie().at(0);
  const auto* index = reinterpret_cast<const uint64_t*>(p.buffers[2]->data());
  ASSERT_EQ(p.buffers[2]->size(), 5 * 16);
  std::vector<uint64_t> got(index, index + 10);
  // events 0..1023 | ..2047 | ..3071 | ..4095 | ..4499; rows end at 1500, 3000, 4500
  EXPECT_EQ(got, (std::vector<uint64_t>{0, 1024, 1, 548, 1, 72, 0, 1024, 1, 0}));
}

TEST(Layouts, Strings) {
  auto p = Pages(Json(arrow::utf8(), R"(["hello",null,"","world"])")).ValueOrDie().at(0);
  std::string chunk = HexOf(p.buffers[1]);
  EXPECT_NE(
      chunk.find("14 00 00 00 19 00 00 00 19 00 00 00 19 00 00 00 1e 00 00 00 68 65 6c 6c 6f 77 6f 72 6c 64 48 48"),
      std::string::npos)
      << chunk;
  p = Pages(Json(arrow::large_utf8(), R"(["a","bc"])")).ValueOrDie().at(0);
  EXPECT_NE(HexOf(p.buffers[1]).find("61 62 63 48 48 48 48 48"), std::string::npos);
}

TEST(Layouts, InlineBitpacking) {
  arrow::Int64Builder b;
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(b.Append(i % 8).ok());
  auto p = Pages(b.Finish().ValueOrDie()).ValueOrDie().at(0);
  EXPECT_EQ(p.layout.value_codec->kind, CodecKind::kInlineBitpacking);
  EXPECT_EQ(HexOf(p.buffers[0]), "10 03");
  EXPECT_EQ(p.buffers[1]->size(), 400);
  const auto* words = reinterpret_cast<const uint64_t*>(p.buffers[1]->data());
  EXPECT_EQ(words[1], 3u);
  EXPECT_EQ(words[2], 0u);
  EXPECT_EQ(words[3], 0x0009000009000009u);
}

TEST(Layouts, FullZip) {
  auto zip = arrow::key_value_metadata({"lance-encoding:structural-encoding"}, {"fullzip"});
  auto strings = Json(arrow::utf8(), R"(["ab",null,"","xyz"])");
  auto p = Pages(arrow::field("c", arrow::utf8(), true, zip), strings).ValueOrDie().at(0);
  EXPECT_EQ(HexOf(p.buffers[0]), "00 02 00 00 00 61 62 01 00 00 00 00 00 00 03 00 00 00 78 79 7a");
  EXPECT_EQ(HexOf(p.buffers[1]), "00 07 08 0d 15");
  auto type = arrow::list(arrow::int16());
  p = Pages(arrow::field("c", type, true, zip), Json(type, "[[1,2],null,[],[null,5]]")).ValueOrDie().at(0);
  EXPECT_EQ(HexOf(p.buffers[0]), "04 01 00 00 02 00 06 07 05 00 00 00 05 00");
  EXPECT_EQ(HexOf(p.buffers[1]), "00 06 07 08 0e");
  EXPECT_EQ(p.layout.num_items, 6u);
  EXPECT_EQ(p.layout.num_visible_items, 4u);
}

TEST(Layouts, Constants) {
  auto p = Pages(Json(arrow::int32(), "[5,null,5]"), {FileVersion::kV2_2}).ValueOrDie().at(0);
  EXPECT_EQ(p.layout.kind, LayoutKind::kConstant);
  EXPECT_EQ(*p.layout.inline_value, std::string("\5\0\0\0", 4));
  EXPECT_EQ(HexOf(p.buffers.at(0)), "");
  EXPECT_EQ(HexOf(p.buffers.at(1)), "00 00 01 00 00 00");
  EXPECT_EQ(Pages(Json(arrow::int32(), "[5,null,5]")).ValueOrDie().at(0).layout.kind, LayoutKind::kMiniBlock);  // 2.1
  p = Pages(Json(arrow::list(arrow::utf8()), R"([["q"],[],null,["q","q"]])"), {FileVersion::kV2_2}).ValueOrDie().at(0);
  EXPECT_EQ(HexOf(p.buffers.at(0)), "02 00 00 00 08 00 00 00 01 00 00 00 00 00 00 00 01 00 00 00 71");
  EXPECT_EQ(HexOf(p.buffers.at(2)), "00 00 02 00 01 00 00 00 00 00");
  p = Pages(Json(arrow::list(arrow::int8()), "[null,[],[null]]")).ValueOrDie().at(0);
  EXPECT_EQ(HexOf(p.buffers.at(0)), "01 00 01 00 01 00");
  EXPECT_EQ(HexOf(p.buffers.at(1)), "02 00 03 00 01 00");
  EXPECT_TRUE(Pages(Json(arrow::int8(), "[null,null]")).ValueOrDie().at(0).buffers.empty());
}

TEST(Layouts, PackedStructs) {
  auto packed = arrow::key_value_metadata({"lance-encoding:packed"}, {"true"});
  auto type = arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("y", arrow::int16())});
  auto p = Pages(arrow::field("c", type, true, packed), Json(type, "[[1,2],[3,4]]")).ValueOrDie().at(0);
  EXPECT_NE(HexOf(p.buffers[1]).find("01 00 00 00 02 00 03 00 00 00 04 00"), std::string::npos);
  auto var = arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("s", arrow::utf8())});
  auto field = arrow::field("c", var, true, packed);
  auto rows = Json(var, R"([[1,"ab"],[3,""]])");
  p = Pages(field, rows, {FileVersion::kV2_2}).ValueOrDie().at(0);
  EXPECT_EQ(HexOf(p.buffers[0]), "0a 00 00 00 01 00 00 00 02 00 00 00 61 62 08 00 00 00 03 00 00 00 00 00 00 00");
  EXPECT_TRUE(Pages(field, rows).status().IsNotImplemented());  // not in 2.1
  auto nulls = Pages(field, Json(var, R"([[1,null]])"), {FileVersion::kV2_2}).status();
  EXPECT_EQ(KindOf(nulls), ErrorKind::kUnsupported);
  EXPECT_NE(nulls.message().find("c.s"), std::string::npos) << nulls.message();
}

TEST(Kernels, BitpackAgreesWithItsDefinition) {
  constexpr int kOrder[8] = {0, 4, 2, 6, 1, 5, 3, 7};
  auto check = [&]<typename T>(T) {
    constexpr int kBits = 8 * sizeof(T), kLanes = 1024 / kBits;
    for (int width = 0; width <= kBits; ++width) {
      T in[1024], out[1024] = {};
      T mask = width == kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << width) - 1);
      for (int i = 0; i < 1024; ++i)
        in[i] = static_cast<T>(static_cast<T>(static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15ULL >> 7) & mask);
      write::BitpackBlock(in, width, out);
      for (int r = 0; r < kBits; ++r) {
        for (int l = 0; l < kLanes; ++l) {
          T v = 0;
          for (int b = 0; b < width; ++b) {
            int bit = r * width + b;
            v = static_cast<T>(v | static_cast<T>((out[bit / kBits * kLanes + l] >> (bit % kBits)) & 1) << b);
          }
          ASSERT_EQ(v, in[kOrder[r / 8] * 16 + r % 8 * 128 + l]) << "width " << width << " row " << r << " lane " << l;
        }
      }
    }
  };
  check(uint8_t{});
  check(uint16_t{});
  check(uint32_t{});
  check(uint64_t{});
}

TEST(Kernels, Bits) {
  for (uint64_t n = 0; n < 40; ++n) {
    std::vector<uint8_t> flags(n);
    for (uint64_t i = 0; i < n; ++i) flags[i] = (i * 7 + n) % 3 == 0;
    write::Bytes out;
    write::AppendBits(flags.data(), n, &out);
    ASSERT_EQ(out.size(), (n + 7) / 8);
    for (uint64_t i = 0; i < n; ++i) ASSERT_EQ((out[i / 8] >> (i % 8)) & 1, flags[i]);
  }
}

}  // namespace
}  // namespace pilum
