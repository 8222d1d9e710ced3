// JSON as text and blobs as descriptions, bytes and files.
#include <filesystem>

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/json/from_string.h>

#include "pilum/io/object_store.h"
#include "pilum/table/given_unit.h"
#include "pilum/table/table.h"
#include "pilum/values/jsonb.h"
#include "tests/support/paths/source_dir.h"

namespace pilum {
namespace {

std::string Golden(const std::string& name) { return testing::SourceDir() + "/tests/golden/table/" + name; }

std::shared_ptr<const Table> Open(const std::string& uri) {
  ReadContext ctx;
  return Table::Open(uri, {}, {}, ctx).ValueOrDie();
}

Result<std::shared_ptr<arrow::Table>> ReadAll(const Snapshot& snapshot, const std::vector<FieldPath>& columns,
                                              BatchLimits limits = {}) {
  ReadContext ctx;
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  std::shared_ptr<arrow::Schema> schema;
  for (const auto& unit : snapshot.units()) {
    PILUM_ASSIGN_OR_RETURN(auto stream, unit->Read(columns, RowSet::All(unit->num_rows()), limits, ctx));
    schema = stream->schema();
    while (true) {
      PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
      if (!batch) break;
      PILUM_RETURN_NOT_OK(batch->ValidateFull());
      EXPECT_EQ(static_cast<uint64_t>(batch->num_rows()), stream->rows().size());
      batches.push_back(std::move(batch));
    }
  }
  return arrow::Table::FromRecordBatches(std::move(schema), std::move(batches));
}

std::shared_ptr<arrow::Table> Expected(const std::string& path) {
  auto file = arrow::io::ReadableFile::Open(path).ValueOrDie();
  auto reader = arrow::ipc::RecordBatchFileReader::Open(file).ValueOrDie();
  return arrow::Table::FromRecordBatches(reader->schema(), {[&] {
                                           std::vector<std::shared_ptr<arrow::RecordBatch>> out;
                                           for (int i = 0; i < reader->num_record_batches(); ++i)
                                             out.push_back(*reader->ReadRecordBatch(i));
                                           return out;
                                         }()})
      .ValueOrDie();
}

TEST(JsonColumns, AreText) {
  ReadContext ctx;
  const auto table = Open(Golden("scalar-json/table.lance"));
  EXPECT_EQ(*table->schema()->field(1)->type(), *arrow::utf8());
  EXPECT_EQ(table->schema()->field(1)->metadata()->Get("ARROW:extension:name").ValueOrDie(), "arrow.json");
  const auto snapshot = table->OpenSnapshot({}, ctx).ValueOrDie();
  const auto whole = ReadAll(*snapshot, {{{"id"}}, {{"j"}}}).ValueOrDie();
  const auto expected = Expected(Golden("scalar-json/expected-v2.arrow"));
  EXPECT_TRUE(whole->schema()->field(1)->Equals(*table->schema()->field(1), true));
  auto wanted = expected->GetColumnByName("j")->chunk(0);
  if (wanted->type_id() == arrow::Type::EXTENSION) {
    wanted = static_cast<const arrow::ExtensionArray&>(*wanted).storage();
  }
  EXPECT_TRUE(whole->column(1)->Equals(arrow::ChunkedArray(wanted)));
  for (const uint64_t rows : {1, 3, 7}) {
    EXPECT_TRUE(ReadAll(*snapshot, {{{"id"}}, {{"j"}}}, {rows, 1 << 20}).ValueOrDie()->Equals(*whole)) << rows;
  }
}

// A unit of one array, given out in slices that begin inside of it.
class Sliced final : public Unit {
 public:
  Sliced(std::shared_ptr<arrow::RecordBatch> batch, int64_t step) : batch_(std::move(batch)), step_(step) {}
  const std::string& name() const override { return name_; }
  uint64_t num_rows() const override { return static_cast<uint64_t>(batch_->num_rows()); }
  Result<bool> MayMatch(const Probe&, ReadContext&) const override { return true; }
  Result<Candidates> Narrow(const Probe&, ReadContext&) const override { return Candidates::Unknown(num_rows()); }
  std::string index_note() const override { return {}; }
  Result<std::unique_ptr<BatchStream>> Read(const std::vector<FieldPath>&, const RowSet&, const BatchLimits&,
                                            const ReadContext&) const override {
    class Stream final : public BatchStream {
     public:
      Stream(std::shared_ptr<arrow::RecordBatch> batch, int64_t step) : batch_(std::move(batch)), step_(step) {}
      const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
      const RowSet& rows() const override { return rows_; }
      Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
        if (at_ >= batch_->num_rows()) return nullptr;
        auto part = batch_->Slice(at_, step_);
        rows_ = RowSet::Range(static_cast<uint64_t>(at_), static_cast<uint64_t>(at_ + part->num_rows()));
        at_ += part->num_rows();
        return part;
      }

     private:
      std::shared_ptr<arrow::RecordBatch> batch_;
      const std::shared_ptr<arrow::Schema> schema_ = batch_->schema();
      RowSet rows_;
      const int64_t step_;
      int64_t at_ = 0;
    };
    return std::make_unique<Stream>(batch_, step_);
  }

 private:
  const std::string name_ = "sliced";
  std::shared_ptr<arrow::RecordBatch> batch_;
  const int64_t step_;
};

TEST(JsonColumns, InsideSlicesOfNestedColumns) {
  const auto json = arrow::key_value_metadata({"ARROW:extension:name"}, {"lance.json"});
  const auto item = arrow::field("item", arrow::large_binary(), true, json);
  const auto field =
      arrow::field("s", arrow::struct_({arrow::field("a", arrow::int32()), arrow::field("l", arrow::list(item)),
                                        arrow::field("j", arrow::large_binary(), true, json)}));
  // Texts stand for the JSONB that they are.
  std::string rows = "[";
  for (int i = 0; i < 20; ++i) {
    const std::string row = i % 5 == 4   ? "null"
                            : i % 5 == 3 ? R"({"a": 3, "l": null, "j": null})"
                                         : fmt::format(R"({{"a": {0}, "l": ["{0}", null, "[{0}]"], "j": "{{}}"}})", i);
    rows += (i > 0 ? "," : "") + row;
  }
  rows += "]";
  const auto texts = arrow::struct_({arrow::field("a", arrow::int32()), arrow::field("l", arrow::list(arrow::utf8())),
                                     arrow::field("j", arrow::utf8())});
  const auto expected = arrow::json::ArrayFromJSONString(texts, rows).ValueOrDie();
  const auto stored = arrow::json::ArrayFromJSONString(field->type(), rows).ValueOrDie();
  const auto schema = arrow::schema({field});
  const auto wire = ParseFileDescriptor(SerializeFileDescriptor(*schema, 20).ValueOrDie()).ValueOrDie();
  Manifest manifest;
  manifest.schema = wire;
  manifest.fragments.emplace_back();
  TableContext context;
  context.files = std::make_shared<const TableFiles>(std::shared_ptr<const ReadOnlyStore>(ObjectStore::Memory()), 1,
                                                     std::vector<BasePath>{}, StoreOptions{});
  context.schema = TableSchema::Make(wire).ValueOrDie();
  context.manifest = std::make_shared<const Manifest>(manifest);
  ASSERT_NE(context.schema->given(), context.schema->full());
  const auto batch = arrow::RecordBatch::Make(schema, 20, {stored});
  for (const int64_t step : {1, 3, 20}) {
    const auto unit =
        MakeGivenUnit(context, context.manifest->fragments[0], std::make_shared<const Sliced>(batch, step));
    ReadContext ctx;
    auto stream = unit->Read({{{"s"}}}, RowSet::All(20), {}, ctx).ValueOrDie();
    int64_t at = 0;
    while (auto part = stream->Next().ValueOrDie()) {
      ASSERT_TRUE(part->ValidateFull().ok());
      const auto want = expected->Slice(at, part->num_rows());
      EXPECT_TRUE(part->column(0)->Equals(want)) << step << ": " << part->column(0)->ToString();
      at += part->num_rows();
    }
    EXPECT_EQ(at, 20);
  }
}

class Blobs : public ::testing::TestWithParam<std::string> {};

TEST_P(Blobs, BytesAndFiles) {
  ReadContext ctx;
  const auto table = Open(Golden(GetParam() + "/table.lance"));
  const auto described = table->OpenSnapshot({}, ctx).ValueOrDie();
  EXPECT_EQ(described->schema()->GetFieldByName("blob")->type()->id(), arrow::Type::STRUCT);
  const auto rows = ReadAll(*described, {{{"blob"}}}).ValueOrDie();
  EXPECT_TRUE(rows->column(0)->Equals(Expected(Golden(GetParam() + "/expected-v1.arrow"))->GetColumnByName("blob")));

  const auto bytes = table->OpenSnapshot({std::nullopt, BlobHandling::kBytes}, ctx).ValueOrDie();
  for (const uint64_t most : {1, 1 << 20}) {  // bytes a batch
    const auto read = ReadAll(*bytes, {{{"blob"}}}, {100, most}).ValueOrDie()->column(0);
    ASSERT_EQ(read->type()->id(), arrow::Type::LARGE_BINARY);
    std::vector<int64_t> sizes;
    for (const auto& chunk : read->chunks()) {
      const auto& values = static_cast<const arrow::LargeBinaryArray&>(*chunk);
      for (int64_t i = 0; i < values.length(); ++i) {
        sizes.push_back(values.IsNull(i) ? -1 : static_cast<int64_t>(values.GetView(i).size()));
      }
    }
    EXPECT_EQ(sizes, (std::vector<int64_t>{10, 0, -1, 70000}));
  }

  for (const auto selector : {RowSelector::kNumbers, RowSelector::kIds, RowSelector::kAddresses}) {
    const auto taken = table->TakeBlobs({{"blob"}}, selector, {3, 0, 2, 3, 1}, ctx).ValueOrDie();
    ASSERT_EQ(taken.size(), 5u);
    EXPECT_EQ(taken[2].blob, nullptr);
    EXPECT_EQ(taken[0].blob->size(), 70000u);
    EXPECT_EQ(taken[4].blob->size(), 0u);
    EXPECT_EQ(taken[1].address, 0u);
    const auto parts = taken[3].blob->ReadMany({{69999, 1}, {0, 2}, {5, 0}}, ctx).ValueOrDie();
    EXPECT_EQ(parts[0]->ToString() + parts[1]->ToString() + parts[2]->ToString(), "zzz");
    EXPECT_EQ(KindOf(taken[3].blob->Read({69999, 2}, ctx).status()), ErrorKind::kUsage);
    EXPECT_EQ(KindOf(taken[3].blob->Read({UINT64_MAX, 2}, ctx).status()), ErrorKind::kUsage);
    EXPECT_EQ(KindOf(table->TakeBlobs({{"blob"}}, selector, {4}, ctx).status()), ErrorKind::kUsage);
    EXPECT_EQ(KindOf(table->TakeBlobs({{"blob"}}, selector, {uint64_t{9} << 32}, ctx).status()), ErrorKind::kUsage);
  }
  EXPECT_EQ(KindOf(table->TakeBlobs({{"id"}}, RowSelector::kNumbers, {0}, ctx).status()), ErrorKind::kUsage);
}
INSTANTIATE_TEST_SUITE_P(Both, Blobs, ::testing::Values("blobs-legacy", "blobs-v2"),
                         [](const auto& info) { return info.param == "blobs-v2" ? "v2" : "v1"; });

TEST(BlobPlaces, WhatIsNotKnownIsRefused) {
  const auto type = arrow::struct_({arrow::field("kind", arrow::uint8()), arrow::field("position", arrow::uint64()),
                                    arrow::field("size", arrow::uint64()), arrow::field("blob_id", arrow::uint32()),
                                    arrow::field("blob_uri", arrow::utf8())});
  const auto places = [&](const std::string& rows) {
    return BlobPlacesOf(*arrow::json::ArrayFromJSONString(type, rows).ValueOrDie());
  };
  const auto found = places(R"([null, [3, 5, 6, 7, "u"]])").ValueOrDie();
  EXPECT_FALSE(found[0]);
  EXPECT_EQ(found[1]->kind, BlobPlace::Kind::kExternal);
  EXPECT_EQ(std::tuple(found[1]->position, found[1]->size, found[1]->id, found[1]->uri),
            std::tuple(5u, 6u, 7u, std::string("u")));
  EXPECT_EQ(KindOf(places(R"([[4, 0, 0, 0, ""]])").status()), ErrorKind::kUnsupported);
  EXPECT_FALSE(BlobPlacesOf(*arrow::json::ArrayFromJSONString(arrow::int8(), "[1]").ValueOrDie()).ok());
}

// Tables of before Lance 0.8 and of 0.10.5, whose manifests are wrong about rows and say twice who holds a field.
TEST(OldFaults, AreReadAsPylanceReadsThem) {
  for (const std::string name : {"corrupt-schema-0.10.5", "migrated-0.8.0"}) {
    ReadContext ctx;
    const auto table = Open(Golden(name));
    const auto expected = Expected(Golden(name) + "/expected.arrow");
    std::vector<FieldPath> columns;
    for (const auto& field : table->schema()->field_names()) columns.push_back({{field}});
    EXPECT_EQ(table->CountRows(ctx).ValueOrDie(), static_cast<uint64_t>(expected->num_rows()));
    const auto read = ReadAll(*table->OpenSnapshot({}, ctx).ValueOrDie(), columns);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    for (int i = 0; i < (*read)->num_columns(); ++i) {
      EXPECT_TRUE((*read)->column(i)->Equals(expected->GetColumnByName((*read)->field(i)->name()))) << name << i;
    }
  }
}

}  // namespace
}  // namespace pilum
