// Aggregates of all rows, from what .stats sidecars say: exact counts and extremes, and the sketches of the approx_ ones.
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/query/select/aggregate.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

Result<std::shared_ptr<arrow::Array>> CountOfRows(const Snapshot& snapshot) {
  Int128 rows = 0;
  for (const auto& unit : snapshot.units()) rows += unit->num_rows();
  return MakeArrayOf(arrow::int64(), {Value::Int(rows)});
}

bool CouldBeKnown(const Aggregate& a) {
  using Kind = Aggregate::Kind;
  if (!a.argument) return true;
  if (!a.argument->column() || a.argument->through_list()) return false;
  switch (a.kind) {
    case Kind::kCount: return !a.distinct;
    case Kind::kMin:
    case Kind::kMax:
    case Kind::kApproxDistinct: return true;
    case Kind::kApproxPercentile:
    case Kind::kApproxTopK: return !a.distinct;
    default: return false;
  }
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> GroupFromStats(const SelectTail& tail, const Snapshot& snapshot,
                                                           ReadContext& ctx) {
  if (!std::all_of(tail.aggregates.begin(), tail.aggregates.end(), CouldBeKnown)) return nullptr;
  std::map<FieldPath, ColumnStats> columns;
  arrow::ArrayVector answers;
  for (const Aggregate& a : tail.aggregates) {
    std::shared_ptr<arrow::Array> answer;
    if (!a.argument) {
      PILUM_ASSIGN_OR_RETURN(answer, CountOfRows(snapshot));
    } else {
      const FieldPath& path = *a.argument->column();
      if (!columns.count(path)) {
        PILUM_ASSIGN_OR_RETURN(auto stats, FoldStats(snapshot, path, ctx));
        if (!stats) return nullptr;
        columns.emplace(path, *std::move(stats));
      }
      PILUM_ASSIGN_OR_RETURN(answer, AnswerFromStats(a, columns.at(path)));
    }
    if (!answer) return nullptr;
    answers.push_back(std::move(answer));
  }
  return arrow::RecordBatch::Make(tail.group_schema, 1, std::move(answers));
}

}  // namespace pilum
