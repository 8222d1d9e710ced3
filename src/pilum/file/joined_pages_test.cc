// Batches that span pages of long values: decoded into one array, not put together after.
#include <cstring>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "pilum/file/file_reader.h"
#include "pilum/file/file_writer.h"
#include "pilum/file/test_random.h"

namespace pilum {
namespace {

std::string Noise(size_t size, TestRandom* random) {
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>('!' + random->Next() % 90);
  return out;
}

std::string Words(size_t size, TestRandom* random) {
  static const char* const kWords[] = {"conversation ", "of ",    "the ", "Größe ",
                                       "session ",      "reads ", "and ", "pages "};
  std::string out;
  while (out.size() < size) out += kWords[random->Next() % 8] + std::to_string(random->Next() % 100) + " ";
  return out;
}

std::shared_ptr<arrow::Table> Column(const std::shared_ptr<arrow::DataType>& type,
                                     const std::vector<std::string>& values) {
  std::unique_ptr<arrow::ArrayBuilder> builder;
  EXPECT_TRUE(arrow::MakeBuilder(arrow::default_memory_pool(), type, &builder).ok());
  for (const auto& v : values) {
    if (type->id() == arrow::Type::LARGE_STRING)
      EXPECT_TRUE(static_cast<arrow::LargeStringBuilder&>(*builder).Append(v).ok());
    else
      EXPECT_TRUE(static_cast<arrow::BinaryBuilder&>(*builder).Append(v).ok());
  }
  return arrow::Table::Make(arrow::schema({arrow::field("a", type)}), {builder->Finish().ValueOrDie()});
}

std::string FileOf(const arrow::Table& table, uint64_t page_bytes, bool checksums = true) {
  BufferPtr bytes;
  WriteOptions options;
  options.page_bytes = page_bytes;
  options.checksums = checksums;
  auto writer = FileWriter::Make(MakeMemorySink("t.lance", &bytes), table.schema(), options).ValueOrDie();
  arrow::TableBatchReader reader(table);
  for (std::shared_ptr<arrow::RecordBatch> b; reader.ReadNext(&b).ok() && b;) EXPECT_TRUE(writer->Write(*b).ok());
  EXPECT_TRUE(writer->Finish().ok());
  return bytes->ToString();
}

// Rows of `table` from `file` in batches of `batch` rows, the first wrong batch or error as a status. `layouts`: of the
// pages.
Status ReadBack(const std::string& file, const arrow::Table& table, uint64_t batch, const RowSet& rows,
                std::vector<std::string>* layouts = nullptr) {
  ReadStats stats;
  ReadContext ctx;
  ctx.stats = &stats;
  auto reader = FileReader::Open(MakeMemorySource("t.lance", arrow::Buffer::FromString(file)), ctx).ValueOrDie();
  if (layouts) {
    for (const ColumnInfo& column : reader->Columns())
      for (const auto& page : column.pages) layouts->push_back(page.layout);
  }
  auto stream = reader->Read(std::nullopt, rows, {.rows = batch}, ctx).ValueOrDie();
  uint64_t at = 0;
  while (true) {
    PILUM_ASSIGN_OR_RETURN(auto got, stream->Next());
    if (!got) break;
    PILUM_RETURN_NOT_OK(got->ValidateFull());
    for (int64_t i = 0; i < got->num_rows(); ++i) {
      const auto row = static_cast<int64_t>(rows.SliceByRank(at++, 1).ranges()[0].begin);
      if (!got->column(0)->GetScalar(i).ValueOrDie()->Equals(*table.column(0)->GetScalar(row).ValueOrDie()))
        return Status::Invalid("row ", row, " differs");
    }
  }
  if (at != rows.size()) return Status::Invalid(at, " rows");
  EXPECT_EQ(stats.total_decoded(), rows.size());
  return Status::OK();
}

struct Case {
  std::shared_ptr<arrow::DataType> type;
  std::string (*make)(size_t, TestRandom*);
  size_t size;
  const char* layout;  // held by that of some page
};

TEST(JoinedPages, BatchesOfAnySizeGiveTheirRows) {
  const Case cases[] = {{arrow::utf8(), Noise, 300, "full-zip(variable"},
                        {arrow::utf8(), Words, 400, "full-zip(fsst"},
                        {arrow::large_utf8(), Words, 400, "full-zip(fsst"},
                        {arrow::binary(), Words, 40000, "full-zip(general"}};
  for (const Case& c : cases) {
    TestRandom random;
    std::vector<std::string> values;
    const size_t n = (c.size > 10000 ? 6 : 1) * (size_t{1} << 20) / c.size;
    for (size_t i = 0; i < n; ++i)  // pages with other words and lengths than the first
      values.push_back(i % 7 == 3  ? ""
                       : i < n / 3 ? c.make(c.size + random.Next() % c.size, &random)
                                   : Noise(c.size, &random) + Words(c.size * 2, &random));
    const auto table = Column(c.type, values);
    const std::string file = FileOf(*table, c.size > 10000 ? 2 << 20 : 150'000);
    RowSet some;
    for (uint64_t at = 3; at + 40 < n; at += 40 + at % 11) some.Append(at, at + 1 + at % 37);
    for (uint64_t batch : {1, 17, 100, 1000, 100000}) {
      for (const RowSet& rows : {RowSet::All(n), some}) {
        std::vector<std::string> layouts;
        const Status st = ReadBack(file, *table, batch, rows, &layouts);
        EXPECT_TRUE(st.ok()) << c.layout << ", batches of " << batch << ": " << st.ToString();
        EXPECT_GT(layouts.size(), 4u);
        EXPECT_TRUE(std::any_of(layouts.begin(), layouts.end(), [&](const auto& l) { return l.starts_with(c.layout); }))
            << layouts[0] << ", not " << c.layout;
      }
    }
  }
}

// What is wrong with a page is said of that one, whichever pages it is read with.
TEST(JoinedPages, DamageNamesItsPage) {
  TestRandom random;
  std::vector<std::string> values;
  for (int i = 0; i < 400; ++i) values.push_back(Noise(400, &random));
  const auto table = Column(arrow::utf8(), values);
  const std::string good = FileOf(*table, 40000, /*checksums=*/false);
  ASSERT_TRUE(ReadBack(good, *table, 400, RowSet::All(400)).ok());
  for (size_t row : {10, 150, 250, 399}) {
    const size_t at = good.find(values[row]);
    ASSERT_NE(at, std::string::npos);
    std::string damaged = good;
    damaged[at + 7] = '\xff';
    const std::string page = fmt::format("page {}", row / 100);
    std::vector<std::string> layouts;
    Status st = ReadBack(damaged, *table, 400, RowSet::All(400), &layouts);
    ASSERT_EQ(layouts.size(), 4u);
    EXPECT_EQ(KindOf(st), ErrorKind::kCorrupt);
    EXPECT_NE(st.message().find("UTF-8"), std::string::npos) << st.message();
    EXPECT_NE(st.message().find(page), std::string::npos) << st.message();
    damaged = good;
    std::memset(damaged.data() + at - 4, 0x7f, 4);  // its length
    st = ReadBack(damaged, *table, 400, RowSet::All(400));
    EXPECT_EQ(KindOf(st), ErrorKind::kCorrupt);
    EXPECT_NE(st.message().find(page), std::string::npos) << st.message();
  }
}

}  // namespace
}  // namespace pilum
