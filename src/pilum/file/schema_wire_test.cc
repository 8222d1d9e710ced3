#include "pilum/file/schema_wire.h"

#include <arrow/extension/uuid.h>
#include <arrow/util/key_value_metadata.h>
#include <gtest/gtest.h>

#include "lance_file.pb.h"
#include "pilum/base/bytes.h"
#include "tests/support/lance_test_files.h"

namespace pilum {
namespace {

using arrow::field;

// Global buffer 0 of a file, found by the footer.
std::string SchemaBytes(const std::string& path) {
  std::string bytes = *testing::ReadBytes(path);
  const char* footer = bytes.data() + bytes.size() - 40;
  const char* table = bytes.data() + LoadLE<uint64_t>(footer + 16);
  return bytes.substr(LoadLE<uint64_t>(table), LoadLE<uint64_t>(table + 8));
}

void ExpectSame(const arrow::Schema& got, const arrow::Schema& want, const std::string& where) {
  EXPECT_TRUE(got.Equals(want, /*check_metadata=*/true))
      << where << "\ngot  " << got.ToString(true) << "\nwant " << want.ToString(true);
}

void CheckDir(const std::string& dir) {
  for (const auto& path : testing::LanceFilesIn(dir)) {
    if (!std::filesystem::exists(path.substr(0, path.size() - 6) + ".arrow")) continue;
    auto parsed = ParseFileDescriptor(SchemaBytes(path));
    ASSERT_TRUE(parsed.ok()) << path << ": " << parsed.status();
    auto want = *StoredSchema(*(*testing::ReadExpected(path))->schema());
    ExpectSame(*parsed->schema, *want, path);
    auto again = ParseFileDescriptor(*SerializeFileDescriptor(*parsed->schema, parsed->num_rows));
    ASSERT_TRUE(again.ok()) << path << ": " << again.status();
    ExpectSame(*again->schema, *parsed->schema, path);
    ASSERT_EQ(again->fields.size(), parsed->fields.size()) << path;
    for (size_t i = 0; i < parsed->fields.size(); ++i) {
      const auto &a = again->fields[i], &b = parsed->fields[i];
      EXPECT_EQ(std::tie(a.name, a.logical_type, a.extension_name, a.id, a.parent_id, a.nullable),
                std::tie(b.name, b.logical_type, b.extension_name, b.id, b.parent_id, b.nullable))
          << path;
    }
  }
}

TEST(SchemaWire, GoldenFiles) {
  CheckDir(testing::GoldenDir() + "/file/v2_1");
  CheckDir(testing::GoldenDir() + "/file/v2_2");
}

TEST(SchemaWire, Corpus) {
  if (testing::CorpusDir().empty()) GTEST_SKIP() << "no corpus beside the checkout";
  CheckDir(testing::CorpusDir() + "/v2_1");
  CheckDir(testing::CorpusDir() + "/v2_2");
}

std::string LogicalOf(const std::shared_ptr<arrow::DataType>& type) {
  auto bytes = SerializeFileDescriptor(arrow::Schema({field("c", type)}), 1);
  if (!bytes.ok()) return bytes.status().message();
  auto parsed = ParseFileDescriptor(*bytes);
  if (!parsed.ok()) return parsed.status().message();
  EXPECT_TRUE(parsed->schema->field(0)->type()->Equals(*type)) << parsed->schema->field(0)->ToString();
  return parsed->fields[0].logical_type;
}

TEST(SchemaWire, LogicalTypes) {
  EXPECT_EQ(LogicalOf(arrow::null()), "null");
  EXPECT_EQ(LogicalOf(arrow::boolean()), "bool");
  EXPECT_EQ(LogicalOf(arrow::uint16()), "uint16");
  EXPECT_EQ(LogicalOf(arrow::float16()), "halffloat");
  EXPECT_EQ(LogicalOf(arrow::float64()), "double");
  EXPECT_EQ(LogicalOf(arrow::date32()), "date32:day");
  EXPECT_EQ(LogicalOf(arrow::date64()), "date64:ms");
  EXPECT_EQ(LogicalOf(arrow::time32(arrow::TimeUnit::SECOND)), "time32:s");
  EXPECT_EQ(LogicalOf(arrow::time64(arrow::TimeUnit::NANO)), "time64:ns");
  EXPECT_EQ(LogicalOf(arrow::duration(arrow::TimeUnit::MILLI)), "duration:ms");
  EXPECT_EQ(LogicalOf(arrow::timestamp(arrow::TimeUnit::MICRO)), "timestamp:us:-");
  EXPECT_EQ(LogicalOf(arrow::timestamp(arrow::TimeUnit::SECOND, "+02:00")), "timestamp:s:+02:00");
  EXPECT_EQ(LogicalOf(arrow::timestamp(arrow::TimeUnit::NANO, "America/New_York")), "timestamp:ns:America/New_York");
  EXPECT_EQ(LogicalOf(arrow::decimal128(10, -2)), "decimal:128:10:-2");
  EXPECT_EQ(LogicalOf(arrow::decimal256(60, 7)), "decimal:256:60:7");
  EXPECT_EQ(LogicalOf(arrow::fixed_size_binary(3)), "fixed_size_binary:3");
  EXPECT_EQ(LogicalOf(arrow::fixed_size_binary(0)), "fixed_size_binary:0");
  EXPECT_EQ(LogicalOf(arrow::large_utf8()), "large_string");
  EXPECT_EQ(LogicalOf(arrow::fixed_size_list(arrow::float32(), 4)), "fixed_size_list:float:4");
  EXPECT_EQ(LogicalOf(arrow::fixed_size_list(arrow::fixed_size_list(arrow::float32(), 4), 3)),
            "fixed_size_list:fixed_size_list:float:4:3");
  EXPECT_EQ(LogicalOf(arrow::fixed_size_list(arrow::timestamp(arrow::TimeUnit::MICRO, "+02:00"), 3)),
            "fixed_size_list:timestamp:us:+02:00:3");
  EXPECT_EQ(LogicalOf(arrow::fixed_size_list(arrow::struct_({field("a", arrow::int32())}), 2)),
            "fixed_size_list:struct:2");
  EXPECT_EQ(LogicalOf(arrow::dictionary(arrow::int16(), arrow::large_utf8())), "dict:large_string:int16:false");
  EXPECT_EQ(LogicalOf(arrow::list(field("item", arrow::utf8(), false))), "list");
  EXPECT_EQ(LogicalOf(arrow::large_list(arrow::struct_({field("a", arrow::int32())}))), "large_list.struct");
  EXPECT_EQ(LogicalOf(arrow::map(arrow::utf8(), arrow::list(arrow::int8()))), "map");
  EXPECT_EQ(LogicalOf(arrow::struct_({})), "struct");
}

TEST(SchemaWire, StoredFormReplacesWhatIsNotStored) {
  auto metadata = arrow::key_value_metadata({{"k", "v"}});
  arrow::Schema schema(
      {field("v", arrow::list(arrow::utf8_view())), field("b", arrow::binary_view()),
       field("f", arrow::fixed_size_list(field("el", arrow::int8(), false, metadata), 2), false, metadata),
       field("u", arrow::list(arrow::extension::uuid())),
       field("d", arrow::dictionary(arrow::int8(), arrow::utf8_view(), true))});
  auto stored = *StoredSchema(schema);
  EXPECT_TRUE(stored->field(0)->type()->Equals(arrow::list(arrow::utf8())));
  EXPECT_TRUE(stored->field(1)->type()->Equals(arrow::binary()));
  EXPECT_TRUE(stored->field(2)->Equals(*field("f", arrow::fixed_size_list(arrow::int8(), 2), false, metadata), true));
  auto item = stored->field(3)->type()->field(0);
  EXPECT_TRUE(item->type()->Equals(arrow::fixed_size_binary(16)));
  EXPECT_EQ(*item->metadata()->Get("ARROW:extension:name"), "arrow.uuid");
  EXPECT_TRUE(stored->field(4)->type()->Equals(arrow::dictionary(arrow::int8(), arrow::utf8())));
  auto parsed = *ParseFileDescriptor(*SerializeFileDescriptor(schema, 7));
  EXPECT_EQ(parsed.num_rows, 7u);
  ExpectSame(*parsed.schema, *stored, "stored");
  EXPECT_EQ(parsed.fields[5].extension_name, "arrow.uuid");
}

TEST(SchemaWire, Refusals) {
  auto refused = [](const std::shared_ptr<arrow::DataType>& type) {
    auto r = StoredSchema(arrow::Schema({field("top", arrow::struct_({field("in", type)}))}));
    EXPECT_FALSE(r.ok()) << type->ToString();
    EXPECT_EQ(KindOf(r.status()), ErrorKind::kUnsupported) << r.status();
    EXPECT_NE(r.status().message().find("'top.in"), std::string::npos) << r.status();
  };
  refused(arrow::month_interval());
  refused(arrow::decimal32(5, 2));
  refused(arrow::list_view(arrow::int8()));
  refused(arrow::dense_union({field("a", arrow::int8())}));
  refused(arrow::run_end_encoded(arrow::int32(), arrow::int8()));
  refused(arrow::dictionary(arrow::int8(), arrow::date32()));
  refused(arrow::dictionary(arrow::int8(), arrow::list(arrow::int8())));
  refused(arrow::fixed_size_list(arrow::list(arrow::int8()), 2));
  refused(arrow::fixed_size_list(arrow::utf8(), 2));
  refused(arrow::fixed_size_list(arrow::int8(), 0));
  refused(arrow::fixed_size_list(arrow::fixed_size_list(arrow::struct_({field("a", arrow::int8())}), 2), 2));
  refused(arrow::map(arrow::utf8(), arrow::int8(), /*keys_sorted=*/true));
  EXPECT_FALSE(StoredSchema(arrow::Schema({field("\xff", arrow::int8())})).ok());
}

TEST(SchemaWire, SameBytesWhateverTheMetadataOrder) {
  auto a = arrow::key_value_metadata({{"b", "1"}, {"a", "2"}, {"c", ""}});
  auto b = arrow::key_value_metadata({{"c", ""}, {"a", "2"}, {"b", "1"}});
  auto bytes = [](const auto& m) {
    return *SerializeFileDescriptor(arrow::Schema({field("x", arrow::int8(), true, m)}, m), 1);
  };
  EXPECT_EQ(bytes(a), bytes(b));
}

TEST(SchemaWire, BlobV2ChildrenWithoutIds) {
  auto parsed = ParseFileDescriptor(SchemaBytes(testing::GoldenDir() + "/file/special/blob_v2_dataset_2.2.lance"));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->schema->num_fields(), 2);
  EXPECT_EQ(parsed->schema->field(1)->type()->ToString(),
            "struct<kind: uint8 not null, position: uint64 not null, size: uint64 not null, blob_id: uint32 not null, "
            "blob_uri: string not null>");
  EXPECT_EQ(parsed->fields.size(), 7u);
}

std::string Broken(const std::function<void(wire::Schema*)>& edit) {
  wire::FileDescriptor d;
  edit(d.mutable_schema());
  auto r = ParseFileDescriptor(d.SerializeAsString());
  return r.ok() ? "OK" : std::string(r.status().message());
}

wire::Field* AddField(wire::Schema* s, const char* name, const char* logical, int id, int parent) {
  auto* f = s->add_fields();
  f->set_name(name), f->set_logical_type(logical), f->set_id(id), f->set_parent_id(parent);
  return f;
}

TEST(SchemaWire, BrokenSchemas) {
  EXPECT_FALSE(ParseFileDescriptor("\x0a\xff\xff").ok());
  EXPECT_TRUE(ParseFileDescriptor("").ok());  // no fields, no rows
  EXPECT_EQ(Broken([](auto* s) { AddField(s, "a", "int32", 1, 5); }),
            "schema field 'a' (id 1): its parent 5 is not before it");
  EXPECT_EQ(Broken([](auto* s) { AddField(s, "a", "int32", 1, 1); }),
            "schema field 'a' (id 1): its parent 1 is not before it");
  EXPECT_EQ(Broken([](auto* s) { AddField(s, "a", "list", 1, -1); }),
            "schema field 'a' (id 1): type 'list' needs one child field, it has 0");
  EXPECT_NE(Broken([](auto* s) { AddField(s, "a", "int32", 1, -1), AddField(s, "b", "int32", 1, -1); }), "OK");
  EXPECT_NE(Broken([](auto* s) { AddField(s, "a", "int32", 1, -1), AddField(s, "b", "int32", 2, 1); }), "OK");
  EXPECT_NE(Broken([](auto* s) {
              for (int i = 0; i < 100000; ++i) AddField(s, "a", "struct", i, i - 1);
            }),
            "OK");
  for (const char* logical :
       {"", "int", "timestamp:us", "timestamp:xs:-", "decimal:128:10", "decimal:128:99:2", "time32:ns",
        "fixed_size_list:int32", "fixed_size_list:int32:0", "fixed_size_list:int32:-3", "fixed_size_binary:x",
        "dict:string:int8", "dict:string:float:false", "fixed_size_list:struct:2"}) {
    EXPECT_NE(Broken([&](auto* s) { AddField(s, "a", logical, 1, -1); }), "OK") << logical;
  }
  std::string deep = "int8";
  for (int i = 0; i < 10000; ++i) deep = "fixed_size_list:" + deep + ":2";
  EXPECT_NE(Broken([&](auto* s) { AddField(s, "a", deep.c_str(), 1, -1); }), "OK");
}

}  // namespace
}  // namespace pilum
