// Whole files: the bytes of the smallest one, the same bytes however batched, refusals, round trips.
#include "pilum/file/file_writer.h"

#include <random>

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>

#include "pilum/base/bytes.h"
#include "pilum/file/file_reader.h"

namespace pilum {
namespace {

std::shared_ptr<arrow::Array> Json(const std::shared_ptr<arrow::DataType>& type, const std::string& text) {
  return arrow::json::ArrayFromJSONString(type, text).ValueOrDie();
}

struct Options {
  WriteOptions write;
  int64_t batch = 0;
};

Result<std::string> WriteTable(const std::shared_ptr<arrow::Table>& table, const Options& options = {}) {
  BufferPtr bytes;
  PILUM_ASSIGN_OR_RETURN(auto writer,
                         FileWriter::Make(MakeMemorySink("t.lance", &bytes), table->schema(), options.write));
  arrow::TableBatchReader reader(*table);
  if (options.batch) reader.set_chunksize(options.batch);
  std::shared_ptr<arrow::RecordBatch> b;
  while (true) {
    PILUM_RETURN_NOT_OK(reader.ReadNext(&b));
    if (!b) break;
    PILUM_RETURN_NOT_OK(writer->Write(*b));
  }
  PILUM_ASSIGN_OR_RETURN(uint64_t rows, writer->Finish());
  EXPECT_EQ(rows, static_cast<uint64_t>(table->num_rows()));
  return bytes->ToString();
}

Result<std::string> WriteColumn(const std::shared_ptr<arrow::Array>& array, FileVersion version = FileVersion::kV2_2) {
  return WriteTable(arrow::Table::Make(arrow::schema({arrow::field("a", array->type())}), {array}), {{version}});
}

std::string Unhex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

// A reader refuses text that is not UTF-8, so a writer must too: whole values, values cut inside a character, dictionaries.
TEST(FileWriter, RefusesTextThatIsNotUtf8) {
  const auto strings = [](const std::vector<std::string>& values) {
    arrow::StringBuilder b;
    for (const auto& v : values) EXPECT_TRUE(b.Append(v).ok());
    return b.Finish().ValueOrDie();
  };
  const auto bad = strings({"a", "\xff"}), cut = strings({"\xc3", "\xa9"});
  const auto keys = Json(arrow::int8(), "[0,1]");
  std::shared_ptr<arrow::Array> dict =
      arrow::DictionaryArray::FromArrays(arrow::dictionary(arrow::int8(), arrow::utf8()), keys, bad).ValueOrDie();
  for (const auto& array : std::vector<std::shared_ptr<arrow::Array>>{bad, cut, dict}) {
    const Status st = WriteColumn(array).status();
    EXPECT_NE(st.message().find("column 'a'"), std::string::npos) << st.ToString();
    EXPECT_NE(st.message().find("UTF-8"), std::string::npos) << st.ToString();
  }
  // As binary the same bytes are welcome, and what lies under a null is nobody's business.
  EXPECT_TRUE(WriteColumn(bad->View(arrow::binary()).ValueOrDie()).ok());
  auto masked = bad->data()->Copy();
  masked->buffers[0] = arrow::Buffer::FromString(std::string(1, '\x01'));
  masked->null_count = 1;
  EXPECT_TRUE(WriteColumn(arrow::MakeArray(masked)).ok());
}

TEST(FileWriter, SmallestFile) {
  auto table =
      arrow::Table::Make(arrow::schema({arrow::field("a", arrow::int32())}), {Json(arrow::int32(), "[1,2,3]")});
  std::string got = WriteTable(table, {{.version = FileVersion::kV2_1, .checksums = false}}).ValueOrDie();
  std::string want = Unhex("2000") + std::string(62, 'H') + Unhex("00000c00fefefefe010000000200000003000000fefefefe") +
                     std::string(40, 'H');
  want += Unhex(
      "0a1b0a1912016120ffffffffffffffffff012a05696e74333230013801"
      "1003");
  want += Unhex("0a2912270a250a1f") + "/lance.encodings.ColumnEncoding" + Unhex("12020a00");
  want += Unhex(
              "12400a020040120202181803"
              "223412320a30"
              "0a1d") +
          "/lance.encodings21.PageLayout" +
          Unhex(
              "120f0a0d"
              "1a040a020820"
              "320101"
              "3801"
              "4803");
  ASSERT_EQ(got.size(), 340u);
  EXPECT_EQ(got.substr(0, want.size()), want);
  EXPECT_EQ(got.substr(300), Unhex("9f00000000000000"
                                   "0c01000000000000"
                                   "1c01000000000000"
                                   "01000000"
                                   "01000000"
                                   "02000100") +
                                 "LANC");
}

std::shared_ptr<arrow::Table> Mixed(int rows, bool maps) {
  std::mt19937 rng(3);
  auto maybe = [&](const std::string& s) { return rng() % 6 ? s : std::string("null"); };
  std::string ints = "[", strings = "[", lists = "[", dicts = "[", blobs = "[", map = "[";
  for (int i = 0; i < rows; ++i) {
    const char* sep = i ? "," : "";
    ints += sep + maybe(std::to_string(rng()));
    strings += sep + maybe("\"" + std::string(rng() % 40, 'x') + std::to_string(rng() % 100) + "\"");
    std::string l;
    for (unsigned k = 0, n = rng() % 4; k < n; ++k)
      l += (k ? "," : "") + maybe("[" + maybe(std::to_string(rng() % 100)) + ",\"" + std::to_string(k) + "\"]");
    lists += sep + maybe("[" + l + "]");
    dicts += sep + maybe("\"d" + std::to_string(rng() % 20) + "\"");
    blobs += sep + maybe("\"" + std::string(rng() % 300, 'b') + "\"");
    map += sep + maybe(rng() % 2 ? "[[\"k\",1],[\"l\",null]]" : "[]");
  }
  auto list = arrow::list(arrow::struct_({arrow::field("x", arrow::int16()), arrow::field("y", arrow::utf8())}));
  auto dict = arrow::dictionary(arrow::int32(), arrow::utf8());
  arrow::FieldVector fields{
      arrow::field("i", arrow::int64()), arrow::field("s", arrow::utf8()), arrow::field("l", list),
      arrow::field("b", arrow::large_binary(), true, arrow::key_value_metadata({"lance-encoding:blob"}, {"true"}))};
  arrow::ArrayVector arrays{Json(arrow::int64(), ints + "]"), Json(arrow::utf8(), strings + "]"),
                            Json(list, lists + "]"), Json(arrow::large_binary(), blobs + "]")};
  fields.push_back(arrow::field("d", dict));
  arrays.push_back(Json(dict, dicts + "]"));
  if (maps) {
    fields.push_back(arrow::field("m", arrow::map(arrow::utf8(), arrow::int32())));
    arrays.push_back(Json(fields.back()->type(), map + "]"));
  }
  return arrow::Table::Make(arrow::schema(fields, arrow::key_value_metadata({"z", "a"}, {"1", "2"})), arrays);
}

TEST(FileWriter, SameBytesHoweverBatched) {
  for (auto version : {FileVersion::kV2_1, FileVersion::kV2_2}) {
    auto table = Mixed(3000, version == FileVersion::kV2_2);
    std::string whole = WriteTable(table, {{version, 9000}}).ValueOrDie();
    for (int64_t batch : {1, 13, 100, 1024})
      EXPECT_EQ(WriteTable(table, {{version, 9000}, batch}).ValueOrDie(), whole) << batch;
  }
}

TEST(FileWriter, ReadsBack) {
  for (auto version : {FileVersion::kV2_1, FileVersion::kV2_2}) {
    auto table = Mixed(3000, version == FileVersion::kV2_2);
    for (uint64_t page_bytes : {9000, 8 << 20}) {
      std::string bytes = WriteTable(table, {{version, page_bytes}, 777}).ValueOrDie();
      ReadContext ctx;
      auto reader = FileReader::Open(MakeMemorySource("t.lance", arrow::Buffer::FromString(bytes)), ctx).ValueOrDie();
      EXPECT_EQ(reader->num_rows(), 3000u);
      EXPECT_TRUE(reader->schema()->Equals(*table->schema(), true)) << reader->schema()->ToString(true);
      auto back = reader->ReadTable(std::nullopt, RowSet::Range(0, 3000), ctx).ValueOrDie();
      ASSERT_TRUE(back->ValidateFull().ok());
      EXPECT_EQ(back->num_columns(), table->num_columns());
      for (int i = 0; i < table->num_columns(); ++i) {
        auto want = table->column(i), got = back->column(i);
        if (want->type()->id() == arrow::Type::DICTIONARY) {  // the dictionaries may differ
          for (int64_t r = 0; r < 3000; ++r) {
            auto w = std::static_pointer_cast<arrow::DictionaryScalar>(want->GetScalar(r).ValueOrDie());
            auto g = std::static_pointer_cast<arrow::DictionaryScalar>(got->GetScalar(r).ValueOrDie());
            ASSERT_EQ(w->is_valid, g->is_valid);
            if (w->is_valid) ASSERT_TRUE(w->GetEncodedValue().ValueOrDie()->Equals(*g->GetEncodedValue().ValueOrDie()));
          }
          continue;
        }
        EXPECT_TRUE(got->Equals(want)) << table->field(i)->ToString();
      }
    }
  }
}

TEST(FileWriter, EmptyStructs) {
  auto type = arrow::struct_({arrow::field("e", arrow::struct_({})), arrow::field("i", arrow::int8())});
  auto array = Json(type, "[[{},1],[{},null]]");
  ReadContext ctx;
  auto source = MakeMemorySource("t.lance", arrow::Buffer::FromString(WriteColumn(array).ValueOrDie()));
  auto reader = FileReader::Open(source, ctx).ValueOrDie();
  auto back = reader->ReadTable(std::nullopt, RowSet::Range(0, 2), ctx).ValueOrDie();
  EXPECT_TRUE(back->column(0)->chunk(0)->Equals(array)) << back->ToString();
  auto null = WriteColumn(Json(type, "[null]")).status();
  EXPECT_EQ(KindOf(null), ErrorKind::kUnsupported) << null.ToString();
}

TEST(FileWriter, ValuesOfNoBytes) {
  const auto nulls = arrow::fixed_size_list(arrow::null(), 3), nothing = arrow::struct_({});
  const FileVersion v20 = FileVersion::kV2_0, v21 = FileVersion::kV2_1, v22 = FileVersion::kV2_2;
  struct Case {
    std::shared_ptr<arrow::DataType> type;
    const char* json;
    std::vector<FileVersion> versions;
  };
  const Case cases[] = {
      {nulls, "[[null,null,null],null,[null,null,null]]", {v20, v21, v22}},
      {arrow::fixed_size_list(nulls, 2), "[[null,[null,null,null]],null]", {v20, v21, v22}},
      {arrow::list(nulls), "[[[null,null,null],null],[],null]", {v20, v21, v22}},
      {arrow::list(nothing), "[[{}],[],[{},{}],null]", {v20}},
      {arrow::fixed_size_binary(0), R"(["",null,""])", {v22}},
      {arrow::list(arrow::fixed_size_binary(0)), R"([["",null],[],null,[""]])", {v22}},
  };
  ReadContext ctx;
  for (const Case& c : cases) {
    const auto array = Json(c.type, c.json);
    for (FileVersion v : c.versions) {
      SCOPED_TRACE(fmt::format("{} {}", c.type->ToString(), VersionName(v)));
      const auto bytes = WriteColumn(array, v);
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      auto reader = FileReader::Open(MakeMemorySource("t.lance", arrow::Buffer::FromString(*bytes)), ctx).ValueOrDie();
      auto back = reader->ReadTable(std::nullopt, RowSet::All(reader->num_rows()), ctx).ValueOrDie();
      ASSERT_TRUE(back->ValidateFull().ok());
      EXPECT_TRUE(back->column(0)->chunk(0)->Equals(array)) << back->ToString();
      auto one = reader->Take(std::nullopt, {1}, ctx).ValueOrDie();
      EXPECT_TRUE(one->column(0)->chunk(0)->Equals(array->Slice(1, 1))) << one->ToString();
    }
  }
}

TEST(FileWriter, EmptyAndGlobalBuffers) {
  BufferPtr bytes;
  auto schema = arrow::schema({arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8())});
  auto writer = FileWriter::Make(MakeMemorySink("t.lance", &bytes), schema, {}).ValueOrDie();
  EXPECT_EQ(writer->AddGlobalBuffer("hello").ValueOrDie(), 1u);
  EXPECT_EQ(writer->AddGlobalBuffer("").ValueOrDie(), 2u);
  writer->AddSchemaMetadata("k", "v");
  EXPECT_EQ(writer->Finish().ValueOrDie(), 0u);
  EXPECT_FALSE(writer->Finish().ok());
  ReadContext ctx;
  auto reader = FileReader::Open(MakeMemorySource("t.lance", bytes), ctx).ValueOrDie();
  EXPECT_EQ(reader->num_rows(), 0u);
  EXPECT_EQ(reader->ReadGlobalBuffer(1, ctx).ValueOrDie()->ToString(), "hello");
  EXPECT_EQ(reader->schema()->metadata()->Get("k").ValueOrDie(), "v");
}

TEST(FileWriter, MatchesColumnsByName) {
  auto schema = arrow::schema({arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8())});
  auto batch = arrow::RecordBatch::Make(
      arrow::schema({arrow::field("b", arrow::utf8_view()), arrow::field("a", arrow::int32())}), 2,
      {Json(arrow::utf8_view(), R"(["x","a string of more than twelve bytes"])"), Json(arrow::int32(), "[1,2]")});
  BufferPtr bytes, same;
  auto writer = FileWriter::Make(MakeMemorySink("t.lance", &bytes), schema, {}).ValueOrDie();
  ASSERT_TRUE(writer->Write(*batch).ok());
  ASSERT_TRUE(writer->Finish().ok());
  auto straight = arrow::RecordBatch::Make(
      schema, 2, {batch->column(1), Json(arrow::utf8(), R"(["x","a string of more than twelve bytes"])")});
  writer = FileWriter::Make(MakeMemorySink("t.lance", &same), schema, {}).ValueOrDie();
  ASSERT_TRUE(writer->Write(*straight).ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_TRUE(bytes->Equals(*same));

  writer = FileWriter::Make(MakeMemorySink("t.lance", &same), schema, {}).ValueOrDie();
  auto missing = arrow::RecordBatch::Make(arrow::schema({arrow::field("a", arrow::int32())}), 2, {batch->column(1)});
  EXPECT_EQ(KindOf(writer->Write(*missing)), ErrorKind::kUsage);
  auto wrong = arrow::RecordBatch::Make(schema, 2, {Json(arrow::int64(), "[1,2]"), straight->column(1)});
  Status st = writer->Write(*wrong);
  EXPECT_EQ(KindOf(st), ErrorKind::kUsage);
  EXPECT_NE(st.message().find("'a' is int64"), std::string::npos) << st.message();
}

TEST(FileWriter, RefusesTheSchemaAtOnce) {
  auto refused = [](const std::shared_ptr<arrow::DataType>& type, FileVersion version) {
    BufferPtr bytes;
    auto st = FileWriter::Make(MakeMemorySink("t.lance", &bytes), arrow::schema({arrow::field("col", type)}), {version})
                  .status();
    EXPECT_EQ(KindOf(st), ErrorKind::kUnsupported) << type->ToString() << " " << st.ToString();
    EXPECT_NE(st.message().find("col"), std::string::npos) << st.message();
  };
  auto record = arrow::struct_({arrow::field("x", arrow::int8())});
  refused(arrow::map(arrow::utf8(), arrow::int8()), FileVersion::kV2_1);
  refused(arrow::fixed_size_list(record, 2), FileVersion::kV2_1);
  refused(arrow::fixed_size_binary(0), FileVersion::kV2_0);
  refused(arrow::fixed_size_binary(0), FileVersion::kV2_1);
  for (auto v : {FileVersion::kV2_1, FileVersion::kV2_2}) {
    refused(arrow::fixed_size_list(arrow::utf8(), 2), v);
    refused(arrow::list(arrow::struct_({})), v);
    refused(arrow::fixed_size_list(arrow::fixed_size_binary(0), 2), v);
    refused(arrow::list_view(arrow::int8()), v);
    refused(arrow::month_day_nano_interval(), v);
    refused(arrow::run_end_encoded(arrow::int32(), arrow::int8()), v);
  }
  BufferPtr bytes;
  auto old = FileWriter::Make(MakeMemorySink("t.lance", &bytes), arrow::schema({}), {FileVersion::kV2_3}).status();
  EXPECT_EQ(KindOf(old), ErrorKind::kUnsupported);
  EXPECT_NE(old.message().find("2.3"), std::string::npos);
}

}  // namespace
}  // namespace pilum
