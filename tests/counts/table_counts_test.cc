// What reads of a table ask for, request by request: one a manifest, one a small data file, and none beyond what is wanted.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <arrow/api.h>

#include "lance_table.pb.h"
#include "pilum/io/object_store.h"
#include "pilum/base/bytes.h"
#include "pilum/file/file_writer.h"
#include "pilum/file/schema_wire.h"
#include "pilum/io/object_store.h"
#include "pilum/query/query.h"
#include "pilum/query/take_rows.h"
#include "pilum/table/table.h"

namespace pilum {
namespace {

namespace fs = std::filesystem;

constexpr int kFragments = 20, kRows = 100;  // rows a fragment

class TableCounts : public ::testing::Test {
 protected:
  void SetUp() override {
    temp_ = TempDir::Make().ValueOrDie();
    dir_ = temp_->path();
    fs::create_directories(dir_ + "/data");
    fs::create_directories(dir_ + "/_versions");
    wire::Manifest manifest;
    manifest.mutable_writer_version()->set_library("lance");  // without one its counts are not believed
    manifest.mutable_writer_version()->set_version("14.0.2");
    for (int i = 0; i < kFragments; ++i) {
      AddFragment(i, &manifest);
      manifest.set_version(static_cast<uint64_t>(i) + 1);
      WriteManifest(manifest);
    }
  }

  // Rows [i * kRows, …) of a and b, in a file of their own.
  void AddFragment(int i, wire::Manifest* manifest) {
    arrow::Int64Builder a;
    arrow::StringBuilder b;
    for (int64_t row = i * kRows; row < (i + 1) * kRows; ++row) {
      ASSERT_TRUE(a.Append(row).ok());
      ASSERT_TRUE(b.Append(fmt::format("row {}", row)).ok());
    }
    const auto schema = arrow::schema({arrow::field("a", arrow::int64()), arrow::field("b", arrow::utf8())});
    const auto batch = arrow::RecordBatch::Make(schema, kRows, {a.Finish().ValueOrDie(), b.Finish().ValueOrDie()});
    const std::string name = fmt::format("{}.lance", i);
    auto writer = FileWriter::Make(CreateLocalFile(dir_ + "/data/" + name).ValueOrDie(), schema, {}).ValueOrDie();
    ASSERT_TRUE(writer->Write(*batch).ok());
    ASSERT_TRUE(writer->Finish().ok());
    if (i == 0) {
      wire::FileDescriptor descriptor;
      ASSERT_TRUE(descriptor.ParseFromString(SerializeFileDescriptor(*schema, 0).ValueOrDie()));
      *manifest->mutable_fields() = descriptor.schema().fields();
    }
    auto* fragment = manifest->add_fragments();
    fragment->set_id(static_cast<uint64_t>(i));
    fragment->set_physical_rows(kRows);
    auto* file = fragment->add_files();
    file->set_path(name);
    for (int column : {0, 1}) {
      file->add_fields(column);
      file->add_column_indices(column);
    }
    file->set_file_major_version(2);
    file->set_file_minor_version(2);
    file->set_file_size_bytes(fs::file_size(dir_ + "/data/" + name));
  }

  void WriteManifest(const wire::Manifest& manifest) {
    const std::string message = manifest.SerializeAsString();
    std::string bytes;
    AppendLE(&bytes, static_cast<uint32_t>(message.size()));
    bytes += message;
    AppendLE(&bytes, uint64_t{0});
    AppendLE(&bytes, uint16_t{0});
    AppendLE(&bytes, uint16_t{2});
    std::ofstream(dir_ + "/" + ManifestPath({manifest.version(), ManifestScheme::kV2}), std::ios::binary)
        << bytes << "LANC";
  }

  struct Cost {
    uint64_t opens = 0, requests = 0;
    bool operator==(const Cost&) const = default;
  };
  // Of what was read since the last call.
  Cost Spent() {
    const Cost all{stats_.opens, stats_.requests};
    const Cost out{all.opens - spent_.opens, all.requests - spent_.requests};
    spent_ = all;
    return out;
  }
  friend void PrintTo(const Cost& c, std::ostream* out) { *out << c.opens << " opens, " << c.requests << " requests"; }

  ReadContext Counted(int threads = 1) {
    ReadContext ctx;
    ctx.stats = &stats_;
    ctx.threads = threads;
    return ctx;
  }
  uint64_t Rows(const std::shared_ptr<const Snapshot>& snapshot, const std::string& sql, int threads = 1) {
    auto query = BindQuery(sql, *snapshot, {}).ValueOrDie();
    auto result = RunQuery(snapshot, query, {}, Counted(threads)).ValueOrDie();
    uint64_t rows = 0;
    while (auto batch = result->Next().ValueOrDie()) rows += static_cast<uint64_t>(batch->num_rows());
    return rows;
  }

  std::unique_ptr<TempDir> temp_;
  std::string dir_;
  ReadStats stats_;
  Cost spent_;
};

TEST_F(TableCounts, OpenAndVersions) {
  ReadContext ctx = Counted();
  auto table = Table::Open(dir_, {}, {}, ctx).ValueOrDie();
  EXPECT_EQ(Spent(), (Cost{1, 1})) << "the newest manifest";
  EXPECT_EQ(table->manifest().version, uint64_t{kFragments});
  TableRef ref;
  ref.version = 3;
  ASSERT_TRUE(Table::Open(dir_, ref, {}, ctx).ok());
  EXPECT_EQ(Spent(), (Cost{1, 1}));
  EXPECT_EQ(table->CountRows(ctx).ValueOrDie(), uint64_t{kFragments * kRows});
  ASSERT_TRUE(table->OpenSnapshot({}, ctx).ok());
  EXPECT_EQ(Spent(), (Cost{0, 0}));
  for (const int threads : {1, 4}) {
    ReadContext some = Counted(threads);
    const auto versions = table->Versions(some).ValueOrDie();
    ASSERT_EQ(versions.size(), size_t{kFragments});
    for (size_t i = 0; i < versions.size(); ++i) {
      EXPECT_EQ(versions[i].version, i + 1);
      EXPECT_EQ(versions[i].totals.rows, (i + 1) * kRows);
      EXPECT_EQ(versions[i].totals.data_files, i + 1);
    }
    EXPECT_EQ(Spent(), (Cost{kFragments, kFragments})) << "a manifest each";
  }
}

TEST_F(TableCounts, Scans) {
  ReadContext ctx = Counted();
  auto table = Table::Open(dir_, {}, {}, ctx).ValueOrDie();
  auto snapshot = table->OpenSnapshot({}, ctx).ValueOrDie();
  Spent();
  for (const int threads : {1, 4}) {
    auto fresh = table->OpenSnapshot({}, ctx).ValueOrDie();
    EXPECT_EQ(Rows(fresh, "SELECT a, b FROM t", threads), uint64_t{kFragments * kRows});
    EXPECT_EQ(Spent(), (Cost{kFragments, kFragments})) << "each file whole, at once";
    EXPECT_EQ(Rows(fresh, "SELECT b FROM t WHERE a % 2 = 0", threads), uint64_t{kFragments * kRows / 2});
    EXPECT_EQ(Spent(), (Cost{0, 0})) << "they are still there";
  }
  EXPECT_EQ(Rows(snapshot, "SELECT b FROM t LIMIT 150"), 150u);
  EXPECT_EQ(Spent(), (Cost{2, 2})) << "no further than the rows";
  EXPECT_EQ(Rows(snapshot, "SELECT _rowid FROM t"), uint64_t{kFragments * kRows});
  EXPECT_EQ(Spent(), (Cost{0, 0})) << "no file has row ids";
}

TEST_F(TableCounts, Takes) {
  ReadContext ctx = Counted(4);
  auto table = Table::Open(dir_, {}, {}, ctx).ValueOrDie();
  auto snapshot = table->OpenSnapshot({}, ctx).ValueOrDie();
  Spent();
  const std::vector<std::vector<uint64_t>> takes = {{5, 7, 1999}, {1999, 5, 5, 700}, {1}, {}};
  const std::vector<Cost> costs = {{2, 2}, {1, 1}, {0, 0}, {0, 0}};
  for (size_t i = 0; i < takes.size(); ++i) {
    const auto taken = TakeRows(*snapshot, {{{"b"}}, {{"a"}}}, {"b", "a"}, takes[i], ctx).ValueOrDie();
    EXPECT_EQ(Spent(), costs[i]) << i;
    ASSERT_EQ(taken->num_rows(), static_cast<int64_t>(takes[i].size()));
    if (takes[i].empty()) continue;
    ASSERT_EQ(taken->column(0)->num_chunks(), 1);
    for (size_t k = 0; k < takes[i].size(); ++k) {
      const auto row = static_cast<int64_t>(k);
      EXPECT_EQ(taken->column(0)->GetScalar(row).ValueOrDie()->ToString(), fmt::format("row {}", takes[i][k]));
      EXPECT_EQ(taken->column(1)->GetScalar(row).ValueOrDie()->ToString(), fmt::format("{}", takes[i][k]));
    }
  }
}

}  // namespace
}  // namespace pilum
