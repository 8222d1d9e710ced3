// Every file that the peer wrote, against what the peer's reader returned: whole, ranges, takes.
#include <random>

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <gtest/gtest.h>

#include "pilum/file/file_reader.h"
#include "pilum/io/object_store.h"
#include "tests/support/lance_test_files.h"

namespace pilum {
namespace {

using testing::StorageOf;

Result<std::shared_ptr<arrow::Table>> OneChunk(const std::shared_ptr<arrow::Table>& table) {
  std::vector<std::shared_ptr<arrow::ChunkedArray>> columns;
  for (const auto& c : table->columns()) {
    arrow::ArrayVector chunks;
    for (const auto& chunk : c->chunks()) chunks.push_back(StorageOf(chunk));
    std::shared_ptr<arrow::Array> one;
    if (chunks.empty()) {
      PILUM_ASSIGN_OR_RETURN(one, arrow::MakeEmptyArray(c->type()));
      one = StorageOf(one);
    } else {
      PILUM_ASSIGN_OR_RETURN(one, arrow::Concatenate(chunks));
    }
    columns.push_back(std::make_shared<arrow::ChunkedArray>(one));
  }
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (int i = 0; i < table->num_columns(); ++i) {
    fields.push_back(arrow::field(table->schema()->field(i)->name(), columns[i]->type()));
  }
  return arrow::Table::Make(arrow::schema(fields), columns, table->num_rows());
}

// Dictionaries may be numbered otherwise: compare what they say.
std::shared_ptr<arrow::Array> Plain(const std::shared_ptr<arrow::Array>& a) {
  if (a->type_id() != arrow::Type::DICTIONARY) return a;
  const auto& d = static_cast<const arrow::DictionaryArray&>(*a);
  return d.dictionary()->type_id() == arrow::Type::NA ? a : *arrow::compute::Take(*d.dictionary(), *d.indices());
}

std::string Difference(const arrow::Table& got, const arrow::Table& want) {
  if (got.num_rows() != want.num_rows()) return fmt::format("{} rows, not {}", got.num_rows(), want.num_rows());
  if (got.num_columns() != want.num_columns()) return "columns";
  for (int i = 0; i < got.num_columns(); ++i) {
    auto g = Plain(got.column(i)->chunk(0)), w = Plain(want.column(i)->chunk(0));
    std::string name = got.schema()->field(i)->name();
    if (!g->type()->Equals(*w->type()))
      return fmt::format("{}: type {}, not {}", name, g->type()->ToString(), w->type()->ToString());
    Status valid = g->ValidateFull();
    if (!valid.ok()) return fmt::format("{}: {}", name, valid.ToString());
    if (!g->Equals(*w, arrow::EqualOptions::Defaults().nans_equal(true))) {
      std::string diff = g->Diff(*w);
      return fmt::format("{}: values differ: {}", name, diff.substr(0, 300));
    }
  }
  return "";
}

std::shared_ptr<arrow::Table> TakeRows(const arrow::Table& table, const std::vector<uint64_t>& rows) {
  std::vector<std::shared_ptr<arrow::ChunkedArray>> columns;
  for (const auto& c : table.columns()) {
    arrow::ArrayVector parts;
    for (uint64_t r : rows) parts.push_back(c->chunk(0)->Slice(static_cast<int64_t>(r), 1));
    columns.push_back(std::make_shared<arrow::ChunkedArray>(*arrow::Concatenate(parts)));
  }
  return arrow::Table::Make(table.schema(), columns, static_cast<int64_t>(rows.size()));
}

Result<std::string> CheckFile(const std::string& path) {
  ReadContext ctx;
  ctx.allow_unstable = true;
  PILUM_ASSIGN_OR_RETURN(auto expected, testing::ReadExpected(path));
  PILUM_ASSIGN_OR_RETURN(auto want, OneChunk(expected));
  PILUM_ASSIGN_OR_RETURN(auto source, OpenLocalFile(path, ctx));
  PILUM_ASSIGN_OR_RETURN(auto reader, FileReader::Open(source, ctx));
  auto check = [&](const std::vector<uint64_t>& rows, bool whole) -> Result<std::string> {
    RowSet set = whole ? RowSet::All(reader->num_rows()) : RowSet::FromSorted(rows);
    PILUM_ASSIGN_OR_RETURN(auto table, reader->ReadTable(std::nullopt, set, ctx));
    PILUM_ASSIGN_OR_RETURN(auto got, OneChunk(table));
    std::string diff = Difference(*got, whole ? *want : *TakeRows(*want, rows));
    return diff.empty() ? diff : fmt::format("{} rows from {}: {}", rows.size(), rows.empty() ? 0 : rows[0], diff);
  };
  PILUM_ASSIGN_OR_RETURN(std::string diff, check({}, true));
  std::mt19937 random(7);
  const uint64_t n = reader->num_rows();
  for (uint64_t k : {1, 7, 100, 0}) {
    if (!diff.empty() || n == 0) return diff;
    std::vector<uint64_t> rows;
    if (k == 0) {  // a range
      uint64_t begin = random() % n, end = begin + 1 + random() % (n - begin);
      for (uint64_t r = begin; r < end && rows.size() < 3000; ++r) rows.push_back(r);
    } else {
      for (uint64_t i = 0; i < k; ++i) rows.push_back(random() % n);
      std::sort(rows.begin(), rows.end());
      rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    }
    PILUM_ASSIGN_OR_RETURN(diff, check(rows, false));
  }
  return diff;
}

void CheckFolder(const std::string& dir) {
  int files = 0;
  for (const std::string& path : testing::LanceFilesIn(dir)) {
    if (!std::filesystem::exists(path.substr(0, path.size() - 6) + ".arrow")) continue;
    ++files;
    auto diff = CheckFile(path);
    EXPECT_TRUE(diff.ok()) << path << ": " << diff.status().ToString();
    if (diff.ok()) {
      EXPECT_EQ(*diff, "") << path;
    }
  }
  EXPECT_GT(files, 0);
}

// Version 2.0: the offsets of the row, then just its items, in pages that split elsewhere; each leaf by itself.
TEST(ReadFiles, Version20DecodesOnlyTheItemsOfARow) {
  for (const char* name : {"list_struct", "list_list_all", "multi_page_nested"}) {
    ReadContext open;
    auto source = *OpenLocalFile(fmt::format("{}/file/v2_0/{}.lance", testing::GoldenDir(), name), open);
    auto reader = *FileReader::Open(source, open);
    EXPECT_EQ(reader->info().version, FileVersion::kV2_0);
    EXPECT_EQ(reader->Columns().size(), reader->info().num_columns);
    const LeafColumn& leaf = reader->leaf_columns()[0];
    ASSERT_GT(leaf.num_list_layers(), 0);
    for (uint64_t row : {uint64_t{0}, reader->num_rows() / 2, reader->num_rows() - 1}) {
      ReadStats stats;
      ReadContext ctx;
      ctx.stats = &stats;
      auto table = *reader->Take(std::nullopt, {row}, ctx);
      std::shared_ptr<arrow::Array> array = table->column(leaf.top_level)->chunk(0);
      for (int i = 0; i < leaf.num_list_layers(); ++i) array = *static_cast<arrow::ListArray&>(*array).Flatten();
      EXPECT_EQ(stats.decoded()[leaf.name], static_cast<uint64_t>(array->length())) << name << " row " << row;
    }
  }
}

TEST(ReadFiles, Golden20) { CheckFolder(testing::GoldenDir() + "/file/v2_0"); }
TEST(ReadFiles, Golden21) { CheckFolder(testing::GoldenDir() + "/file/v2_1"); }
TEST(ReadFiles, Golden22) { CheckFolder(testing::GoldenDir() + "/file/v2_2"); }
TEST(ReadFiles, Golden23) { CheckFolder(testing::GoldenDir() + "/file/unstable_v2_3"); }

TEST(ReadFiles, Corpus) {
  std::string dir = testing::CorpusDir();
  if (dir.empty()) GTEST_SKIP() << "no corpus beside the checkout";
  CheckFolder(dir + "/v2_0");
  CheckFolder(dir + "/v2_1");
  CheckFolder(dir + "/v2_2");
  CheckFolder(dir + "/unstable_v2_3");
}

}  // namespace
}  // namespace pilum
