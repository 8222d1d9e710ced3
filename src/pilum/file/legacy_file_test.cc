#include "pilum/file/legacy_file.h"

#include <filesystem>

#include <gtest/gtest.h>

#include <arrow/api.h>

#include "pilum/io/object_store.h"
#include "tests/support/paths/source_dir.h"

namespace pilum {
namespace {

// The larger file of the golden table: 30 rows or less of id: int64, s: string, x: double.
std::string Bytes() {
  namespace fs = std::filesystem;
  std::string best;
  for (const auto& entry :
       fs::directory_iterator(testing::SourceDir() + "/tests/golden/table/storage-legacy/table.lance/data")) {
    ReadContext ctx;
    auto source = OpenLocalFile(entry.path().string(), ctx).ValueOrDie();
    auto bytes = source->ReadRange({0, source->size()}, ctx).ValueOrDie()->ToString();
    if (bytes.size() > best.size()) best = bytes;
  }
  return best;
}

LegacyFields Fields() {
  return {arrow::schema({arrow::field("id", arrow::int64()), arrow::field("s", arrow::utf8()),
                         arrow::field("x", arrow::float64())}),
          {-1, {{0, {}}, {1, {}}, {2, {}}}},
          0,
          2};
}

Result<std::shared_ptr<arrow::Table>> Read(std::string bytes, const LegacyFields& fields, const RowSet* rows = nullptr,
                                           BatchLimits limits = {}) {
  ReadContext ctx;
  auto source = MakeMemorySource("old.lance", arrow::Buffer::FromString(std::move(bytes)));
  PILUM_ASSIGN_OR_RETURN(auto file, LegacyFile::Open(source, fields, ctx));
  std::vector<FieldPath> columns;
  for (const auto& f : fields.schema->fields()) columns.push_back({{f->name()}});
  PILUM_ASSIGN_OR_RETURN(auto stream, file->Read(columns, rows ? *rows : RowSet::All(file->num_rows()), limits, ctx));
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  while (true) {
    PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
    if (!batch) break;
    EXPECT_TRUE(batch->ValidateFull().ok());
    EXPECT_LE(static_cast<uint64_t>(batch->num_rows()), limits.rows);
    EXPECT_EQ(static_cast<uint64_t>(batch->num_rows()), stream->rows().size());
    batches.push_back(std::move(batch));
  }
  return arrow::Table::FromRecordBatches(stream->schema(), batches);
}

TEST(LegacyFile, SomeRowsAreThoseOfAll) {
  const auto all = Read(Bytes(), Fields()).ValueOrDie();
  ASSERT_GT(all->num_rows(), 8);
  const RowSet some = RowSet::FromSorted({0, 2, 3, 7});
  const auto got = Read(Bytes(), Fields(), &some).ValueOrDie();
  const auto want = arrow::ConcatenateTables({all->Slice(0, 1), all->Slice(2, 2), all->Slice(7, 1)}).ValueOrDie();
  EXPECT_TRUE(got->Equals(*want));
  EXPECT_TRUE(Read(Bytes(), Fields(), nullptr, {3, 64 << 20}).ValueOrDie()->Equals(*all));
  EXPECT_TRUE(Read(Bytes(), Fields(), nullptr, {100, 1}).ValueOrDie()->Equals(*all)) << "a row at a time";
}

TEST(LegacyFile, AFieldWithoutAPageIsAnError) {
  LegacyFields fields = Fields();
  fields.ids.children[1].id = 9;
  const Status st = Read(Bytes(), fields).status();
  EXPECT_EQ(KindOf(st), ErrorKind::kCorrupt);
  EXPECT_NE(st.message().find("old.lance: field 's': its page has 0 values"), std::string::npos) << st.message();
}

TEST(LegacyFile, CutsAreErrorsAndChangedBytesNeverCrash) {
  const std::string whole = Bytes();
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(Read(whole.substr(0, n), Fields()).ok()) << n;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int change : {1, 0x80, 0xff}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ change);
      (void)Read(changed, Fields()).ok();
    }
  }
}

TEST(LegacyFile, TypesThatItCannotHoldAreRefused) {
  LegacyFields fields = Fields();
  fields.schema = arrow::schema({arrow::field("id", arrow::dictionary(arrow::int8(), arrow::utf8()))});
  EXPECT_EQ(KindOf(Read(Bytes(), fields).status()), ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace pilum
