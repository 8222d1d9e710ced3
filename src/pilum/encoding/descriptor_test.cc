#include "pilum/encoding/descriptor.h"

#include <gtest/gtest.h>

namespace pilum {
namespace {

std::string FromHex(std::string_view hex) {
  std::string out;
  std::string digits;
  for (char c : hex) {
    if (c != ' ') digits += c;
  }
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    out += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return out;
}

CodecDesc Flat(uint64_t bits) {
  CodecDesc d;
  d.bits = bits;
  return d;
}

CodecDesc Wrap(CodecKind kind, std::vector<CodecDesc> children) {
  CodecDesc d;
  d.kind = kind;
  d.children = std::move(children);
  return d;
}

TEST(Descriptor, ParsesTheLayoutOfAFlatInt32Page) {
  std::string bytes = FromHex("0a 0d 1a 04 0a 02 08 20 32 01 01 38 01 48 03");
  auto p = ParsePageLayout(bytes, FileVersion::kV2_1);
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_EQ(p->kind, LayoutKind::kMiniBlock);
  EXPECT_EQ(p->layers, std::vector<RepDefLayer>{RepDefLayer::kAllValidItem});
  EXPECT_EQ(p->value_codec->bits, 32u);
  EXPECT_EQ(p->num_buffers, 1u);
  EXPECT_EQ(p->num_items, 3u);
  EXPECT_EQ(SerializePageLayout(*p), bytes);
  EXPECT_EQ(p->ToString(), "mini-block(flat(32))");
}

TEST(Descriptor, ParsesAnAllNullListAndAnInlineConstant) {
  auto p = ParsePageLayout(FromHex("12 04 2a 02 03 06"), FileVersion::kV2_1);
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_EQ(p->kind, LayoutKind::kConstant);
  EXPECT_EQ(p->layers.size(), 2u);
  EXPECT_FALSE(p->inline_value);
  std::string constant = FromHex("12 09 2a 01 03 32 04 05 00 00 00");
  auto c = ParsePageLayout(constant, FileVersion::kV2_2);
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_EQ(*c->inline_value, std::string("\5\0\0\0", 4));
  EXPECT_EQ(SerializePageLayout(*c), constant);
  EXPECT_FALSE(ParsePageLayout(constant, FileVersion::kV2_1).ok());
}

TEST(Descriptor, RoundTripsEveryCodec) {
  CodecDesc variable = Wrap(CodecKind::kVariable, {Flat(32)});
  CodecDesc fsst = Wrap(CodecKind::kFsst, {variable});
  fsst.bytes = std::string("table\0x", 7);
  CodecDesc rle = Wrap(CodecKind::kRle, {Flat(16), Flat(8)});
  CodecDesc packed = Wrap(CodecKind::kOutOfLineBitpacking, {Flat(3)});
  packed.bits = 16;
  CodecDesc inline_packed;
  inline_packed.kind = CodecKind::kInlineBitpacking;
  inline_packed.bits = 64;
  CodecDesc general = Wrap(CodecKind::kGeneral, {rle});
  general.scheme = Compression::kZstd;
  general.level = -2;
  CodecDesc fsl = Wrap(CodecKind::kFixedSizeList, {Flat(32)});
  fsl.num_items = 3;
  fsl.has_validity = true;
  CodecDesc ps = Wrap(CodecKind::kPackedStruct, {Flat(48)});
  ps.field_bits = {32, 16};
  CodecDesc vps = Wrap(CodecKind::kVariablePackedStruct, {Flat(32), variable});
  vps.var_fields = {{false, 32}, {true, 32}};
  CodecDesc bss = Wrap(CodecKind::kByteStreamSplit, {Flat(64)});
  for (const CodecDesc& d : {variable, fsst, rle, packed, inline_packed, general, fsl, ps, vps, bss}) {
    PageLayout p;
    p.kind = LayoutKind::kFullZip;
    p.layers = {RepDefLayer::kNullableItem, RepDefLayer::kNullAndEmptyList};
    p.bits_rep = 1;
    p.bits_def = 2;
    p.variable_width = true;
    p.bits_per_value = 32;
    p.num_items = 7;
    p.num_visible_items = 5;
    p.value_codec = d;
    std::string bytes = SerializePageLayout(p);
    auto back = ParsePageLayout(bytes, FileVersion::kV2_2);
    ASSERT_TRUE(back.ok()) << d.ToString() << ": " << back.status();
    EXPECT_EQ(back->value_codec->ToString(), d.ToString());
    EXPECT_EQ(SerializePageLayout(*back), bytes);
    EXPECT_EQ(back->bits_def, 2u);
    EXPECT_EQ(back->num_visible_items, 5u);
  }
  EXPECT_EQ(general.ToString(), "general(zstd, rle(flat(16), flat(8)))");
  EXPECT_EQ(fsl.ToString(), "fixed_size_list(3, validity, flat(32))");
}

TEST(Descriptor, BlobHoldsAnInnerLayoutOnce) {
  PageLayout inner;
  inner.layers = {RepDefLayer::kAllValidItem};
  inner.value_codec = Flat(128);
  inner.num_buffers = 1;
  inner.has_large_chunk = true;
  PageLayout blob;
  blob.kind = LayoutKind::kBlob;
  blob.layers = {RepDefLayer::kNullableItem};
  blob.inner = std::make_shared<const PageLayout>(inner);
  auto back = ParsePageLayout(SerializePageLayout(blob), FileVersion::kV2_2);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->inner->value_codec->bits, 128u);
  PageLayout twice = blob;
  twice.inner = std::make_shared<const PageLayout>(blob);
  EXPECT_FALSE(ParsePageLayout(SerializePageLayout(twice), FileVersion::kV2_2).ok());
}

TEST(Descriptor, ChecksTheGrammarOfTheVersion) {
  PageLayout p;
  p.layers = {RepDefLayer::kAllValidItem};
  p.value_codec = Flat(32);
  p.num_buffers = 1;
  EXPECT_TRUE(ParsePageLayout(SerializePageLayout(p), FileVersion::kV2_1).ok());
  EXPECT_EQ(KindOf(ParsePageLayout(SerializePageLayout(p), FileVersion::kV2_2).status()), ErrorKind::kCorrupt);
  EXPECT_EQ(KindOf(ParsePageLayout(SerializePageLayout(p), FileVersion::kV2_3).status()), ErrorKind::kUnsupported);
  p.has_large_chunk = true;
  EXPECT_TRUE(ParsePageLayout(SerializePageLayout(p), FileVersion::kV2_2).ok());
  EXPECT_FALSE(ParsePageLayout(SerializePageLayout(p), FileVersion::kV2_1).ok());
}

TEST(Descriptor, FullZipValuesOfNoBitsAreNothingButLevels) {
  PageLayout p;
  p.kind = LayoutKind::kFullZip;
  p.layers = {RepDefLayer::kNullableItem};
  p.bits_def = 1;
  p.value_codec = CodecDesc();
  p.value_codec->kind = CodecKind::kConstant;
  EXPECT_TRUE(ParsePageLayout(SerializePageLayout(p), FileVersion::kV2_1).ok());
  p.bits_per_value = uint64_t{1} << 60;
  EXPECT_FALSE(ParsePageLayout(SerializePageLayout(p), FileVersion::kV2_1).ok());
  p.bits_per_value = p.bits_def = 0;
  EXPECT_FALSE(ParsePageLayout(SerializePageLayout(p), FileVersion::kV2_1).ok());
  p.bits_def = 1;
  p.value_codec = Flat(32);
  EXPECT_FALSE(ParsePageLayout(SerializePageLayout(p), FileVersion::kV2_1).ok());
}

TEST(Descriptor, RefusesNonsense) {
  EXPECT_FALSE(ParsePageLayout("", FileVersion::kV2_1).ok());
  EXPECT_FALSE(ParsePageLayout("\xff\xff\xff", FileVersion::kV2_1).ok());
  EXPECT_FALSE(ParsePageLayout(FromHex("12 02 2a 00"), FileVersion::kV2_1).ok());     // no layers
  EXPECT_FALSE(ParsePageLayout(FromHex("12 03 2a 01 09"), FileVersion::kV2_1).ok());  // layer kind 9
  CodecDesc deep = Flat(32);
  for (int i = 0; i < 40; ++i) {
    deep = Wrap(CodecKind::kGeneral, {deep});
    deep.scheme = Compression::kLz4;
  }
  PageLayout p;
  p.layers = {RepDefLayer::kAllValidItem};
  p.value_codec = deep;
  EXPECT_FALSE(ParsePageLayout(SerializePageLayout(p), FileVersion::kV2_1).ok());
  p.value_codec = Flat(0);
  EXPECT_FALSE(ParsePageLayout(SerializePageLayout(p), FileVersion::kV2_1).ok());
}

}  // namespace
}  // namespace pilum
