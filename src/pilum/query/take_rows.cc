#include "pilum/query/take_rows.h"

#include <algorithm>

#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/compute/initialize.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include "pilum/base/for_each.h"
#include "pilum/query/project.h"
#include "pilum/query/select/select.h"
#include "pilum/source/field_path.h"

namespace pilum {
namespace {

// The wanted rows of one unit, once each and in order.
struct UnitRows {
  const Unit* unit;
  RowSet rows;
};

std::vector<UnitRows> ByUnit(const Snapshot& snapshot, const std::vector<uint64_t>& sorted) {
  std::vector<UnitRows> out;
  uint64_t first = 0;
  auto at = sorted.begin();
  for (const auto& unit : snapshot.units()) {
    const uint64_t end = first + unit->num_rows();
    UnitRows own{unit.get(), {}};
    for (; at != sorted.end() && *at < end; ++at) own.rows.Append(*at - first, *at - first + 1);
    if (!own.rows.empty()) out.push_back(std::move(own));
    first = end;
  }
  return out;
}

Result<std::shared_ptr<arrow::ChunkedArray>> InOrder(const std::shared_ptr<arrow::ChunkedArray>& column,
                                                     const std::shared_ptr<arrow::Array>& order,
                                                     arrow::MemoryPool* pool) {
  arrow::compute::ExecContext exec(pool);
  PILUM_ASSIGN_OR_RETURN(arrow::Datum whole,
                         arrow::compute::Take(column, order, arrow::compute::TakeOptions::Defaults(), &exec));
  const arrow::ArrayVector& chunks = whole.chunked_array()->chunks();
  PILUM_ASSIGN_OR_RETURN(
      auto one, chunks.empty() ? arrow::MakeEmptyArray(column->type(), pool) : arrow::Concatenate(chunks, pool));
  return std::make_shared<arrow::ChunkedArray>(std::move(one));
}

// A table as the plain query that a SELECT stands on.
class TableResult final : public QueryResult {
 public:
  explicit TableResult(std::shared_ptr<arrow::Table> table) : table_(std::move(table)), reader_(*table_) {}
  const std::shared_ptr<arrow::Schema>& schema() const override { return table_->schema(); }
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override { return reader_.Next(); }
  const QueryCounts& counts() const override { return counts_; }
  std::string Explain() const override { return "rows by number"; }

 private:
  const std::shared_ptr<arrow::Table> table_;
  arrow::TableBatchReader reader_;
  const QueryCounts counts_;
};
// Units that are read at once.
int Threads(const Snapshot& snapshot, const ReadContext& ctx) {
  const ReadCost* cost = snapshot.ahead();
  return cost ? std::max(ctx.threads, cost->parallel) : 1;
}

}  // namespace

Result<std::shared_ptr<arrow::Table>> TakeRows(const Snapshot& snapshot, const std::vector<FieldPath>& columns,
                                               const std::vector<std::string>& names, const std::vector<uint64_t>& rows,
                                               const ReadContext& given) {
  ReadContext ctx = given;
  uint64_t num_rows = 0;
  for (const auto& unit : snapshot.units()) num_rows += unit->num_rows();
  std::vector<uint64_t> sorted = rows;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (!sorted.empty() && sorted.back() >= num_rows) {
    return UsageError("{}: row {} is out of range: there are {}", snapshot.name(), sorted.back(), num_rows);
  }
  BoundQuery shape;
  shape.columns = columns;
  shape.output_names = names;
  PILUM_ASSIGN_OR_RETURN(auto schema, OutputSchema(*snapshot.schema(), shape));
  const std::vector<UnitRows> units = ByUnit(snapshot, sorted);
  std::vector<std::vector<std::shared_ptr<arrow::RecordBatch>>> taken(units.size());
  const std::vector<FieldPath> minimal = MinimalPaths(columns);
  PILUM_RETURN_NOT_OK(ForEach(units.size(), Threads(snapshot, ctx), [&](size_t i) -> Status {
    PILUM_RETURN_NOT_OK(ctx.Check());
    PILUM_ASSIGN_OR_RETURN(taken[i], units[i].unit->Take(minimal, units[i].rows, ctx));
    for (auto& batch : taken[i]) {
      PILUM_ASSIGN_OR_RETURN(batch, Project(*batch, columns, schema, ctx.memory_pool()));
    }
    return Status::OK();
  }));
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  for (auto& own : taken) std::move(own.begin(), own.end(), std::back_inserter(batches));
  PILUM_ASSIGN_OR_RETURN(auto read, arrow::Table::FromRecordBatches(schema, std::move(batches)));
  const bool one_chunk = read->num_columns() == 0 || read->column(0)->num_chunks() == 1;
  if (!rows.empty() && sorted.size() == rows.size() && std::is_sorted(rows.begin(), rows.end())) {
    return one_chunk ? Result<std::shared_ptr<arrow::Table>>(read) : read->CombineChunks(ctx.memory_pool());
  }
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  arrow::UInt64Builder order(ctx.memory_pool());
  PILUM_RETURN_NOT_OK(order.Reserve(static_cast<int64_t>(rows.size())));
  for (const uint64_t row : rows) {
    order.UnsafeAppend(static_cast<uint64_t>(std::lower_bound(sorted.begin(), sorted.end(), row) - sorted.begin()));
  }
  PILUM_ASSIGN_OR_RETURN(auto indices, order.Finish());
  std::vector<std::shared_ptr<arrow::ChunkedArray>> out;
  for (const auto& column : read->columns()) {
    PILUM_ASSIGN_OR_RETURN(auto whole, InOrder(column, indices, ctx.memory_pool()));
    out.push_back(std::move(whole));
  }
  return arrow::Table::Make(schema, std::move(out), static_cast<int64_t>(rows.size()));
}

Result<std::shared_ptr<arrow::Table>> TakeRows(const Snapshot& snapshot, const BoundQuery& query,
                                               const std::vector<uint64_t>& rows, const ReadContext& ctx) {
  if (query.where || query.limit || query.offset > 0 || (query.tail && TakesAllRows(*query.tail))) {
    return UsageError("{}: rows by number are taken as they are: expressions over columns, and no more",
                      snapshot.name());
  }
  if (query.columns.empty()) return UsageError("{}: rows by number: name at least one column", snapshot.name());
  PILUM_ASSIGN_OR_RETURN(auto table, TakeRows(snapshot, query.columns, query.output_names, rows, ctx));
  if (!query.tail) return table;
  auto result =
      RunSelect(std::make_unique<TableResult>(std::move(table)), query.tail, snapshot.name(), {}, nullptr, {}, ctx);
  arrow::RecordBatchVector batches;
  while (true) {
    PILUM_ASSIGN_OR_RETURN(auto batch, result->Next());
    if (!batch) return arrow::Table::FromRecordBatches(result->schema(), std::move(batches));
    batches.push_back(std::move(batch));
  }
}

}  // namespace pilum
