// Rows in order, whatever their batches and however many runs they make.
#include "pilum/part/row_sorter.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/compute/initialize.h>

#include <numeric>

#include "pilum/index/index_test_data.h"
#include "pilum/values/value.h"

namespace pilum {
namespace {

using testdata::Rng;
using testdata::Spread;

std::shared_ptr<arrow::RecordBatch> Sorted(const std::shared_ptr<arrow::RecordBatch>& rows, std::vector<FieldPath> by,
                                           uint64_t run_bytes, int64_t step) {
  ReadContext ctx;
  RowSorter sorter(rows->schema(), std::move(by), run_bytes);
  for (int64_t at = 0; at < rows->num_rows(); at += step) EXPECT_TRUE(sorter.Append(rows->Slice(at, step), ctx).ok());
  arrow::RecordBatchVector out;
  while (auto batch = sorter.Next(ctx).ValueOrDie()) out.push_back(batch);
  if (out.empty()) return rows->Slice(0, 0);
  return arrow::ConcatenateRecordBatches(out).ValueOrDie();
}

std::shared_ptr<arrow::RecordBatch> WithRow(arrow::FieldVector fields, arrow::ArrayVector columns) {
  arrow::Int64Builder row;
  for (int64_t i = 0; i < columns[0]->length(); ++i) EXPECT_TRUE(row.Append(i).ok());
  fields.push_back(arrow::field("row", arrow::int64()));
  columns.push_back(row.Finish().ValueOrDie());
  return arrow::RecordBatch::Make(arrow::schema(fields), columns[0]->length(), columns);
}

TEST(RowSorter, OrdersEveryTypeAsQueriesDo) {
  ASSERT_TRUE(arrow::compute::Initialize().ok());
  Rng rng(3);
  for (const auto& type : testdata::OrderedTypes()) {
    const int64_t n = 700;
    auto a = testdata::RandomArray(rng, type, n, Spread::kFew, 10);
    auto b = testdata::RandomArray(rng, arrow::int64(), n, Spread::kMany, 10);
    const auto rows = WithRow({arrow::field("a", type), arrow::field("b", arrow::int64())}, {a, b});
    std::vector<int64_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    const auto below = [](const std::optional<Value>& x, const std::optional<Value>& y) {
      return x && y ? *x < *y : x.has_value() && !y.has_value();
    };
    std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
      for (const auto& c : {a, b}) {
        const auto u = ValueAt(*c, x).ValueOrDie(), v = ValueAt(*c, y).ValueOrDie();
        if (below(u, v)) return true;
        if (below(v, u)) return false;
      }
      return false;
    });
    for (const uint64_t run_bytes : {uint64_t{1} << 30, uint64_t{3000}, uint64_t{200}}) {
      const auto got = Sorted(rows, {{{"a"}}, {{"b"}}}, run_bytes, 1 + static_cast<int64_t>(rng() % 300));
      ASSERT_EQ(got->num_rows(), n) << type->ToString();
      ASSERT_TRUE(got->ValidateFull().ok() || !rows->ValidateFull().ok());
      const auto& ids = static_cast<const arrow::Int64Array&>(*got->column(2));
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(ids.Value(i), order[static_cast<size_t>(i)]) << type->ToString() << " runs of " << run_bytes;
      ASSERT_TRUE(ValueAt(*got->column(0), 5).ValueOrDie() == ValueAt(*a, order[5]).ValueOrDie());
    }
  }
}

// Whatever else a row has goes with it: lists, structs, dictionaries whose batches differ.
TEST(RowSorter, RowsStayWhole) {
  ASSERT_TRUE(arrow::compute::Initialize().ok());
  auto item = std::make_shared<arrow::StringBuilder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), item);
  arrow::Int64Builder keys;
  for (int64_t i = 0; i < 2000; ++i) {
    ASSERT_TRUE(keys.Append(i * 7919 % 2000).ok());
    ASSERT_TRUE(lists.Append().ok());
    for (int64_t k = 0; k < i % 4; ++k) ASSERT_TRUE(item->Append("item " + std::to_string(i)).ok());
  }
  const auto key = keys.Finish().ValueOrDie();
  const auto st = arrow::StructArray::Make({key}, {arrow::field("k", arrow::int64())}).ValueOrDie();
  const auto rows = WithRow({arrow::field("st", st->type()), arrow::field("l", arrow::list(arrow::utf8()))},
                            {st, lists.Finish().ValueOrDie()});
  const auto once = Sorted(rows, {{{"st", "k"}}}, 1 << 30, 2000);
  for (int64_t i = 0; i < 2000; ++i) {
    const int64_t from = static_cast<const arrow::Int64Array&>(*once->column(2)).Value(i);
    ASSERT_EQ(static_cast<const arrow::Int64Array&>(*st->field(0)).Value(from), i);
    ASSERT_TRUE(once->column(1)->RangeEquals(*rows->column(1), i, i + 1, from));
  }
  for (const uint64_t run_bytes : {5'000u, 40'000u}) {
    for (const int64_t step : {1, 333}) EXPECT_TRUE(Sorted(rows, {{{"st", "k"}}}, run_bytes, step)->Equals(*once));
  }
}

TEST(RowSorter, NothingGivesNothing) {
  const auto rows = WithRow({arrow::field("a", arrow::int64())}, {arrow::MakeEmptyArray(arrow::int64()).ValueOrDie()});
  EXPECT_EQ(Sorted(rows, {{{"a"}}}, 100, 10)->num_rows(), 0);
}

TEST(RowSorter, ColumnsThatCannotSort) {
  const auto schema = arrow::schema({arrow::field("a.b", arrow::int64()), arrow::field("l", arrow::list(arrow::int8())),
                                     arrow::field("st", arrow::struct_({arrow::field("x", arrow::utf8())}))});
  EXPECT_EQ(SortColumn(*schema, "a.b").ValueOrDie(), (FieldPath{{"a.b"}}));
  EXPECT_EQ(SortColumn(*schema, "st.x").ValueOrDie(), (FieldPath{{"st", "x"}}));
  EXPECT_NE(SortColumn(*schema, "st.y").status().message().find("no column 'st.y'"), std::string::npos);
  EXPECT_NE(SortColumn(*schema, "l").status().message().find("no order"), std::string::npos);
}

}  // namespace
}  // namespace pilum
