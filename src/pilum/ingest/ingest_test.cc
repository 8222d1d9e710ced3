// Every input format, inference over the whole input, what is refused, and that what the sinks write is read back.
#include "pilum/ingest/ingest.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/io/api.h>
#include <arrow/ipc/api.h>
#include <arrow/json/from_string.h>
#include <arrow/util/compression.h>
#include <arrow/util/crc32.h>

#include "pilum/ingest/infer.h"
#include "pilum/ingest/value_text.h"
#include "pilum/io/object_store.h"

namespace pilum {
namespace {

class IngestTest : public ::testing::Test {
 protected:
  void SetUp() override { dir_ = TempDir::Make().ValueOrDie(); }

  std::string File(const std::string& name, std::string_view bytes) {
    std::string path = dir_->path() + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string Contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream all;
    all << in.rdbuf();
    return all.str();
  }
  Result<std::shared_ptr<arrow::Table>> Read(const std::string& path, IngestOptions options = {}) {
    PILUM_ASSIGN_OR_RETURN(auto reader, OpenInput(path, options, ReadContext()));
    return reader->ToTable();
  }
  std::string Types(const std::string& path, IngestOptions options = {}) {
    auto table = Read(path, options);
    if (!table.ok()) return table.status().message();
    std::string out;
    for (const auto& f : (*table)->schema()->fields()) out += f->name() + ":" + f->type()->ToString() + " ";
    return out;
  }
  std::string Error(const std::string& path, IngestOptions options = {}) {
    auto table = Read(path, options);
    return table.ok() ? "no error" : table.status().message();
  }

  std::unique_ptr<TempDir> dir_;
};

TEST_F(IngestTest, CsvTypesComeFromAllRows) {
  std::string text = "a,b,c,d\n";
  for (int i = 0; i < 300000; ++i) text += "1,2,2024-01-01,true\n";
  text += "x,2.5,2024-01-01 10:00:00,false\n";
  EXPECT_EQ(Types(File("late.csv", text)), "a:string b:double c:timestamp[us] d:bool ");
}

TEST_F(IngestTest, CsvInference) {
  EXPECT_EQ(
      Types(File("t.csv",
                 "i,u,f,b,d,t,tz,n,z,zip,s\n"
                 "1,18446744073709551615,1.5,true,2024-02-29,2024-02-29T10:00:00.5,2024-02-29T10:00:00Z,"
                 "2024-02-29T10:00:00.123456789,,01234,x\n-1,1,nan,FALSE,1960-01-01,1960-01-01 00:00:00,"
                 "2024-02-29T10:00:00+02:00,2024-01-01T00:00:00,NA,1,\n")),
      "i:int64 u:uint64 f:double b:bool d:date32[day] t:timestamp[us] tz:timestamp[us, tz=UTC] n:timestamp[ns] z:null "
      "zip:string s:string ");
}

TEST_F(IngestTest, CsvNumbersThatADoubleWouldHarmStayText) {
  EXPECT_EQ(Types(File("h.csv",
                       "account,both,phone,delta,big,mixed\n"
                       "99999999999999999999999,18446744073709551615,+49301234567,+0.5,1e300,18446744073709551616\n"
                       "1,-1,+1,-1,1,0.5\n")),
            "account:string both:string phone:string delta:double big:double mixed:double ");
}

TEST_F(IngestTest, CsvNulls) {
  auto table = Read(File("n.csv", "a,s\n1,\nNA,NA\n3,\"NA\"\n4,\"\"\n")).ValueOrDie();
  EXPECT_EQ(table->column(0)->null_count(), 1);
  EXPECT_EQ(table->column(0)->type()->id(), arrow::Type::INT64);
  EXPECT_EQ(table->column(1)->null_count(), 2);  // quoted text is never null
  IngestOptions options;
  options.null_values = {"-"};
  table = Read(File("m.csv", "a,s\n-,NA\n2,\n"), options).ValueOrDie();
  EXPECT_EQ(table->column(0)->null_count(), 1);
  EXPECT_EQ(table->column(1)->null_count(), 0);
}

TEST_F(IngestTest, CsvErrorsSayWhere) {
  EXPECT_NE(Error(File("r.csv", "a,b\n1,2\n1,2,3\n")).find("r.csv: CSV parse error: Row #3: Expected 2 columns, got 3"),
            std::string::npos);
  EXPECT_NE(Error(File("d.csv", "a,b,a\n1,2,3\n")).find("columns 1 and 3 are both named 'a'"), std::string::npos);
  EXPECT_NE(Error(File("e.csv", "")).find("an empty file"), std::string::npos);
  EXPECT_NE(Error(File("l.csv", "a\n\xe9t\xe9\n")).find("iconv"), std::string::npos);
  EXPECT_NE(Error(dir_->path() + "/none.csv").find("no such file"), std::string::npos);
  EXPECT_NE(Error(dir_->path()).find("a folder"), std::string::npos);
}

TEST_F(IngestTest, CsvHeaderOnlyAndOddNames) {
  auto table = Read(File("h.csv",
                         "\xef\xbb\xbf"
                         "Id Number,\"a,b\"\n"))
                   .ValueOrDie();
  EXPECT_EQ(table->num_rows(), 0);
  EXPECT_EQ(table->schema()->field_names(), (std::vector<std::string>{"Id Number", "a,b"}));
}

TEST_F(IngestTest, CsvKnownTypesHold) {
  IngestOptions options;
  options.known_schema = arrow::schema(
      {arrow::field("id", arrow::int32()), arrow::field("cat", arrow::dictionary(arrow::int8(), arrow::utf8())),
       arrow::field("f", arrow::float16()), arrow::field("only_there", arrow::int8())});
  EXPECT_EQ(Types(File("k.csv", "id,cat,f,new\n1,a,1.5,7\n2,a,,x\n"), options),
            "id:int32 cat:dictionary<values=string, indices=int8, ordered=0> f:halffloat new:string ");
  std::string error = Error(File("w.csv", "id\n1\nx\n"), options);
  EXPECT_NE(error.find("w.csv: row 3, column 'id': 'x' is not int32, the type of that column in the dataset"),
            std::string::npos)
      << error;
}

TEST_F(IngestTest, CsvLongQuotedRow) {
  std::string big(9 << 20, 'x');
  big[100] = '\n';
  auto table = Read(File("q.csv", "a,b\n1,\"" + big + "\"\n2,y\n")).ValueOrDie();
  EXPECT_EQ(table->num_rows(), 2);
}

TEST_F(IngestTest, TabsByExtension) { EXPECT_EQ(Types(File("t.tsv", "a\tb\n1\tx,y\n")), "a:int64 b:string "); }

TEST_F(IngestTest, JsonTypesComeFromAllRows) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "{\"a\":1,\"s\":{\"x\":1},\"l\":[1]}\n\n";
  text +=
      "{\"a\":2.5,\"s\":{\"y\":\"2024-01-01\"},\"l\":[null,\"t\"],\"u\":18446744073709551615,\"new\":\"2024-01-01T00:"
      "00:00Z\"}";
  EXPECT_EQ(Types(File("j.jsonl", text)),
            "a:double s:struct<x: int64, y: date32[day]> l:list<item: string> u:uint64 new:timestamp[us, tz=UTC] ");
}

TEST_F(IngestTest, JsonErrorsSayWhere) {
  EXPECT_NE(Error(File("a.jsonl", "{\"a\":1}\n{\"a\":[1]}\n"))
                .find("line 2: column 'a' is a list here and a number in line 1"),
            std::string::npos);
  EXPECT_NE(Error(File("b.jsonl", "{\"a\":1}\n{\"a\":\n")).find("line 2: not JSON"), std::string::npos);
  EXPECT_NE(Error(File("c.json", "[{\"a\":1}]")).find("jq"), std::string::npos);
  EXPECT_NE(Error(File("d.jsonl", "{\"a\":1,\"a\":2}")).find("'a' is there twice"), std::string::npos);
  EXPECT_NE(Error(File("e.jsonl", "{\"a\":" + std::string(100000, '[') + "}")).find("nested deeper"),
            std::string::npos);
  IngestOptions options;
  options.known_schema = arrow::schema({arrow::field("a", arrow::int8())});
  EXPECT_NE(
      Error(File("f.jsonl", "{\"a\":1}\n{\"a\":300}"), options).find("line 2: column 'a': a number '300' is not int8"),
      std::string::npos);
}

TEST_F(IngestTest, FormatByContentThenName) {
  EXPECT_EQ(Types(File("noext", "{\"a\":1}\n")), "a:int64 ");
  EXPECT_EQ(Types(File("noext2", "a,b\n1,2\n")), "a:int64 b:int64 ");
  EXPECT_NE(Error(File("x.parquet", "not parquet")).find("named like a Parquet file"), std::string::npos);
  EXPECT_NE(Error(File("bin", std::string("\0\1\2", 3))).find("neither Parquet"), std::string::npos);
}

std::shared_ptr<arrow::RecordBatch> Sample() {
  arrow::Int64Builder ids;
  arrow::StringBuilder texts;
  arrow::DoubleBuilder reals;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(ids.Append(i).ok());
    EXPECT_TRUE((i % 7 ? texts.Append(i % 3   ? "t,\"" + std::to_string(i)
                                      : i % 2 ? "NA"
                                              : "")
                       : texts.AppendNull())
                    .ok());
    EXPECT_TRUE((i % 5 ? reals.Append(i * 0.1) : reals.AppendNull()).ok());
  }
  auto schema = arrow::schema(
      {arrow::field("id", arrow::int64()), arrow::field("s", arrow::utf8()), arrow::field("f", arrow::float64())});
  return arrow::RecordBatch::Make(schema, 1000, {*ids.Finish(), *texts.Finish(), *reals.Finish()});
}

TEST_F(IngestTest, WhatSinksWriteIsReadBack) {
  auto batch = Sample();
  auto want = arrow::Table::FromRecordBatches({batch}).ValueOrDie();
  for (auto [format, name] : {std::pair{OutputFormat::kCsv, "o.csv"},
                              {OutputFormat::kJsonLines, "o.jsonl"},
                              {OutputFormat::kArrow, "o.arrow"},
                              {OutputFormat::kParquet, "o.parquet"}}) {
    std::string path = dir_->path() + "/" + name;
    auto sink = TableSink::Make(format, path, batch->schema()).ValueOrDie();
    ASSERT_TRUE(sink->Write(*batch).ok());
    EXPECT_NE(access(path.c_str(), F_OK), 0) << "must not appear before Close";
    ASSERT_TRUE(sink->Close().ok());
    IngestOptions options;
    options.batch_rows = 300;
    auto got = Read(path, options);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_TRUE((*(*got)->CombineChunks())->Equals(*want)) << name;
  }
}

TEST_F(IngestTest, UnfinishedOutputDoesNotAppear) {
  auto batch = Sample();
  for (auto format : {OutputFormat::kCsv, OutputFormat::kArrow, OutputFormat::kParquet}) {
    std::string path = dir_->path() + "/half";
    {
      auto sink = TableSink::Make(format, path, batch->schema()).ValueOrDie();
      ASSERT_TRUE(sink->Write(*batch).ok());
    }
    EXPECT_NE(access(path.c_str(), F_OK), 0);
  }
}

TEST_F(IngestTest, ArrowFileAndDamage) {
  auto batch = Sample();
  auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  auto writer = arrow::ipc::MakeFileWriter(out, batch->schema()).ValueOrDie();
  ASSERT_TRUE(writer->WriteRecordBatch(*batch).ok());
  ASSERT_TRUE(writer->Close().ok());
  std::string bytes = (*out->Finish())->ToString();
  EXPECT_EQ(Read(File("f.arrow", bytes)).ValueOrDie()->num_rows(), 1000);
  for (size_t at = 0; at < bytes.size(); at += 97) {  // never a crash; an error or other rows
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    (void)Read(File("g.arrow", damaged));
    (void)Read(File("g.arrow", bytes.substr(0, at)));
  }
}

std::string Zip(const std::string& name, const std::string& body, bool deflate, uint32_t crc, int members = 1) {
  std::string packed = body;
  if (deflate) {
    arrow::util::GZipCodecOptions raw;
    raw.gzip_format = arrow::util::GZipFormat::DEFLATE;
    auto codec = arrow::util::Codec::Create(arrow::Compression::GZIP, raw).ValueOrDie();
    packed.resize(static_cast<size_t>(codec->MaxCompressedLen(static_cast<int64_t>(body.size()), nullptr)));
    packed.resize(static_cast<size_t>(
        *codec->Compress(static_cast<int64_t>(body.size()), reinterpret_cast<const uint8_t*>(body.data()),
                         static_cast<int64_t>(packed.size()), reinterpret_cast<uint8_t*>(packed.data()))));
  }
  auto n = [](uint64_t v, int bytes) {
    std::string s;
    for (int i = 0; i < bytes; ++i) s.push_back(static_cast<char>(v >> (8 * i)));
    return s;
  };
  std::string common = n(20, 2) + n(0, 2) + n(deflate ? 8 : 0, 2) + n(0, 4) + n(crc, 4) + n(packed.size(), 4) +
                       n(body.size(), 4) + n(name.size(), 2) + n(0, 2);
  std::string out = "PK\x03\x04" + common + name + packed;
  std::string entry = "PK\x01\x02" + n(20, 2) + common + n(0, 2) + n(0, 2) + n(0, 2) + n(0, 4) + n(0, 4) + name;
  std::string directory;
  for (int i = 0; i < members; ++i) directory += entry;
  return out + directory + "PK\x05\x06" + n(0, 4) + n(members, 2) + n(members, 2) + n(directory.size(), 4) +
         n(out.size(), 4) + n(0, 2);
}

TEST_F(IngestTest, ZipOfOneFile) {
  std::string body = "a,b\n";
  for (int i = 0; i < 5000; ++i) body += std::to_string(i) + ",x\n";
  uint32_t crc = arrow::internal::crc32(0, body.data(), body.size());
  for (bool deflate : {false, true}) {
    EXPECT_EQ(Read(File("z.zip", Zip("dir/z.csv", body, deflate, crc))).ValueOrDie()->num_rows(), 5000);
    EXPECT_NE(Error(File("bad.zip", Zip("z.csv", body, deflate, crc + 1))).find("checksum"), std::string::npos);
  }
  EXPECT_NE(Error(File("two.zip", Zip("z.csv", body, true, crc, 2))).find("a zip of 2 files: z.csv, z.csv"),
            std::string::npos);
  std::string whole = Zip("z.csv", body, true, crc);
  for (size_t at = 4; at < whole.size(); at += 611) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    (void)Read(File("d.zip", damaged));
    (void)Read(File("d.zip", whole.substr(0, at)));
  }
}

TEST_F(IngestTest, GzipOfOneFile) {
  std::string body = "a,b\n1,x\n2,y\n";
  std::string path = dir_->path() + "/g.csv.gz";
  auto codec = arrow::util::Codec::Create(arrow::Compression::GZIP).ValueOrDie();
  std::string packed(1000, 0);
  packed.resize(static_cast<size_t>(*codec->Compress(static_cast<int64_t>(body.size()),
                                                     reinterpret_cast<const uint8_t*>(body.data()), 1000,
                                                     reinterpret_cast<uint8_t*>(packed.data()))));
  EXPECT_EQ(Read(File("g.csv.gz", packed)).ValueOrDie()->num_rows(), 2);
  EXPECT_FALSE(Read(File("h.csv.gz", packed.substr(0, packed.size() / 2))).ok());
}

TEST_F(IngestTest, CancelledAndDeadline) {
  std::string path = File("c.csv", "a\n1\n");
  ReadContext ctx;
  ctx.deadline = std::chrono::steady_clock::now();
  EXPECT_EQ(KindOf(OpenInput(path, {}, ctx).status()), ErrorKind::kDeadline);
}

TEST(ValueText, Scalars) {
  auto text = [](const std::shared_ptr<arrow::Scalar>& s, TextStyle style) {
    auto array = arrow::MakeArrayFromScalar(*s, 1).ValueOrDie();
    std::string out;
    AppendValueText(*array, 0, style, &out);
    return out;
  };
  auto parse = [](const std::shared_ptr<arrow::DataType>& t, std::string_view s) {
    return arrow::Scalar::Parse(t, s).ValueOrDie();
  };
  using arrow::TimeUnit;
  EXPECT_EQ(text(parse(arrow::date32(), "1900-03-01"), TextStyle::kPlain), "1900-03-01");
  EXPECT_EQ(text(parse(arrow::date32(), "2024-02-29"), TextStyle::kJson), "\"2024-02-29\"");
  EXPECT_EQ(text(parse(arrow::timestamp(TimeUnit::MICRO), "1960-05-05 01:01:01.250000"), TextStyle::kPlain),
            "1960-05-05T01:01:01.250000");
  EXPECT_EQ(text(std::make_shared<arrow::TimestampScalar>(-1, arrow::timestamp(TimeUnit::SECOND, "Asia/Tokyo")),
                 TextStyle::kPlain),
            "1969-12-31T23:59:59Z");
  EXPECT_EQ(text(arrow::MakeScalar(0.1f), TextStyle::kPlain), "0.1");
  EXPECT_EQ(text(arrow::MakeScalar(std::numeric_limits<double>::quiet_NaN()), TextStyle::kJson), "\"NaN\"");
  EXPECT_EQ(text(arrow::MakeScalar("a\x1b\n"), TextStyle::kTable), "a\\x1b\\n");
  EXPECT_EQ(text(arrow::MakeScalar("a\"\n"), TextStyle::kJson), "\"a\\\"\\n\"");
  EXPECT_EQ(text(std::make_shared<arrow::BinaryScalar>(arrow::Buffer::FromString(std::string("\0\xff", 2))),
                 TextStyle::kPlain),
            "00ff");
  EXPECT_EQ(text(arrow::MakeNullScalar(arrow::int8()), TextStyle::kJson), "null");
  EXPECT_EQ(text(arrow::MakeNullScalar(arrow::int8()), TextStyle::kPlain), "");
}

TEST(ValueText, UuidWhereTheFieldSaysSo) {
  const auto uuid = arrow::field("u", arrow::fixed_size_binary(16), true,
                                 arrow::key_value_metadata({"ARROW:extension:name"}, {"arrow.uuid"}));
  const auto type =
      arrow::struct_({uuid, arrow::field("l", arrow::list(uuid)), arrow::field("b", arrow::fixed_size_binary(16))});
  auto array = arrow::json::ArrayFromJSONString(
                   type, R"([{"u": "0123456789abcdef", "l": [null, "0123456789abcdef"], "b": "0123456789abcdef"}])")
                   .ValueOrDie();
  std::string out;
  AppendValueText(*arrow::field("s", type), *array, 0, TextStyle::kJson, &out);
  EXPECT_EQ(out, R"({"u":"30313233-3435-3637-3839-616263646566","l":[null,"30313233-3435-3637-3839-616263646566"],)"
                 R"("b":"30313233343536373839616263646566"})");
}

}  // namespace
}  // namespace pilum
