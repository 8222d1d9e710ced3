#include "pilum/table/table.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <nlohmann/json.hpp>

#include "lance_table.pb.h"
#include "pilum/base/bytes.h"
#include "pilum/table/open_files.h"
#include "tests/support/paths/source_dir.h"

namespace pilum {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path GoldenDir() { return testing::SourceDir() + "/tests/golden/table"; }

std::shared_ptr<const Table> Open(const fs::path& path, const TableRef& ref = {}) {
  ReadContext ctx;
  auto table = Table::Open(path.string(), ref, {}, ctx);
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  return *table;
}

TableRef Version(uint64_t v) {
  TableRef ref;
  ref.version = v;
  return ref;
}

Result<std::shared_ptr<arrow::Table>> ReadRows(const Table& table, const std::vector<std::string>& names,
                                               BatchLimits limits = {}) {
  ReadContext ctx;
  PILUM_ASSIGN_OR_RETURN(auto snapshot, table.OpenSnapshot({}, ctx));
  std::vector<FieldPath> columns;
  arrow::FieldVector fields;
  for (const auto& name : names) {
    columns.push_back({{name}});
    fields.push_back(snapshot->schema()->GetFieldByName(name));
  }
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (const auto& unit : snapshot->units()) {
    PILUM_ASSIGN_OR_RETURN(auto stream, unit->Read(columns, RowSet::All(unit->num_rows()), limits, ctx));
    while (true) {
      PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
      if (!batch) break;
      PILUM_RETURN_NOT_OK(batch->ValidateFull());
      EXPECT_EQ(static_cast<uint64_t>(batch->num_rows()), stream->rows().size());
      batches.push_back(std::move(batch));
    }
  }
  return arrow::Table::FromRecordBatches(arrow::schema(std::move(fields)), std::move(batches));
}

std::shared_ptr<arrow::Table> Expected(const fs::path& path) {
  auto file = arrow::io::ReadableFile::Open(path.string()).ValueOrDie();
  auto reader = arrow::ipc::RecordBatchFileReader::Open(file).ValueOrDie();
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (int i = 0; i < reader->num_record_batches(); ++i) batches.push_back(reader->ReadRecordBatch(i).ValueOrDie());
  return arrow::Table::FromRecordBatches(reader->schema(), batches).ValueOrDie();
}

void ExpectRows(const Table& table, const arrow::Table& expected, const std::string& what) {
  auto got = ReadRows(table, expected.schema()->field_names());
  ASSERT_TRUE(got.ok()) << what << ": " << got.status().ToString();
  for (int i = 0; i < expected.num_columns(); ++i) {
    EXPECT_TRUE((*got)->column(i)->Equals(*expected.column(i)))
        << what << " column " << expected.field(i)->name() << "\n"
        << (*got)->column(i)->ToString() << "\n!=\n"
        << expected.column(i)->ToString();
  }
}

// versions() looks through manifests in a way of its own: it must see what opening one sees.
void ExpectListed(const Table& table, const std::string& what) {
  ReadContext ctx;
  ctx.threads = 2;
  const auto versions = table.Versions(ctx).ValueOrDie();
  const auto own = std::find_if(versions.begin(), versions.end(),
                                [&](const TableVersion& v) { return v.version == table.manifest().version; });
  ASSERT_TRUE(own != versions.end()) << what;
  const TableTotals want = TotalsOf(table.manifest());
  EXPECT_EQ(own->timestamp_ns, table.manifest().timestamp_ns) << what;
  EXPECT_EQ(own->totals.fragments, want.fragments) << what;
  EXPECT_EQ(own->totals.rows, want.rows) << what;
  EXPECT_EQ(own->totals.deleted_rows, want.deleted_rows) << what;
  EXPECT_EQ(own->totals.data_files, want.data_files) << what;
  EXPECT_EQ(own->totals.data_bytes, want.data_bytes) << what;
  EXPECT_EQ(own->totals.deletion_files, want.deletion_files) << what;
}

class GoldenTables : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTables, EveryVersionIsAsPylanceReadIt) {
  const fs::path dir = GoldenDir() / GetParam();
  const json e = json::parse(std::ifstream(dir / "expected.json"));
  ReadContext ctx;
  EXPECT_EQ(Open(dir / "table.lance")->manifest().version, e["latest_version"].get<uint64_t>());
  size_t compared = 0;
  for (const json& v : e["versions"]) {
    const auto version = v["version"].get<uint64_t>();
    const std::string what = fmt::format("{} version {}", GetParam(), version);
    const auto table = Open(dir / "table.lance", Version(version));
    EXPECT_EQ(table->CountRows(ctx).ValueOrDie(), v["count_rows"].get<uint64_t>()) << what;
    ExpectListed(*table, what);
    EXPECT_EQ(table->manifest().fragments.size(), v["fragments"].size()) << what;
    EXPECT_EQ(table->manifest().data_version, v["data_storage_version"].get<std::string>()) << what;
    EXPECT_EQ(table->manifest().config, (v["config"].get<std::map<std::string, std::string>>())) << what;
    if (!v.contains("arrow") || v["arrow"].is_null()) continue;
    ExpectRows(*table, *Expected(dir / v["arrow"].get<std::string>()), what);
    ++compared;
    const fs::path lineage = dir / fmt::format("expected-v{}-lineage.arrow", version);
    if (fs::exists(lineage)) ExpectRows(*table, *Expected(lineage), what + " lineage");
  }
  EXPECT_GT(compared, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTables,
                         ::testing::Values("mainline", "nested-types", "schema-evolution", "detached", "updates",
                                           "merge-insert-stable", "storage-2.1", "config-meta", "old-0.33.0-stable",
                                           "blobs-v2", "storage-legacy"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

TEST(Table, BatchesOfAnySizeAreTheSameRows) {
  const auto table = Open(GoldenDir() / "schema-evolution/table.lance");
  const std::vector<std::string> names = {"id", "sq", "m", "nul", "_rowid"};
  const auto whole = ReadRows(*table, names).ValueOrDie();
  for (uint64_t rows : {1, 3, 7}) {
    EXPECT_TRUE(ReadRows(*table, names, {rows, 64 << 20}).ValueOrDie()->Equals(*whole)) << rows;
  }
}

TEST(Table, VersionsAndDetachedOnes) {
  ReadContext ctx;
  const fs::path dir = GoldenDir() / "detached";
  const json e = json::parse(std::ifstream(dir / "expected.json"));
  const auto table = Open(dir / "table.lance");
  std::vector<uint64_t> versions;
  for (const auto& v : table->Versions(ctx).ValueOrDie()) versions.push_back(v.version);
  EXPECT_EQ(versions, (std::vector<uint64_t>{1, 2})) << "detached ones are not among them";
  EXPECT_EQ(table->LatestVersion(ctx).ValueOrDie(), 2u);
  const auto detached = Open(dir / "table.lance", Version(e["detached_version"].get<uint64_t>()));
  EXPECT_EQ(detached->CountRows(ctx).ValueOrDie(), e["detached_rows"].get<uint64_t>());
  const auto transaction = table->ReadTransaction(ctx).ValueOrDie();
  ASSERT_TRUE(transaction);
  EXPECT_EQ(transaction->read_version, 1u);
  TableRef as_of;
  as_of.as_of_ns = table->Versions(ctx).ValueOrDie()[0].timestamp_ns;
  EXPECT_EQ(Open(dir / "table.lance", as_of)->manifest().version, 1u);
  as_of.as_of_ns = 0;
  EXPECT_EQ(KindOf(Table::Open((dir / "table.lance").string(), as_of, {}, ctx).status()), ErrorKind::kNotFound);
}

// A golden table that may be damaged.
class DamagedTable : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::temp_directory_path() / fmt::format("pilum-table-{}", ::getpid());
    fs::remove_all(dir_);
    fs::copy(GoldenDir() / "mainline/table.lance", dir_, fs::copy_options::recursive);
  }
  void TearDown() override { fs::remove_all(dir_); }
  fs::path Manifest(uint64_t version) const { return dir_ / ManifestPath({version, ManifestScheme::kV2}); }
  void Write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  Status OpenStatus(const TableRef& ref = {}) {
    ReadContext ctx;
    return Table::Open(dir_.string(), ref, {}, ctx).status();
  }
  fs::path dir_;
};

bool Says(const Status& st, std::string_view text) { return st.message().find(text) != std::string::npos; }

TEST_F(DamagedTable, ABadNewestManifestSaysWhichOlderOneOpens) {
  for (const std::string& bytes :
       {std::string(), std::string("garbage"), std::string(16, '\x7f') + std::string(4, '\0') + "LANC"}) {
    Write(Manifest(5), bytes);
    const Status st = OpenStatus();
    EXPECT_EQ(KindOf(st), ErrorKind::kCorrupt) << st.ToString();
    EXPECT_TRUE(Says(st, "version 4 still opens")) << st.ToString();
    EXPECT_TRUE(Says(st, Manifest(5).filename().string())) << st.ToString();
  }
  Write(Manifest(4), "");
  EXPECT_TRUE(Says(OpenStatus(), "version 3 still opens")) << OpenStatus().ToString();
  EXPECT_TRUE(OpenStatus(Version(3)).ok());
  for (uint64_t v : {1, 2, 3}) Write(Manifest(v), "");
  EXPECT_TRUE(Says(OpenStatus(), "nor do those before it")) << OpenStatus().ToString();
}

// Of a table that was appended to, overwritten and restored.
TEST_F(DamagedTable, AMissingDataFileSaysWhichVersionDoesNotNeedIt) {
  std::map<uint64_t, std::set<std::string>> named;  // by version
  for (uint64_t v = 1; v <= 5; ++v) {
    const auto table = Open(dir_, Version(v));
    for (const auto& f : table->manifest().fragments) named[v].insert(f.files[0].path);
  }
  for (const auto& [version, files] : named) {
    for (const std::string& file : files) {
      const auto helps = [&](uint64_t v) { return !named[v].contains(file); };
      std::string wanted;
      for (uint64_t v = 1; v < version; ++v) {
        if (helps(v)) wanted = fmt::format("; version {} does not need it: ask for that one", v);
      }
      if (version < 5 && helps(5))
        wanted = fmt::format("; version 5 does not need it: was version {} cleaned up", version);
      const fs::path path = dir_ / "data" / file, aside = dir_ / "aside";
      fs::rename(path, aside);
      const Status st = ReadRows(*Open(dir_, Version(version)), {"id"}).status();
      fs::rename(aside, path);
      EXPECT_EQ(KindOf(st), ErrorKind::kNotFound) << st.ToString();
      EXPECT_TRUE(Says(st, file)) << st.ToString();
      EXPECT_TRUE(Says(st, wanted)) << version << ": " << st.ToString();
      EXPECT_EQ(Says(st, "does not need it"), !wanted.empty()) << version << ": " << st.ToString();
    }
  }
}

TEST_F(DamagedTable, VersionsAreThoseThatOpen) {
  ReadContext ctx;
  const auto table = Open(dir_);
  const auto listed = [&] {
    std::vector<uint64_t> out;
    for (const auto& v : table->Versions(ctx).ValueOrDie()) out.push_back(v.version);
    return out;
  };
  EXPECT_EQ(listed(), (std::vector<uint64_t>{1, 2, 3, 4, 5}));
  Write(Manifest(5), "garbage");
  Write(Manifest(2), "");
  EXPECT_EQ(listed(), (std::vector<uint64_t>{1, 3, 4}));
  fs::copy_file(Manifest(3), Manifest(2), fs::copy_options::overwrite_existing);
  EXPECT_EQ(listed(), (std::vector<uint64_t>{1, 3, 4})) << "of another version";
  std::stop_source stop;
  stop.request_stop();
  ctx.stop = stop.get_token();
  EXPECT_EQ(KindOf(table->Versions(ctx).status()), ErrorKind::kCancelled) << "to be stopped is no damage";
}

// Each changed byte of a manifest: listed if and only if it opens.
TEST_F(DamagedTable, VersionsAndOpenAgreeOnDamage) {
  ReadContext ctx;
  const auto table = Open(dir_, Version(1));
  std::string whole;
  {
    std::ifstream in(Manifest(4), std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (size_t i = 0; i < whole.size(); i += 3) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x5a);
    Write(Manifest(4), changed);
    const bool opens = OpenStatus(Version(4)).ok();
    const auto versions = table->Versions(ctx).ValueOrDie();
    const bool listed = std::any_of(versions.begin(), versions.end(), [](const auto& v) { return v.version == 4; });
    // A schema that parses may still be none that a table can have.
    EXPECT_TRUE(listed || !opens) << i;
  }
}

TEST(OpenFiles, KeepsThoseOpenedLast) {
  OpenFiles files;
  std::vector<std::weak_ptr<const int>> kept;
  const auto open = [&](uint64_t held, OpenFiles::For what = OpenFiles::For::kTake) {
    auto file = std::make_shared<const int>(0);
    kept.push_back(file);
    files.Keep(std::move(file), held, what);
  };
  const auto living = [&] {
    return std::count_if(kept.begin(), kept.end(), [](const auto& f) { return !f.expired(); });
  };
  for (size_t i = 0; i < OpenFiles::MostDescriptors() + 44; ++i) open(0);
  EXPECT_EQ(living(), static_cast<std::ptrdiff_t>(OpenFiles::MostDescriptors()));
  EXPECT_TRUE(kept.front().expired());
  EXPECT_FALSE(kept.back().expired());
  kept.clear();
  for (int i = 0; i < 10; ++i) open(OpenFiles::kMostHeld / 4);
  EXPECT_EQ(living(), 4);
  kept.clear();
  for (size_t i = 0; i < OpenFiles::kMostScanned + 5; ++i) open(1000, OpenFiles::For::kScan);
  EXPECT_EQ(living(), static_cast<std::ptrdiff_t>(OpenFiles::kMostScanned));
}

TEST_F(DamagedTable, GarbageBesideItIsPassedOverAndTheHintIsNotTrusted) {
  for (const char* name : {"_versions/foo.manifest", "_versions/.tmp5", "_versions/9.manifest#1", "stray", "data/x"}) {
    Write(dir_ / name, "garbage");
  }
  for (const char* hint : {"", "{}", R"({"version":99})", R"({"version":1})"}) {
    Write(dir_ / "_versions/latest_version_hint.json", hint);
    EXPECT_EQ(Open(dir_)->manifest().version, 5u);
  }
}

// Whatever is remembered of a folder that nothing changed for a while.
TEST_F(DamagedTable, TheNewestIsFoundAfterEachChangeOfItsFolder) {
  const fs::path away = dir_ / "away";
  const auto settle = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2100)); };
  fs::rename(Manifest(5), away);
  settle();
  ReadContext ctx;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Open(dir_)->manifest().version, 4u);
  EXPECT_EQ(Open(dir_)->LatestVersion(ctx).ValueOrDie(), 4u);
  const auto table = Open(dir_);
  fs::rename(away, Manifest(5));
  EXPECT_EQ(table->LatestVersion(ctx).ValueOrDie(), 5u);
  EXPECT_EQ(Open(dir_)->manifest().version, 5u);
  fs::rename(Manifest(5), away);
  EXPECT_EQ(Open(dir_)->manifest().version, 4u);
  fs::rename(away, Manifest(5));
  settle();
  EXPECT_EQ(Open(dir_)->manifest().version, 5u);
}

TEST_F(DamagedTable, TwoWaysOfNamingAreRefusedButVersionsOpen) {
  fs::copy_file(Manifest(3), dir_ / "_versions/3.manifest");
  EXPECT_TRUE(Says(OpenStatus(), "named in both ways")) << OpenStatus().ToString();
  EXPECT_TRUE(OpenStatus(Version(3)).ok());
}

TEST_F(DamagedTable, AManifestUnderAnotherVersionsName) {
  fs::copy_file(Manifest(3), Manifest(6));
  EXPECT_TRUE(Says(OpenStatus(), "named as version 6, but says that it is 3")) << OpenStatus().ToString();
}

TEST_F(DamagedTable, WhatIsNotThereIsNamed) {
  ReadContext ctx;
  const Status no_version = OpenStatus(Version(9));
  EXPECT_EQ(KindOf(no_version), ErrorKind::kNotFound);
  EXPECT_TRUE(Says(no_version, "there is no version 9; there are 1 to 5")) << no_version.ToString();
  TableRef tag;
  tag.tag = "nope";
  EXPECT_TRUE(Says(OpenStatus(tag), "there is no tag 'nope'; there are: none")) << OpenStatus(tag).ToString();
  fs::remove(Manifest(4));
  EXPECT_TRUE(Says(OpenStatus(Version(4)), "there are 1 to 3, 5")) << OpenStatus(Version(4)).ToString();
  fs::remove_all(dir_ / "_versions");
  EXPECT_EQ(KindOf(OpenStatus()), ErrorKind::kNotFound);
  EXPECT_EQ(KindOf(OpenStatus(Version(1))), ErrorKind::kNotFound);
}

TEST_F(DamagedTable, MissingAndChangedDataFiles) {
  const auto table = Open(dir_);
  const fs::path file = dir_ / "data" / table->manifest().fragments[1].files[0].path;
  const std::string name = file.filename().string();
  const auto size = fs::file_size(file);
  Write(file, std::string(size - 1, 'x'));
  Status st = ReadRows(*table, {"id"}).status();
  EXPECT_EQ(KindOf(st), ErrorKind::kCorrupt) << st.ToString();
  EXPECT_TRUE(Says(st, name) && Says(st, "fragment 1")) << st.ToString();
  fs::remove(file);
  st = ReadRows(*table, {"id"}).status();
  EXPECT_EQ(KindOf(st), ErrorKind::kNotFound) << st.ToString();
  EXPECT_TRUE(Says(st, name) && Says(st, "fragment 1")) << st.ToString();
  // Row ids are not in data files.
  EXPECT_EQ(ReadRows(*table, {"_rowid"}).ValueOrDie()->num_rows(), 35);
}

}  // namespace
}  // namespace pilum
