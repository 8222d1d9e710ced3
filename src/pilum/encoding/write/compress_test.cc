// Symbols and general compression: what is written reads back, is the same however batched, and is taken only where it
// shrinks.
#include <random>

#include "pilum/encoding/write/internal.h"
#include "pilum/encoding/write/test_pages.h"

namespace pilum {
namespace {

using test::Fingerprint;
using test::Pages;
using test::ReadBack;
using write::FsstEncoder;
using write::FsstSymbol;

// n values of `length`-ish bytes from a few words; every 7th null, every 11th empty.
std::shared_ptr<arrow::Array> Text(int n, int words_each, bool binary = false) {
  std::mt19937 rng(static_cast<unsigned>(n));
  std::vector<std::string> words;
  for (int i = 0; i < 200; ++i) {
    std::string w;
    for (unsigned k = 0, m = 2 + rng() % 8; k < m; ++k) w += static_cast<char>('a' + rng() % 20);
    words.push_back(w);
  }
  if (binary)
    words.insert(words.end(), {std::string(3, '\0'), "\xff\xff",
                               std::string("a\0\xff"
                                           "b",
                                           4)});
  arrow::BinaryBuilder bytes;
  arrow::StringBuilder text;
  auto& b = binary ? bytes : static_cast<arrow::BinaryBuilder&>(text);
  for (int i = 0; i < n; ++i) {
    if (i % 7 == 3) {
      EXPECT_TRUE(b.AppendNull().ok());
      continue;
    }
    std::string s;
    for (int k = 0; i % 11 != 5 && k < words_each; ++k)
      s += words[rng() % words.size()] + std::string(1, k % 3 ? ' ' : '\0');
    EXPECT_TRUE(b.Append(s).ok());
  }
  return b.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Field> Field(const std::shared_ptr<arrow::Array>& a, std::vector<std::string> keys = {},
                                    std::vector<std::string> values = {}) {
  for (std::string& k : keys) k = "lance-encoding:" + k;
  return arrow::field("c", a->type(), true, keys.empty() ? nullptr : arrow::key_value_metadata(keys, values));
}

uint64_t BytesOf(const std::vector<EncodedPage>& pages) {
  uint64_t n = 0;
  for (const EncodedPage& p : pages) {
    for (const BufferPtr& b : p.buffers) n += static_cast<uint64_t>(b->size());
  }
  return n;
}

// Pages of both versions read back and are the same bytes in other batches; those of 2.2.
std::vector<EncodedPage> Check(const std::shared_ptr<arrow::Field>& field, const std::shared_ptr<arrow::Array>& array,
                               WriteProfile profile = WriteProfile::kBalanced) {
  std::vector<EncodedPage> pages;
  for (auto version : {FileVersion::kV2_1, FileVersion::kV2_2}) {
    pages = Pages(field, array, {version, 300000, 0, 0, profile}).ValueOrDie();
    EXPECT_EQ(Fingerprint(Pages(field, array, {version, 300000, 0, 97, profile}).ValueOrDie()), Fingerprint(pages));
    auto got = ReadBack(field, pages, version);
    EXPECT_TRUE(got.ok()) << got.status().ToString();
    if (got.ok()) {
      EXPECT_TRUE((*got)->ValidateFull().ok());
      EXPECT_TRUE((*got)->Equals(*array)) << pages[0].layout.ToString() << " " << pages[0].choice.why;
    }
  }
  return pages;
}

bool Has(const EncodedPage& p, CodecKind kind) {
  const CodecDesc* d = &*p.layout.value_codec;
  while (d->kind != kind && !d->children.empty()) d = &d->children[0];
  return d->kind == kind;
}

TEST(Fsst, EncodesByTheLongestSymbol) {
  auto symbol = [](std::string_view s) {
    FsstSymbol out{0, static_cast<uint8_t>(s.size())};
    std::memcpy(&out.bytes, s.data(), s.size());
    return out;
  };
  FsstEncoder e({symbol("ab"), symbol("a"), symbol("abc"), symbol("abcdefgh"), symbol(std::string_view("\0\0\0", 3))});
  auto encode = [&](std::string_view s) {
    std::vector<uint8_t> out(2 * s.size() + FsstEncoder::kSlack);
    uint64_t end = s.size(), out_end = 0;
    uint64_t n = e.Encode(reinterpret_cast<const uint8_t*>(s.data()), 0, {&end, 1}, out.data(), &out_end);
    EXPECT_EQ(n, out_end);
    return std::vector<int>(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(n));
  };
  using V = std::vector<int>;
  EXPECT_EQ(encode(""), V{});
  EXPECT_EQ(encode("abcdefgh"), V{3});
  EXPECT_EQ(encode("abcdefg"), (V{2, 255, 'd', 255, 'e', 255, 'f', 255, 'g'}));
  EXPECT_EQ(encode("abcdefgha"), (V{3, 1}));
  EXPECT_EQ(encode("aab"), (V{1, 0}));
  EXPECT_EQ(encode(std::string_view("\0\0", 2)), (V{255, 0, 255, 0}));  // no symbol reaches past the end
  EXPECT_EQ(encode(std::string_view("\0\0\0\xff", 4)), (V{4, 255, 255}));
}

TEST(Fsst, TrainingIsAFunctionOfTheSample) {
  std::string s;
  std::mt19937 rng(1);
  for (int i = 0; i < 20000; ++i) s += "0123456789abcdef"[rng() % 16];
  std::vector<std::string_view> sample;
  for (size_t i = 0; i + 64 <= s.size(); i += 64) sample.push_back({s.data() + i, 64});
  FsstEncoder e = FsstEncoder::Train(sample);
  EXPECT_EQ(e.TableBytes(), FsstEncoder::Train(sample).TableBytes());
  EXPECT_EQ(e.TableBytes().size(), 2312u);
  EXPECT_LT(e.EncodedBytes(sample), s.size() * 54 / 100);  // two digits a code, nearly always
  EXPECT_EQ(FsstEncoder::Train({}).symbols().size(), 0u);
}

TEST(Fsst, StringsInBothLayouts) {
  auto text = Text(8000, 6);
  auto pages = Check(Field(text), text);
  EXPECT_TRUE(Has(pages[0], CodecKind::kFsst)) << pages[0].choice.why;
  EXPECT_EQ(pages[0].layout.kind, LayoutKind::kMiniBlock);
  auto plain = Pages(Field(text, {"compression"}, {"none"}), text).ValueOrDie();
  EXPECT_FALSE(Has(plain[0], CodecKind::kFsst));
  EXPECT_LT(BytesOf(pages), BytesOf(plain) * 7 / 10);

  auto zipped = Check(Field(text, {"structural-encoding"}, {"fullzip"}), text);
  EXPECT_EQ(zipped[0].layout.kind, LayoutKind::kFullZip);
  EXPECT_TRUE(Has(zipped[0], CodecKind::kFsst)) << zipped[0].choice.why;
}

TEST(Fsst, BinariesOnlyWhenAsked) {
  auto bytes = Text(5000, 6, true);
  EXPECT_FALSE(Has(Check(Field(bytes), bytes)[0], CodecKind::kFsst));
  auto pages = Check(Field(bytes, {"compression"}, {"fsst"}), bytes);  // NULs and 0xff bytes in symbols and literals
  EXPECT_TRUE(Has(pages[0], CodecKind::kFsst)) << pages[0].choice.why;
}

TEST(Fsst, NotWhereItWouldGrow) {
  arrow::BinaryBuilder b;
  std::mt19937_64 rng(3);
  for (int i = 0; i < 3000; ++i) {
    std::string s(20, 0);
    for (char& c : s) c = static_cast<char>(rng());
    ASSERT_TRUE(b.Append(s).ok());
  }
  auto noise = b.Finish().ValueOrDie();
  auto pages = Check(Field(noise, {"compression"}, {"fsst"}), noise);
  EXPECT_FALSE(Has(pages[0], CodecKind::kFsst)) << pages[0].choice.why;
  auto few = test::Json(arrow::utf8(), R"(["abcabc","",null,"abc"])");
  Check(Field(few, {"compression"}, {"fsst"}), few);
  auto same = Text(1, 4);
  auto equal = arrow::MakeArrayFromScalar(**same->GetScalar(0), 9000).ValueOrDie();
  Check(Field(equal), equal);
}

TEST(General, ChunksAndValues) {
  auto text = Text(6000, 5);
  for (const char* scheme : {"lz4", "zstd"}) {
    auto pages = Check(Field(text, {"compression"}, {scheme}), text);
    EXPECT_TRUE(Has(pages[0], CodecKind::kGeneral)) << pages[0].choice.why;
    EXPECT_LT(BytesOf(pages), BytesOf(Pages(Field(text), text).ValueOrDie()));
  }
  auto zipped = Check(Field(text, {"compression", "structural-encoding"}, {"zstd", "fullzip"}), text);
  EXPECT_EQ(zipped[0].layout.kind, LayoutKind::kFullZip);

  auto large = Text(40, 9000);  // values above 32 KiB
  auto pages = Check(Field(large), large);
  EXPECT_TRUE(Has(pages[0], CodecKind::kGeneral)) << pages[0].choice.why;
  EXPECT_EQ(pages[0].layout.kind, LayoutKind::kFullZip);
}

// Room is made for what values say they hold, where that is likely; others make it as they come.
TEST(General, ValuesThatShrinkMuchAndNotAtAll) {
  std::mt19937 rng(4);
  for (const int mostly : {0, 1, 2}) {
    arrow::BinaryBuilder b;
    for (int i = 0; i < 30; ++i) {
      std::string v(40000 + rng() % 1000, 'z');
      if (mostly == 2 || (mostly == 1 && i % 2)) {
        for (char& c : v) c = static_cast<char>(rng());
      }
      EXPECT_TRUE((i == 7 ? b.AppendNull() : b.Append(i == 9 ? std::string() : v)).ok());
    }
    auto a = b.Finish().ValueOrDie();
    auto pages = Check(Field(a, {"compression", "structural-encoding"}, {"zstd", "fullzip"}), a);
    EXPECT_EQ(pages[0].layout.value_codec->kind == CodecKind::kGeneral, mostly < 2);
  }
}

TEST(General, NumbersOnlyWhereTheyShrink) {
  arrow::Int64Builder wave, noise;
  std::mt19937_64 rng(5);
  for (int64_t i = 0; i < 4000; ++i) {
    ASSERT_TRUE(wave.Append(i % 50 * 0x0101010101010101).ok());
    ASSERT_TRUE(noise.Append(static_cast<int64_t>(rng())).ok());
  }
  auto w = wave.Finish().ValueOrDie(), x = noise.Finish().ValueOrDie();
  EXPECT_TRUE(Has(Check(Field(w, {"compression", "dict-max-size"}, {"zstd", "1"}), w)[0], CodecKind::kGeneral));
  auto p = Check(Field(x, {"compression"}, {"zstd"}), x)[0];
  EXPECT_FALSE(Has(p, CodecKind::kGeneral));
  EXPECT_NE(p.choice.why.find("not taken"), std::string::npos) << p.choice.why;
  auto few = w->Slice(0, 100);
  EXPECT_NE(Check(Field(few, {"compression"}, {"zstd"}), few)[0].choice.why.find("fewer than"), std::string::npos);
}

TEST(Rle, WhereStrictlySmaller) {
  arrow::Int64Builder steps;
  arrow::UInt8Builder long_runs;
  for (int64_t i = 0; i < 9001; ++i) {
    ASSERT_TRUE((i % 1000 == 7 ? steps.AppendNull() : steps.Append(i / 40 * 0x0101010101)).ok());
    ASSERT_TRUE(long_runs.Append(static_cast<uint8_t>(i / 3000 * 37)).ok());  // longer than one length counts
  }
  auto a = steps.Finish().ValueOrDie(), b = long_runs.Finish().ValueOrDie();
  const std::vector<std::string> no_dictionary{"dict-max-size"}, one{"1"};
  EXPECT_TRUE(Has(Check(Field(a, no_dictionary, one), a)[0], CodecKind::kRle));
  EXPECT_TRUE(Has(Check(Field(b), b)[0], CodecKind::kRle));
  EXPECT_FALSE(Has(Check(Field(a, {"dict-max-size", "rle-threshold"}, {"1", "0"}), a)[0], CodecKind::kRle));
  EXPECT_FALSE(Has(Check(Field(b, {"compression"}, {"none"}), b)[0], CodecKind::kRle));
  Check(Field(a, {"compression", "dict-max-size"}, {"zstd", "1"}), a);
  auto few = b->Slice(0, 2);
  Check(Field(few), few);
}

TEST(Rle, KeysOfADictionary) {
  arrow::StringBuilder b;
  for (int i = 0; i < 6000; ++i) ASSERT_TRUE(b.Append("a conversation, number " + std::to_string(i / 300)).ok());
  auto a = b.Finish().ValueOrDie();
  auto pages = Check(Field(a), a);
  ASSERT_TRUE(pages[0].layout.dictionary);
  EXPECT_TRUE(Has(pages[0], CodecKind::kRle)) << pages[0].choice.why;
  Check(Field(a, {"compression"}, {"lz4"}), a);
}

TEST(ByteStreamSplit, WithGeneralCompression) {
  arrow::DoubleBuilder d;
  arrow::FloatBuilder f;
  std::mt19937 rng(9);
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(d.Append(1000 + rng() % 100000 / 1024.0).ok());
    ASSERT_TRUE(f.Append(1 + static_cast<float>(rng() % 1000) / 1024).ok());
  }
  for (const auto& a : {d.Finish().ValueOrDie(), f.Finish().ValueOrDie()}) {
    auto pages = Check(Field(a, {"compression", "bss", "dict-max-size"}, {"zstd", "on", "1"}), a);
    EXPECT_TRUE(Has(pages[0], CodecKind::kByteStreamSplit)) << pages[0].choice.why;
    EXPECT_FALSE(Has(Check(Field(a, {"compression", "bss"}, {"zstd", "off"}), a)[0], CodecKind::kByteStreamSplit));
    EXPECT_FALSE(Has(Check(Field(a, {"bss"}, {"on"}), a)[0], CodecKind::kByteStreamSplit));  // nothing to gain alone
  }
}

TEST(General, DictionaryItems) {
  arrow::StringBuilder b;
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(b.Append("a value of some length, number " + std::to_string(i % 90)).ok());
  auto a = b.Finish().ValueOrDie();
  auto pages = Check(Field(a), a);
  ASSERT_TRUE(pages[0].layout.dictionary);
  EXPECT_EQ(pages[0].layout.dictionary->kind, CodecKind::kGeneral);
  EXPECT_EQ(Check(Field(a, {"dict-values-compression"}, {"none"}), a)[0].layout.dictionary->kind, CodecKind::kVariable);
  EXPECT_EQ(Check(Field(a, {"dict-values-compression"}, {"zstd"}), a)[0].layout.dictionary->scheme, Compression::kZstd);
  EXPECT_EQ(Pages(Field(a), a, {FileVersion::kV2_1}).ValueOrDie()[0].layout.dictionary->kind, CodecKind::kVariable);
}

// Numbers, keys, bits, strings and lists that zstd shrinks further.
std::vector<std::shared_ptr<arrow::Array>> Compressible() {
  constexpr int n = 20000;
  std::mt19937 rng(3);
  arrow::Int64Builder times;
  arrow::Int32Builder skewed;
  arrow::BooleanBuilder bits;
  arrow::StringBuilder few;
  for (int i = 0; i < n; ++i) {
    EXPECT_TRUE(times.Append(1735689600000000 + i * int64_t{60000000}).ok());
    EXPECT_TRUE(skewed.Append(static_cast<int32_t>(rng() % 16 ? rng() % 5 : rng() % 100000)).ok());
    EXPECT_TRUE((rng() % 16 ? bits.Append(rng() % 16 != 0) : bits.AppendNull()).ok());
    EXPECT_TRUE(few.Append("kind" + std::to_string(rng() % 8 ? rng() % 3 : rng() % 30)).ok());
  }
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::make_shared<arrow::StringBuilder>());
  auto& item = static_cast<arrow::StringBuilder&>(*lists.value_builder());
  for (int i = 0; i < n; ++i) {
    EXPECT_TRUE((i % 9 == 4 ? lists.AppendNull() : lists.Append()).ok());
    for (unsigned k = 0, m = i % 9 == 4 ? 0 : rng() % 4; k < m; ++k)
      EXPECT_TRUE(item.Append("tag" + std::to_string(rng() % 20)).ok());
  }
  return {times.Finish().ValueOrDie(), skewed.Finish().ValueOrDie(), bits.Finish().ValueOrDie(),
          few.Finish().ValueOrDie(),   lists.Finish().ValueOrDie(),  Text(9000, 20)};
}

TEST(Profiles, SmallIsSmallerAndFastIsPlain) {
  for (const auto& a : Compressible()) {
    const auto balanced = Check(Field(a), a);
    const auto small = Check(Field(a), a, WriteProfile::kSmall);
    EXPECT_LT(BytesOf(small), BytesOf(balanced) * 95 / 100) << a->type()->ToString() << small[0].choice.why;
    EXPECT_TRUE(Has(small[0], CodecKind::kGeneral)) << a->type()->ToString();
    for (const EncodedPage& p : Check(Field(a), a, WriteProfile::kFast)) {
      EXPECT_FALSE(Has(p, CodecKind::kGeneral) || Has(p, CodecKind::kFsst)) << p.choice.why;
    }
    if (a->type_id() == arrow::Type::LIST) continue;
    // What the leaf's field asks for goes before the profile.
    for (const EncodedPage& p : Check(Field(a, {"compression"}, {"none"}), a, WriteProfile::kSmall)) {
      EXPECT_FALSE(Has(p, CodecKind::kGeneral)) << p.choice.why;
    }
  }
}

TEST(Profiles, Names) {
  for (auto p : {WriteProfile::kFast, WriteProfile::kBalanced, WriteProfile::kSmall})
    EXPECT_EQ(ParseProfile(ProfileName(p)).ValueOrDie(), p);
  EXPECT_EQ(KindOf(ParseProfile("tiny").status()), ErrorKind::kUsage);
}

TEST(Levels, RunsWhereTheySaveHalf) {
  arrow::Int32Builder b;
  for (int i = 0; i < 40000; ++i) ASSERT_TRUE((i / 3000 % 2 ? b.AppendNull() : b.Append(i)).ok());
  auto a = b.Finish().ValueOrDie();
  auto pages = Check(Field(a), a);
  ASSERT_TRUE(pages[0].layout.def_codec);
  EXPECT_EQ(pages[0].layout.def_codec->kind, CodecKind::kRle);
  auto v21 = Pages(Field(a), a, {FileVersion::kV2_1, 300000}).ValueOrDie();
  EXPECT_EQ(v21[0].layout.def_codec->kind, CodecKind::kOutOfLineBitpacking);
}

TEST(Fsst, OneTableForPagesThatAreAlike) {
  auto like = Text(30000, 12);
  auto pages = Check(Field(like), like);
  ASSERT_GT(pages.size(), 3u);
  auto table = [](const EncodedPage& p) {
    const CodecDesc* d = &*p.layout.value_codec;
    while (d->kind != CodecKind::kFsst) d = &d->children.at(0);
    return d->bytes;
  };
  EXPECT_EQ(table(pages[1]), table(pages[0]));
  arrow::StringBuilder digits;
  for (int i = 0; i < 20000; ++i) ASSERT_TRUE(digits.Append(fmt::format("{:030}", i * 7919L * 104729)).ok());
  auto both = arrow::Concatenate({like, digits.Finish().ValueOrDie()}).ValueOrDie();
  pages = Check(Field(both, {"dict-max-size"}, {"1"}), both);
  EXPECT_NE(table(pages.back()), table(pages[0]));
}

TEST(Fsst, LanesAgreeWithOneValueAtATime) {
  std::mt19937 rng(11);
  std::string text;
  std::vector<uint64_t> ends;
  for (int i = 0; i < 3000; ++i) {
    const size_t n = rng() % 5 == 0 ? 0 : rng() % 40;
    for (size_t k = 0; k < n; ++k) text += "abcdefgh\0\xff"[rng() % 10];
    ends.push_back(text.size());
  }
  std::vector<std::string_view> sample{text};
  for (const FsstEncoder& e : {FsstEncoder::Train(sample), FsstEncoder({{'a' | 'b' << 8, 2}, {'c', 1}})}) {
    std::vector<uint8_t> out(2 * text.size() + FsstEncoder::kSlack), one(200);
    std::vector<uint64_t> out_ends(ends.size());
    const auto* p = reinterpret_cast<const uint8_t*>(text.data());
    e.Encode(p, 0, ends, out.data(), out_ends.data());
    for (size_t i = 0; i < ends.size(); ++i) {
      const uint64_t begin = i ? ends[i - 1] : 0, at = i ? out_ends[i - 1] : 0;
      std::string alone = text.substr(begin, ends[i] - begin);  // nothing behind it
      uint64_t end = alone.size(), one_end = 0;
      const uint64_t n = e.Encode(reinterpret_cast<const uint8_t*>(alone.data()), 0, {&end, 1}, one.data(), &one_end);
      ASSERT_EQ(n, out_ends[i] - at) << i;
      ASSERT_TRUE(std::equal(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(n),
                             out.begin() + static_cast<std::ptrdiff_t>(at)))
          << i;
    }
  }
}

// Pairs eight at once, and what is no pair anywhere among them: as one symbol after another.
TEST(Fsst, PairsAgreeWithOneSymbolAtATime) {
  std::vector<FsstSymbol> symbols;
  for (uint64_t a = 0; a < 15; ++a) {
    for (uint64_t b = 0; b < 16; ++b) symbols.push_back({(a + 'a') | (b + 'a') << 8, 2});
  }
  symbols.push_back({'p', 1});
  const FsstEncoder encoder(symbols);
  std::mt19937 rng(13);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (size_t n = rng() % 80; n > 0; --n) text += "abcdefghijklmnop#"[rng() % 40 == 0 ? 15 + rng() % 2 : rng() % 15];
    std::string want;
    for (size_t at = 0; at < text.size();) {
      const auto two = at + 1 < text.size() ? uint64_t{static_cast<uint8_t>(text[at])} |
                                                  uint64_t{static_cast<uint8_t>(text[at + 1])} << 8
                                            : 0;
      auto code = std::find(symbols.begin(), symbols.end(), FsstSymbol{two, 2});
      if (code == symbols.end()) code = std::find(symbols.begin(), symbols.end(), FsstSymbol{uint64_t(text[at]), 1});
      want += static_cast<char>(code == symbols.end() ? 255 : code - symbols.begin());
      if (code == symbols.end()) want += text[at];
      at += code == symbols.end() ? 1 : code->length;
    }
    std::string out(2 * text.size() + FsstEncoder::kSlack, '\0');
    uint64_t end = text.size(), out_end = 0;
    out.resize(encoder.Encode(reinterpret_cast<const uint8_t*>(text.data()), 0, {&end, 1},
                              reinterpret_cast<uint8_t*>(out.data()), &out_end));
    ASSERT_EQ(out, want) << text;
    ASSERT_EQ(out_end, want.size());
  }
}

TEST(ByteTable, ManyValues) {
  write::ByteTable table;
  for (int round = 0; round < 2; ++round) {
    for (int32_t i = 0; i < 20000; ++i) {
      const std::string v = (i % 2 ? "a value of more than sixteen bytes " : "") + std::to_string(i);
      ASSERT_EQ(table.Insert(v), i);
    }
  }
  EXPECT_EQ(table.size(), 20000);
}

TEST(ByteTable, NumbersDistinctValuesOfAnyLength) {
  write::ByteTable table;
  std::string all = "0123456789abcdefghijklmnopqrstuvwxyz";
  for (int round = 0; round < 2; ++round) {
    int32_t next = 0;
    for (size_t n = 0; n <= all.size(); ++n) {
      for (size_t room : {size_t{0}, all.size()}) EXPECT_EQ(table.Insert({all.data(), n}, room), next) << n;
      std::string other = all.substr(0, n);
      if (n > 0) {
        other.back() = '#';
        EXPECT_EQ(table.Insert(other), next + 1) << n;
        ++next;
      }
      ++next;
    }
  }
  for (int32_t i = 0; i < table.size(); ++i) EXPECT_EQ(table.Insert(table.at(i)), i);
}

TEST(Recycle, BlocksComeBack) {
  void* first = write::TakeBlock(1 << 20);
  write::GiveBlock(first);
  EXPECT_GE(write::KeptBytes(), size_t{1} << 20);
  void* again = write::TakeBlock((1 << 20) - 5000);
  EXPECT_EQ(again, first);
  write::GiveBlock(again);
  std::vector<void*> many;
  for (int i = 0; i < 100; ++i) many.push_back(write::TakeBlock(1 << 20));
  for (void* p : many) write::GiveBlock(p);
  EXPECT_LE(write::KeptBytes(), write::kMostKept);
}

}  // namespace
}  // namespace pilum
