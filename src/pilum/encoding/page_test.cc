// Pages made by hand from the worked dumps of docs/formats/lance_file.md: what is decoded, what is fetched, what is
// refused.
#include "pilum/encoding/page.h"

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>

#include "pilum/base/bytes.h"

namespace pilum {
namespace {

using L = RepDefLayer;

std::string Hex(std::string_view hex) {
  std::string digits, out;
  for (char c : hex) {
    if (c != ' ') digits += c;
  }
  for (size_t i = 0; i < digits.size(); i += 2) out += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return out;
}

CodecDesc Flat(uint64_t bits) {
  CodecDesc d;
  d.bits = bits;
  return d;
}
CodecDesc Variable() {
  CodecDesc d;
  d.kind = CodecKind::kVariable;
  d.children = {Flat(32)};
  return d;
}

// One page of one column in a file that holds nothing else.
struct Sample {
  std::shared_ptr<arrow::Field> field;
  PageLayout layout;
  uint64_t length = 0;
  std::vector<std::string> buffers;
  FileVersion version = FileVersion::kV2_1;
  uint64_t fetched = 0;  // bytes that the last read asked for, and rounds
  int rounds = 0;
  LeafColumn column;
  std::unique_ptr<Page> page;

  Status Make() {
    PILUM_ASSIGN_OR_RETURN(auto columns, LeafColumnsOf(arrow::Schema({field})));
    column = columns[0];
    PageInfo info;
    for (const auto& b : buffers) {
      file.resize((file.size() + 63) / 64 * 64, 'H');
      info.buffers.push_back({file.size(), b.size()});
      file += b;
    }
    info.length = length;
    info.layout = layout;
    PILUM_ASSIGN_OR_RETURN(page, Page::Make(info, &column, 3, version, file.size()));
    return Status::OK();
  }

  Result<std::shared_ptr<arrow::Array>> Read(RowSet rows) {
    if (!page) PILUM_RETURN_NOT_OK(Make());
    auto read = page->StartRead(std::move(rows));
    std::vector<BufferPtr> have;
    fetched = rounds = 0;
    for (;;) {
      PILUM_ASSIGN_OR_RETURN(auto ranges, read->Next(std::move(have)));
      if (ranges.empty()) break;
      ++rounds;
      have.clear();
      for (const ByteRange& r : ranges) {
        EXPECT_LE(r.end(), file.size());
        fetched += r.size;
        std::string slack = file.substr(r.offset, r.size) + std::string(64, 'S');
        have.push_back(
            arrow::SliceBuffer(arrow::Buffer::FromString(std::move(slack)), 0, static_cast<int64_t>(r.size)));
      }
    }
    ReadContext ctx;
    ctx.stats = stats.get();
    PILUM_ASSIGN_OR_RETURN(auto array, read->Decode(ctx));
    PILUM_RETURN_NOT_OK(array->ValidateFull());
    return array;
  }
  Result<std::shared_ptr<arrow::Array>> ReadAll() { return Read(RowSet::All(length)); }

  std::string file;
  std::shared_ptr<ReadStats> stats = std::make_shared<ReadStats>();
};

void ExpectJson(const Result<std::shared_ptr<arrow::Array>>& got, const std::string& json) {
  ASSERT_TRUE(got.ok()) << got.status();
  auto want = arrow::json::ArrayFromJSONString((*got)->type(), json);
  ASSERT_TRUE(want.ok()) << want.status();
  EXPECT_TRUE((*got)->Equals(**want)) << (*got)->ToString();
}

Sample Int32Page() {
  Sample s;
  s.field = arrow::field("a", arrow::int32());
  s.layout.layers = {L::kAllValidItem};
  s.layout.value_codec = Flat(32);
  s.layout.num_buffers = 1;
  s.layout.num_items = s.length = 3;
  s.buffers = {Hex("20 00"), Hex("00 00 0c 00 fe fe fe fe 01000000 02000000 03000000 fe fe fe fe")};
  return s;
}

Sample ListPage() {
  Sample s;
  s.field = arrow::field("l", arrow::list(arrow::int32()));
  s.layout.layers = {L::kNullableItem, L::kNullAndEmptyList};
  s.layout.rep_codec = s.layout.def_codec = Flat(16);
  s.layout.value_codec = Flat(32);
  s.layout.num_buffers = 1;
  s.layout.num_items = 4;
  s.layout.repetition_index_depth = 1;
  s.length = 4;
  s.buffers = {Hex("60 00"),
               Hex("0600 0c00 0c00 1000 0100 0000 0100 0100 0100 0000 fefefefe 0000 0000 0200 0300 0100 0000 fefefefe "
                   "01000000 02000000 00000000 05000000"),
               Hex("0400000000000000 0000000000000000")};
  return s;
}

TEST(MiniBlockPage, FlatInt32OfTheFormatPage) {
  Sample s = Int32Page();
  ExpectJson(s.ReadAll(), "[1, 2, 3]");
  EXPECT_EQ(s.rounds, 1);  // the whole page: table and data together
  ExpectJson(s.Read(RowSet::Range(1, 2)), "[2]");
  EXPECT_EQ(s.fetched, 24u);  // the chunk alone: the table is kept
  EXPECT_EQ(s.stats->decoded().at("a"), 4u);
}

// Only the last chunk may leave its number of values to be what is left.
TEST(MiniBlockPage, EachChunkSaysItsNumberOfValues) {
  auto page = [](std::string words) {
    Sample s = Int32Page();
    s.layout.num_items = s.length = 5;
    s.buffers = {std::move(words), Hex("0000 0800 fefefefe 01000000 02000000  0000 0800 fefefefe 03000000 04000000"
                                       "0000 0400 fefefefe 05000000 fefefefe")};
    return s;
  };
  ExpectJson(page(Hex("1100 1100 1000")).ReadAll(), "[1, 2, 3, 4, 5]");
  const Status st = page(Hex("1100 1000 1000")).ReadAll().status();
  EXPECT_EQ(KindOf(st), ErrorKind::kCorrupt);
  EXPECT_NE(st.message().find("chunk 1 of 3 does not say its number of values"), std::string::npos) << st;
}

TEST(MiniBlockPage, NullsIn21And22) {
  for (bool large : {false, true}) {
    Sample s = Int32Page();
    s.version = large ? FileVersion::kV2_2 : FileVersion::kV2_1;
    s.layout.has_large_chunk = large;
    s.layout.layers = {L::kNullableItem};
    s.layout.def_codec = Flat(16);
    s.buffers = {large ? Hex("30 00 00 00") : Hex("30 00"),
                 Hex(large ? "0300 0600 0c000000" : "0300 0600 0c00 fefe") +
                     Hex("0000 0100 0000 fefe 01000000 00000000 03000000 fefefefe")};
    ExpectJson(s.ReadAll(), "[1, null, 3]");
    ExpectJson(s.Read(RowSet::Range(1, 3)), "[null, 3]");
  }
}

TEST(MiniBlockPage, ListsWithAndWithoutIndex) {
  Sample s = ListPage();
  ExpectJson(s.ReadAll(), "[[1, 2], null, [], [null, 5]]");
  ExpectJson(s.Read(RowSet::Range(1, 3)), "[null, []]");
  ExpectJson(s.Read(RowSet::FromSorted({0, 3})), "[[1, 2], [null, 5]]");
  Sample bare = ListPage();
  bare.layout.repetition_index_depth = 0;
  bare.buffers.pop_back();
  ExpectJson(bare.Read(RowSet::FromSorted({3})), "[[null, 5]]");
}

TEST(MiniBlockPage, ATakeFetchesOnlyItsChunks) {
  // 8 chunks of 2 values; a list of 5 items in the middle runs over three of them.
  Sample s = ListPage();
  s.layout.layers = {L::kAllValidItem, L::kAllValidList};
  s.layout.def_codec = std::nullopt;
  s.layout.num_items = 16;
  const std::vector<std::vector<int>> lists = {{0, 1, 2}, {3}, {4, 5, 6, 7, 8}, {9, 10, 11, 12}, {13}, {14, 15}};
  s.length = lists.size();
  std::vector<uint16_t> rep;
  std::vector<uint64_t> finished(8), leftover(8);
  for (const auto& l : lists) {
    for (size_t i = 0; i < l.size(); ++i) rep.push_back(i == 0);
  }
  std::string table, data, index;
  for (int c = 0; c < 8; ++c) {
    AppendLE<uint16_t>(&table, 3 << 4 | (c < 7 ? 1 : 0));  // 32 bytes
    AppendLE<uint16_t>(&data, 2);
    AppendLE<uint16_t>(&data, 4);
    AppendLE<uint16_t>(&data, 8);
    data += "\xfe\xfe";
    AppendLE<uint16_t>(&data, rep[2 * c]);
    AppendLE<uint16_t>(&data, rep[2 * c + 1]);
    data += std::string(4, '\xfe');
    AppendLE<int32_t>(&data, 2 * c);
    AppendLE<int32_t>(&data, 2 * c + 1);
    data += std::string(8, '\xfe');
  }
  std::vector<std::pair<int, int>> pairs = {{0, 2}, {2, 0}, {0, 2}, {0, 4}, {1, 1}, {0, 3}, {2, 0}, {1, 0}};
  for (auto [rows, rest] : pairs) {
    AppendLE<uint64_t>(&index, rows);
    AppendLE<uint64_t>(&index, rest);
  }
  data.resize(8 * 32);
  s.buffers = {table, data, index};
  const auto json = [&](std::vector<uint64_t> rows) {
    std::string out = "[";
    for (uint64_t r : rows) out += fmt::format("{}[{}]", out.size() > 1 ? "," : "", fmt::join(lists[r], ","));
    return out + "]";
  };
  ExpectJson(s.Read(RowSet::FromSorted({2})), json({2}));
  ExpectJson(s.Read(RowSet::FromSorted({2})), json({2}));
  EXPECT_EQ(s.fetched, 3 * 32u);  // values 4 to 8
  for (uint64_t a = 0; a < lists.size(); ++a) {
    for (uint64_t b = a; b < lists.size(); ++b) {
      ExpectJson(s.Read(RowSet::FromSorted({a, b})), a == b ? json({a}) : json({a, b}));
      std::vector<uint64_t> range;
      for (uint64_t r = a; r <= b; ++r) range.push_back(r);
      ExpectJson(s.Read(RowSet::Range(a, b + 1)), json(range));
    }
  }
}

TEST(MiniBlockPage, DictionaryKeysMayBeAnythingWhereNull) {
  Sample s;
  s.field = arrow::field("d", arrow::dictionary(arrow::int8(), arrow::utf8()));
  s.layout.layers = {L::kNullableItem};
  s.layout.def_codec = Flat(16);
  s.layout.value_codec = Flat(8);
  s.layout.dictionary = Variable();
  s.layout.num_dictionary_items = 2;
  s.layout.num_buffers = 1;
  s.layout.num_items = s.length = 4;
  s.buffers = {Hex("20 00"), Hex("0400 0800 0400 fefe 0000 0000 0100 0000 00 01 77 01 fefefefe"),
               Hex("20000000 14000000 00000000 01000000 03000000 78 79 79")};
  auto got = s.ReadAll();
  ASSERT_TRUE(got.ok()) << got.status();
  ExpectJson(static_cast<const arrow::DictionaryArray&>(**got).dictionary(), R"(["x", "yy"])");
  ExpectJson(static_cast<const arrow::DictionaryArray&>(**got).indices(), "[0, 1, null, 1]");
  // The same bytes under a plain type.
  Sample plain;
  plain.field = arrow::field("d", arrow::utf8());
  plain.layout = s.layout;
  plain.length = 4;
  plain.buffers = s.buffers;
  ExpectJson(plain.ReadAll(), R"(["x", "yy", null, "yy"])");
  plain.page = nullptr;
  plain.file.clear();
  plain.layout.num_dictionary_items = 1;
  EXPECT_EQ(KindOf(plain.ReadAll().status()), ErrorKind::kCorrupt);
}

TEST(FullZipPage, StringsOfTheFormatPage) {
  Sample s;
  s.field = arrow::field("s", arrow::utf8());
  s.layout.kind = LayoutKind::kFullZip;
  s.layout.layers = {L::kNullableItem};
  s.layout.bits_def = 1;
  s.layout.variable_width = true;
  s.layout.bits_per_value = 32;
  s.layout.num_items = s.layout.num_visible_items = s.length = 4;
  s.layout.value_codec = Variable();
  s.buffers = {"", Hex("00 07 08 0d 15")};
  s.buffers[0] = Hex("00 02000000 61 62 01 00 00000000 00 03000000 78 79 7a");
  ExpectJson(s.ReadAll(), R"(["ab", null, "", "xyz"])");
  EXPECT_EQ(s.fetched, 21u);  // the index is not needed
  ExpectJson(s.Read(RowSet::FromSorted({0, 3})), R"(["ab", "xyz"])");
  EXPECT_EQ(s.rounds, 2);
  ExpectJson(s.Read(RowSet::Range(1, 4)), R"([null, "", "xyz"])");
  EXPECT_EQ(s.fetched, 14u);
  s.file[s.page->info().buffers[0].offset + 14] = 9;  // a length past the end
  Status st = s.ReadAll().status();
  EXPECT_EQ(KindOf(st), ErrorKind::kCorrupt);
  EXPECT_NE(st.message().find("column 's' page 3"), std::string::npos) << st;
}

TEST(FullZipPage, ListsOfTheFormatPage) {
  Sample s;
  s.field = arrow::field("l", arrow::list(arrow::int16()));
  s.layout.kind = LayoutKind::kFullZip;
  s.layout.layers = {L::kNullableItem, L::kNullAndEmptyList};
  s.layout.bits_rep = 1;
  s.layout.bits_def = 2;
  s.layout.bits_per_value = 16;
  s.layout.num_items = 6;
  s.layout.num_visible_items = 4;
  s.layout.value_codec = Flat(16);
  s.length = 4;
  s.buffers = {Hex("04 0100 00 0200 06 07 05 0000 00 0500"), Hex("00 06 07 08 0e")};
  ExpectJson(s.ReadAll(), "[[1, 2], null, [], [null, 5]]");
  ExpectJson(s.Read(RowSet::FromSorted({1, 3})), "[null, [null, 5]]");
  s.file[s.page->info().buffers[0].offset] = 0;  // the first event continues a list that is not there
  EXPECT_FALSE(s.ReadAll().ok());
}

TEST(FullZipPage, FixedSizeListsWithItemValidity) {
  Sample s;
  s.field = arrow::field("f", arrow::fixed_size_list(arrow::int16(), 2));
  s.layout.kind = LayoutKind::kFullZip;
  s.layout.layers = {L::kNullableItem};
  s.layout.bits_def = 1;
  s.layout.bits_per_value = 40;
  s.layout.num_items = s.layout.num_visible_items = s.length = 2;
  CodecDesc list;
  list.kind = CodecKind::kFixedSizeList;
  list.num_items = 2;
  list.has_validity = true;
  list.children = {Flat(16)};
  s.layout.value_codec = list;
  s.buffers = {Hex("00 0d 0100 0000 01 03 0300 0400")};
  ExpectJson(s.ReadAll(), "[[1, null], null]");
  ExpectJson(s.Read(RowSet::Range(0, 1)), "[[1, null]]");
  EXPECT_EQ(s.fetched, 6u);  // by arithmetic
}

TEST(FullZipPage, VariablePackedStruct) {
  auto type = arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("s", arrow::utf8())});
  Sample s;
  s.field = arrow::field("p", type)->WithMetadata(arrow::key_value_metadata({"lance-encoding:packed"}, {"true"}));
  s.version = FileVersion::kV2_2;
  s.layout.kind = LayoutKind::kFullZip;
  s.layout.layers = {L::kAllValidItem};
  s.layout.variable_width = true;
  s.layout.bits_per_value = 32;
  s.layout.num_items = s.layout.num_visible_items = s.length = 2;
  CodecDesc packed;
  packed.kind = CodecKind::kVariablePackedStruct;
  packed.children = {Flat(32), Variable()};
  packed.var_fields = {{false, 32}, {true, 32}};
  s.layout.value_codec = packed;
  s.buffers = {Hex("0a000000 01000000 02000000 61 62 08000000 03000000 00000000"), Hex("00 0e 1a")};
  ExpectJson(s.ReadAll(), R"([{"x": 1, "s": "ab"}, {"x": 3, "s": ""}])");
  s.file[s.page->info().buffers[0].offset + 8] = 3;
  EXPECT_FALSE(s.ReadAll().ok());
}

TEST(ConstantPage, ValuesAndNulls) {
  Sample s;
  s.field = arrow::field("c", arrow::int32());
  s.version = FileVersion::kV2_2;
  s.layout.kind = LayoutKind::kConstant;
  s.layout.layers = {L::kNullableItem};
  s.layout.inline_value = Hex("05000000");
  s.length = 3;
  s.buffers = {"", Hex("0000 0100 0000")};
  ExpectJson(s.ReadAll(), "[5, null, 5]");
  ExpectJson(s.Read(RowSet::Range(1, 2)), "[null]");

  Sample list;
  list.field = arrow::field("c", arrow::list(arrow::utf8()));
  list.version = FileVersion::kV2_2;
  list.layout.kind = LayoutKind::kConstant;
  list.layout.layers = {L::kNullableItem, L::kNullAndEmptyList};
  list.length = 4;
  list.buffers = {Hex("02000000 08000000 01000000 00000000 01000000 71"), Hex("0100 0100 0100 0100 0000"),
                  Hex("0000 0300 0200 0000 0000")};
  ExpectJson(list.ReadAll(), R"([["q"], [], null, ["q", "q"]])");
  ExpectJson(list.Read(RowSet::FromSorted({1, 3})), R"([[], ["q", "q"]])");
}

TEST(ConstantPage, ALengthCostsNothing) {
  Sample s;
  s.field = arrow::field("c", arrow::float64());
  s.layout.kind = LayoutKind::kConstant;
  s.layout.layers = {L::kNullableItem};
  s.length = uint64_t{1} << 60;
  ExpectJson(s.Read(RowSet::Range((uint64_t{1} << 59) + 1, (uint64_t{1} << 59) + 3)), "[null, null]");
  EXPECT_EQ(KindOf(s.ReadAll().status()), ErrorKind::kMemory);
  Sample e;
  e.field = arrow::field("e", arrow::struct_({}));
  e.layout = s.layout;
  e.length = 2;
  auto got = e.ReadAll();
  ASSERT_TRUE(got.ok());
  EXPECT_EQ((*got)->null_count(), 0);  // rows of an empty struct are there
}

TEST(BlobPage, PayloadsNullsAndEmptyValues) {
  Sample s;
  s.field = arrow::field("b", arrow::large_binary())
                ->WithMetadata(arrow::key_value_metadata({"lance-encoding:blob"}, {"true"}));
  PageLayout inner;
  inner.layers = {L::kAllValidItem};
  CodecDesc packed;
  packed.kind = CodecKind::kPackedStruct;
  packed.field_bits = {64, 64};
  packed.children = {Flat(128)};
  inner.value_codec = packed;
  inner.num_buffers = 1;
  inner.num_items = 3;
  s.layout.kind = LayoutKind::kBlob;
  s.layout.layers = {L::kNullableItem};
  s.layout.inner = std::make_shared<const PageLayout>(inner);
  s.length = 3;
  s.file = "abc";
  std::string chunk = Hex("0000 3000 fefefefe");
  for (uint64_t v : {uint64_t{0}, uint64_t{3}, uint64_t{0x10000}, uint64_t{0}, uint64_t{0}, uint64_t{0}})
    AppendLE(&chunk, v);
  std::string word;
  AppendLE<uint16_t>(&word, 6 << 4);
  s.buffers = {word, chunk};
  ExpectJson(s.ReadAll(), R"(["abc", null, ""])");
  EXPECT_EQ(s.rounds, 2);
  ExpectJson(s.Read(RowSet::Range(1, 3)), R"([null, ""])");
  StoreLE<uint64_t>(s.file.data() + s.page->info().buffers[1].offset + 16, 1 << 20);
  EXPECT_EQ(KindOf(s.ReadAll().status()), ErrorKind::kCorrupt);
}

TEST(Page, RefusesWhatTheBytesCannotHold) {
  auto expect_corrupt = [](Sample s, const char* what) {
    Status st = s.ReadAll().status();
    EXPECT_EQ(KindOf(st), ErrorKind::kCorrupt) << what << ": " << st;
    EXPECT_NE(st.message().find("page 3"), std::string::npos) << st;
  };
  for (uint64_t n : {uint64_t{5}, uint64_t{1} << 15, uint64_t{1} << 50, uint64_t{1} << 63, UINT64_MAX}) {
    Sample s = Int32Page();
    s.layout.num_items = s.length = n;
    expect_corrupt(std::move(s), "num_items and length");
    Sample t = Int32Page();
    t.length = n;
    expect_corrupt(std::move(t), "length");
    Sample l = ListPage();
    l.length = n;
    expect_corrupt(std::move(l), "rows");
    Sample m = ListPage();
    m.layout.num_items = n;
    expect_corrupt(std::move(m), "slots");
    Sample f = Int32Page();
    f.layout.kind = LayoutKind::kFullZip;
    f.layout.bits_per_value = 32;
    f.layout.num_items = f.length = n;
    expect_corrupt(std::move(f), "full-zip length");
  }
  Sample word = Int32Page();
  word.buffers[0] = Hex("ff ff");
  expect_corrupt(std::move(word), "chunk word");
  Sample size = Int32Page();
  size.buffers[1][2] = 0x14;
  expect_corrupt(std::move(size), "value buffer size");
  Sample buffers = Int32Page();
  buffers.layout.num_buffers = 2;
  expect_corrupt(std::move(buffers), "buffers");
  Sample missing = Int32Page();
  missing.buffers.pop_back();
  expect_corrupt(std::move(missing), "missing buffer");
  Sample type = Int32Page();
  type.layout.value_codec = Flat(64);
  expect_corrupt(std::move(type), "width");
  Sample levels = ListPage();
  levels.buffers[1][8] = 2;
  expect_corrupt(std::move(levels), "repetition level");
}

TEST(MergeLeaves, StructsAndMapsBecomeWhole) {
  auto st = arrow::struct_({arrow::field("a", arrow::int32()), arrow::field("b", arrow::list(arrow::utf8()))});
  auto a = *arrow::json::ArrayFromJSONString(arrow::struct_({st->field(0)}), R"([{"a": 1}, null, {"a": null}])");
  auto b = *arrow::json::ArrayFromJSONString(arrow::struct_({st->field(1)}), R"([{"b": ["x"]}, null, {"b": []}])");
  auto merged = MergeLeaves(arrow::field("s", st), {a, b}, arrow::default_memory_pool());
  ExpectJson(merged, R"([{"a": 1, "b": ["x"]}, null, {"a": null, "b": []}])");
  EXPECT_FALSE(MergeLeaves(arrow::field("s", st), {a}, nullptr).ok());
  EXPECT_FALSE(MergeLeaves(arrow::field("s", st), {a, b->Slice(1)}, nullptr).ok());

  auto map = arrow::map(arrow::utf8(), arrow::int32());
  auto entries = [](const std::shared_ptr<arrow::Field>& f) {
    return arrow::list(arrow::field("entries", arrow::struct_({f}), false));
  };
  auto keys =
      *arrow::json::ArrayFromJSONString(entries(arrow::field("key", arrow::utf8(), false)), R"([[{"key": "k"}], []])");
  auto values =
      *arrow::json::ArrayFromJSONString(entries(arrow::field("value", arrow::int32())), R"([[{"value": 7}], []])");
  ExpectJson(MergeLeaves(arrow::field("m", map), {keys, values}, nullptr), R"([[["k", 7]], []])");
  auto longer = *arrow::json::ArrayFromJSONString(values->type(), R"([[], [{"value": 7}]])");
  EXPECT_FALSE(MergeLeaves(arrow::field("m", map), {keys, longer}, nullptr).ok());
  auto null_key =
      *arrow::json::ArrayFromJSONString(entries(arrow::field("key", arrow::utf8())), R"([[{"key": null}], []])");
  EXPECT_FALSE(MergeLeaves(arrow::field("m", map), {null_key, values}, nullptr).ok());
}

}  // namespace
}  // namespace pilum
