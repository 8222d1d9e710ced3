// Files of version 2.0 that we write: what comes back, how pages are cut, the same bytes however batched, refusals, and
// the files with bytes changed.
#include <random>

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>

#include "pilum/base/bytes.h"
#include "pilum/file/file_reader.h"
#include "pilum/file/file_writer.h"
#include "tests/support/capped_pool.h"

namespace pilum {
namespace {

std::shared_ptr<arrow::Array> Json(const std::shared_ptr<arrow::DataType>& type, const std::string& text) {
  return arrow::json::ArrayFromJSONString(type, text).ValueOrDie();
}

Result<std::string> Write(const arrow::Table& table, uint64_t page_bytes = 8 << 20, int64_t batch = 1 << 20) {
  BufferPtr bytes;
  WriteOptions options;
  options.version = FileVersion::kV2_0;
  options.page_bytes = page_bytes;
  options.checksums = false;  // damage is to reach the decoders
  PILUM_ASSIGN_OR_RETURN(auto writer, FileWriter::Make(MakeMemorySink("t.lance", &bytes), table.schema(), options));
  arrow::TableBatchReader reader(table);
  reader.set_chunksize(batch);
  std::shared_ptr<arrow::RecordBatch> b;
  while (true) {
    PILUM_RETURN_NOT_OK(reader.ReadNext(&b));
    if (!b) break;
    PILUM_RETURN_NOT_OK(writer->Write(*b));
  }
  PILUM_RETURN_NOT_OK(writer->Finish().status());
  return bytes->ToString();
}

Result<std::shared_ptr<const FileReader>> Open(const std::string& bytes) {
  ReadContext ctx;
  return FileReader::Open(MakeMemorySource("t.lance", arrow::Buffer::FromString(bytes)), ctx);
}

std::shared_ptr<arrow::Table> Column(const std::shared_ptr<arrow::Array>& array, const std::string& key = "",
                                     const std::string& value = "") {
  auto field = arrow::field("c", array->type());
  if (!key.empty()) field = field->WithMetadata(arrow::key_value_metadata({key}, {value}));
  return arrow::Table::Make(arrow::schema({field}), arrow::ArrayVector{array});
}

// Reads back what was written; returns how the columns are stored.
std::vector<ColumnInfo> RoundTrip(const std::shared_ptr<arrow::Table>& table, uint64_t page_bytes = 8 << 20) {
  auto bytes = Write(*table, page_bytes);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  if (!bytes.ok()) return {};
  EXPECT_EQ(*bytes, *Write(*table, page_bytes, 7)) << "other batches gave other bytes";
  auto reader = Open(*bytes);
  EXPECT_TRUE(reader.ok()) << reader.status();
  if (!reader.ok()) return {};
  ReadContext ctx;
  EXPECT_EQ((*reader)->info().version, FileVersion::kV2_0);
  auto got = (*reader)->ReadTable(std::nullopt, RowSet::All((*reader)->num_rows()), ctx);
  EXPECT_TRUE(got.ok()) << got.status();
  if (!got.ok()) return {};
  EXPECT_TRUE((*got)->ValidateFull().ok());
  EXPECT_TRUE((*got)->schema()->Equals(*table->schema(), /*check_metadata=*/true)) << (*got)->schema()->ToString();
  auto want = table->CombineChunks().ValueOrDie();
  auto one = (*got)->CombineChunks().ValueOrDie();
  EXPECT_TRUE(one->Equals(*want)) << one->ToString() << want->ToString();
  EXPECT_TRUE((*reader)->Check(ctx).ValueOrDie().empty());
  return (*reader)->Columns();
}

std::string Repeat(const std::string& values, int n) {
  std::string out = "[";
  for (int i = 0; i < n; ++i) out += (i ? "," : "") + values;
  return out + "]";
}

TEST(Write20, EachTypeHasItsForm) {
  const auto fsl = arrow::fixed_size_list(arrow::int16(), 2);
  const auto nested = arrow::fixed_size_list(arrow::field("item", fsl), 2);
  const struct {
    std::shared_ptr<arrow::DataType> type;
    std::string values, form;
  } cases[] = {
      {arrow::int32(), "[1,-2,3]", "flat(32)"},
      {arrow::int64(), "[1,null,3]", "nullable(flat(64))"},
      {arrow::float64(), "[null,null]", "all_nulls"},
      {arrow::null(), "[null,null]", "all_nulls"},
      {arrow::boolean(), "[true,false,null,true]", "nullable(flat(1))"},
      {arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), "[1,2]", "flat(64)"},
      {arrow::decimal128(9, 2), R"(["1.25",null])", "nullable(flat(128))"},
      {arrow::decimal256(60, 7), R"(["1.2500000"])", "flat(256)"},
      {arrow::fixed_size_binary(3), R"(["abc",null,"xyz"])", "nullable(flat(24))"},
      {arrow::utf8(), R"(["hello",null,"","world"])", "binary(flat(64), flat(8))"},
      {arrow::large_binary(), R"([null,null])", "binary(flat(64), flat(8))"},
      {fsl, "[[1,2],[3,4]]", "fixed_size_list(2, flat(16))"},
      {fsl, "[[1,null],null]", "nullable(fixed_size_list(2, nullable(flat(16))))"},
      {nested, "[[[1,2],null],null,[[3,null],[5,6]]]",
       "nullable(fixed_size_list(2, nullable(fixed_size_list(2, nullable(flat(16))))))"},
      {arrow::fixed_size_list(arrow::boolean(), 3), "[[true,null,false],null]",
       "nullable(fixed_size_list(3, nullable(flat(1))))"},
      {arrow::list(arrow::int32()), "[[1,2],null,[],[null,5]]", "list(flat(64))"},
      {arrow::large_list(arrow::utf8()), R"([["a"],null,[],[null]])", "list(flat(64))"},
      {arrow::dictionary(arrow::int8(), arrow::utf8()), R"(["a","b",null,"a"])",
       "dictionary(flat(8), binary(flat(64), flat(8)))"},
      {arrow::dictionary(arrow::int32(), arrow::int64()), "[1,null,-1]", "dictionary(flat(32), nullable(flat(64)))"},
      {arrow::dictionary(arrow::uint16(), arrow::float32()), "[1.5,2.5]", "dictionary(flat(16), flat(32))"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.type->ToString() + " " + c.values);
    auto columns = RoundTrip(Column(Json(c.type, c.values)));
    ASSERT_FALSE(columns.empty());
    ASSERT_EQ(columns[0].pages.size(), 1u);
    EXPECT_EQ(columns[0].pages[0].layout, c.form);
  }
}

TEST(Write20, WhatMetadataAndRepetitionChange) {
  const std::string key = "lance-encoding:compression";
  std::string text = "[";
  for (int i = 0; i < 900; ++i) text += fmt::format("{}\"the value numbered {} of all\"", i ? "," : "", i);
  const auto strings = Json(arrow::utf8(), text + "]");
  const auto form = [](const std::vector<ColumnInfo>& c) { return c.at(0).pages.at(0).layout; };
  EXPECT_EQ(form(RoundTrip(Column(strings))), "binary(flat(64), flat(8))");
  EXPECT_EQ(form(RoundTrip(Column(strings, key, "zstd"))), "binary(flat(64), flat(8, zstd))");
  EXPECT_EQ(form(RoundTrip(Column(strings, key, "lz4"))), "binary(flat(64), flat(8, lz4))");
  EXPECT_EQ(form(RoundTrip(Column(strings, key, "fsst"))), "fsst(binary(flat(64), flat(8)))");
  EXPECT_EQ(form(RoundTrip(Column(strings, "lance-encoding:structural-encoding", "sparse"))),
            "binary(flat(64), flat(8))");  // means something in other versions only
  const auto large = arrow::MakeArray(Json(arrow::large_utf8(), text + "]")->data());
  EXPECT_EQ(form(RoundTrip(Column(large, key, "fsst"))), "binary(flat(64), flat(8))");
  // Nothing to gain, nothing done.
  EXPECT_EQ(form(RoundTrip(Column(Json(arrow::utf8(), R"(["q","z"])"), key, "zstd"))), "binary(flat(64), flat(8))");
  EXPECT_EQ(form(RoundTrip(Column(Json(arrow::utf8(), R"(["",null])"), key, "zstd"))), "binary(flat(64), flat(8))");
  // Few values often: keys, of which 0 is null.
  EXPECT_EQ(form(RoundTrip(Column(Json(arrow::utf8(), Repeat(R"("red",null,"green")", 50))))),
            "dictionary(flat(8), binary(flat(64), flat(8)))");
  EXPECT_EQ(form(RoundTrip(Column(Json(arrow::utf8(), Repeat(R"("red",null,"green")", 30))))),
            "binary(flat(64), flat(8))");
  EXPECT_EQ(form(RoundTrip(Column(Json(arrow::utf8(), Repeat("null", 300))))), "binary(flat(64), flat(8))");
}

TEST(Write20, EveryFieldHasAColumn) {
  const auto item = arrow::struct_({arrow::field("a", arrow::int32()), arrow::field("b", arrow::list(arrow::utf8()))});
  const auto type = arrow::struct_({arrow::field("x", arrow::list(item)), arrow::field("y", arrow::int8())});
  auto columns = RoundTrip(Column(Json(type, R"([{"x":[{"a":1,"b":["p",null]},{"a":null,"b":null}],"y":1},
      {"x":null,"y":null},{"x":[],"y":3},{"x":[{"a":2,"b":[]}],"y":4}])")));
  std::vector<std::string> names;
  for (const auto& c : columns) names.push_back(fmt::format("{} {}", c.name, c.pages.at(0).rows));
  EXPECT_EQ(fmt::format("{}", fmt::join(names, ", ")),
            "c 4, c.x 4, c.x.item 3, c.x.item.a 3, c.x.item.b 3, c.x.item.b.item 2, c.y 4");
  // No items at all: a page of none, which peers want to see.
  columns = RoundTrip(Column(Json(arrow::list(item), "[[],null]")));
  for (size_t i = 1; i < columns.size(); ++i) EXPECT_EQ(columns[i].pages.at(0).rows, 0u) << columns[i].name;
  EXPECT_TRUE(RoundTrip(Column(Json(arrow::struct_({}), "[{},{}]"))).at(0).pages.size() == 1);
}

TEST(Write20, PackedStructsAndBlobs) {
  const auto type = arrow::struct_(
      {arrow::field("x", arrow::int32()), arrow::field("v", arrow::fixed_size_list(arrow::float32(), 2))});
  auto columns =
      RoundTrip(Column(Json(type, R"([{"x":1,"v":[1,2]},{"x":2,"v":[3,4]}])"), "lance-encoding:packed", "1"));
  EXPECT_EQ(columns.at(0).pages.at(0).layout, "packed_struct(flat(32), fixed_size_list(2, flat(32)))");
  const std::string big(100'000, 'b');
  columns = RoundTrip(
      Column(Json(arrow::large_binary(), "[\"abc\",null,\"\",\"" + big + "\"]"), "lance-encoding:blob", "true"));
  EXPECT_EQ(columns.at(0).bytes, 64u);
}

TEST(Write20, PagesEndWhereTheyAreFull) {
  arrow::Int32Builder values;
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(values.Append(i).ok());
  const auto ints = values.Finish().ValueOrDie();
  auto columns = RoundTrip(Column(ints), 4096);
  ASSERT_EQ(columns.at(0).pages.size(), 10u);
  EXPECT_EQ(columns[0].pages[0].rows, 1024u);
  // One row of many items: pages of items end inside it.
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::make_shared<arrow::Int32Builder>());
  for (int r = 0; r < 3; ++r) {
    ASSERT_TRUE(lists.Append().ok());
    for (int i = 0; i < 3000 * r; ++i)
      ASSERT_TRUE(static_cast<arrow::Int32Builder*>(lists.value_builder())->Append(i).ok());
  }
  columns = RoundTrip(Column(lists.Finish().ValueOrDie()), 4096);
  EXPECT_EQ(columns.at(0).pages.size(), 1u);
  EXPECT_EQ(columns.at(1).pages.size(), 9u);
}

// More values than keys of 8 bits name, one key being for null: another page, even inside a row.
TEST(Write20, DictionaryKeysRunOut) {
  std::string all = "[";
  for (int i = 0; i < 300; ++i) all += fmt::format("{}\"v{}\"", i ? "," : "", i);
  const auto values = Json(arrow::utf8(), all + "]");
  arrow::ArrayVector chunks;
  const auto type = arrow::dictionary(arrow::int8(), arrow::utf8());
  for (int64_t at = 0; at < 300; at += 100) {
    std::string keys = "[null";
    for (int i = 0; i < 100; ++i) keys += fmt::format(",{}", i);
    chunks.push_back(
        arrow::DictionaryArray::FromArrays(type, Json(arrow::int8(), keys + "]"), values->Slice(at, 100)).ValueOrDie());
  }
  auto table = arrow::Table::Make(arrow::schema({arrow::field("c", type)}),
                                  {std::make_shared<arrow::ChunkedArray>(chunks, type)});
  const std::string bytes = Write(*table).ValueOrDie();
  EXPECT_EQ(bytes, Write(*table, 8 << 20, 13).ValueOrDie());
  auto reader = Open(bytes).ValueOrDie();
  const auto pages = reader->Columns().at(0).pages;
  ASSERT_EQ(pages.size(), 3u);
  EXPECT_EQ(pages[0].rows, 1u + 100 + 1 + 27);  // 127 values
  ReadContext ctx;
  auto word = [&](uint64_t row) {  // one at a time: together they need more keys than the type has
    auto taken = reader->Take(std::nullopt, {row}, ctx).ValueOrDie();
    const auto& array = static_cast<const arrow::DictionaryArray&>(*taken->column(0)->chunk(0));
    if (array.IsNull(0)) return std::string("null");
    return static_cast<const arrow::StringArray&>(*array.dictionary()).GetString(array.GetValueIndex(0));
  };
  EXPECT_EQ(word(0), "null");
  EXPECT_EQ(word(1), "v0");
  EXPECT_EQ(word(128), "v126");
  EXPECT_EQ(word(129), "v127");
  EXPECT_EQ(word(302), "v299");
}

TEST(Write20, WhatItCannotHoldIsRefused) {
  auto refused = [](const std::shared_ptr<arrow::Table>& table, std::vector<std::string> words) {
    const Status st = Write(*table).status();
    EXPECT_EQ(KindOf(st), ErrorKind::kUnsupported) << st;
    words.insert(words.end(), {"t.lance", "'c"});
    for (const auto& w : words) EXPECT_NE(st.message().find(w), std::string::npos) << w << " in " << st;
  };
  const auto row = arrow::struct_({arrow::field("x", arrow::int32())});
  refused(Column(Json(row, R"([{"x":1},{"x":2},null])")), {"row 2", "nulls of structs", "2.1"});
  refused(Column(Json(arrow::list(row), R"([[{"x":1}],[],[{"x":2},null]])")), {"row 2", "2.1"});
  refused(Column(Json(row, R"([{"x":1},null])"), "lance-encoding:packed", "1"), {"row 1"});
  refused(Column(Json(arrow::struct_({}), "[{},null]")), {"row 1"});
  refused(Column(Json(arrow::map(arrow::utf8(), arrow::int32()), "[]")), {"a map", "2.2"});
  refused(Column(Json(arrow::fixed_size_list(row, 2), "[]")), {"fixed-size list of structs", "2.2"});
  const auto text = arrow::struct_({arrow::field("x", arrow::utf8())});
  refused(Column(Json(text, "[]"), "lance-encoding:packed", "1"), {"packed struct", "2.2"});
  refused(Column(Json(arrow::utf8(), "[]"), "lance-encoding:compression", "brotli"), {"brotli"});
  // What lies under a null list is nobody's business.
  auto lists = Json(arrow::list(row), R"([[{"x":1},null],[{"x":3}]])")->data()->Copy();
  lists->buffers[0] = arrow::Buffer::FromString(std::string(1, '\x02'));
  lists->null_count = 1;
  RoundTrip(Column(arrow::MakeArray(lists)));
}

// One file of many columns with bytes changed: a result or an error that names it.
TEST(Write20, DamagedFilesGiveResultOrNamedError) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  auto add = [&](const std::string& name, const std::shared_ptr<arrow::DataType>& type, const std::string& values,
                 const std::string& key = "", const std::string& value = "") {
    fields.push_back(arrow::field(name, type));
    if (!key.empty()) fields.back() = fields.back()->WithMetadata(arrow::key_value_metadata({key}, {value}));
    arrays.push_back(Json(type, Repeat(values, 120)));
  };
  const auto row = arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("y", arrow::list(arrow::utf8()))});
  add("i", arrow::int64(), "1,null,3");
  add("b", arrow::boolean(), "true,null,false");
  add("d", arrow::utf8(), R"("red",null,"green")");
  add("s", arrow::large_utf8(), R"("one",null,"three")");
  add("z", arrow::binary(), R"("one one one",null,"three three")", "lance-encoding:compression", "zstd");
  add("f", arrow::binary(), R"("one one one",null,"three three three three")", "lance-encoding:compression", "fsst");
  add("v", arrow::fixed_size_list(arrow::float32(), 2), "[1,2],null,[3,null]");
  add("k", arrow::dictionary(arrow::int16(), arrow::utf8()), R"("a",null,"b")");
  add("l", arrow::list(row), R"([{"x":1,"y":["p",null]}],null,[])");
  add("p", row, R"({"x":1,"y":null},{"x":null,"y":[]},{"x":2,"y":["q"]})");
  add("o", arrow::large_binary(), R"("blob",null,"")", "lance-encoding:blob", "true");
  const std::string good = Write(*arrow::Table::Make(arrow::schema(fields), arrays), 700).ValueOrDie();
  std::mt19937_64 random(20);
  for (int i = 0; i < 3000 && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    std::string bytes = good;
    for (uint64_t n = 1 + random() % 3; n > 0; --n) {
      const size_t at = bytes.size() - 1 - random() % (random() % 2 ? bytes.size() : 3000);
      if (random() % 3 == 0) StoreLE<uint8_t>(reinterpret_cast<uint8_t*>(&bytes[at]), random() % 2 ? 255 : 0);
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
    }
    test::CappedPool pool(256ll << 20);
    ReadContext ctx;
    ctx.pool = &pool;
    auto reader = FileReader::Open(MakeMemorySource("t.lance", arrow::Buffer::FromString(bytes)), ctx);
    Status st = reader.status();
    if (reader.ok()) {
      const uint64_t rows = std::min<uint64_t>((*reader)->num_rows(), 2000);
      auto table = (*reader)->ReadTable(std::nullopt, RowSet::All(rows), ctx);
      st = table.status();
      EXPECT_TRUE(!table.ok() || (*table)->Validate().ok());
    }
    EXPECT_TRUE(st.ok() || st.message().find("t.lance") != std::string::npos) << st;
    EXPECT_FALSE(pool.over());
  }
}

}  // namespace
}  // namespace pilum
