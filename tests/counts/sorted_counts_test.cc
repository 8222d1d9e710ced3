// A column in order needs no search of its own: zones leave the chunks that a question touches, two at most, of any number of
// rows.
#include <gtest/gtest.h>

#include <arrow/api.h>

#include "pilum/part/part_store.h"
#include "pilum/query/query.h"

namespace pilum {
namespace {

TEST(SortedColumns, AQuestionDecodesTwoChunksAtMost) {
  constexpr int64_t kRows = 300'000;
  arrow::Int64Builder id;
  arrow::StringBuilder name;
  arrow::DoubleBuilder value;
  for (int64_t i = 0; i < kRows; ++i) {
    ASSERT_TRUE(id.Append(i / 3 * 5).ok());
    ASSERT_TRUE(name.Append(fmt::format("name {:09}", i)).ok());
    ASSERT_TRUE(value.Append(static_cast<double>(i * 7919 % 1000)).ok());
  }
  const auto rows = arrow::RecordBatch::Make(
      arrow::schema({arrow::field("id", arrow::int64()), arrow::field("name", arrow::utf8()),
                     arrow::field("value", arrow::float64())}),
      kRows, {id.Finish().ValueOrDie(), name.Finish().ValueOrDie(), value.Finish().ValueOrDie()});
  auto store = PartStore::OpenIn(ObjectStore::Memory(), "d").ValueOrDie();
  ReadContext ctx;
  auto reader = arrow::RecordBatchReader::Make({rows}, rows->schema()).ValueOrDie();
  ASSERT_TRUE(store->Put(*reader, {}, ctx).ok());
  struct Asked {
    const char* where;
    uint64_t rows;
  };
  for (const Asked& asked : std::vector<Asked>{{"id = 250000", 3},
                                               {"id = 250001", 0},
                                               {"id BETWEEN 100000 AND 100009", 6},
                                               {"id >= 499990", 6},
                                               {"id < 10", 6},
                                               {"name = 'name 000123456'", 1},
                                               {"name > 'name 000299990'", 9}}) {
    ReadStats stats;
    ReadContext counted;
    counted.stats = &stats;
    auto snapshot = store->OpenSnapshot(true, counted).ValueOrDie();
    auto query = BindQuery(std::string("SELECT value FROM t WHERE ") + asked.where, *snapshot, {}).ValueOrDie();
    auto result = RunQuery(snapshot, query, {}, counted).ValueOrDie();
    while (result->Next().ValueOrDie()) {
    }
    EXPECT_EQ(result->counts().rows_returned, asked.rows) << asked.where;
    EXPECT_LE(result->counts().rows_candidate, 2048u) << asked.where;
    for (const auto& [column, values] : stats.decoded()) EXPECT_LE(values, 2048u) << asked.where << ": " << column;
  }
}

}  // namespace
}  // namespace pilum
