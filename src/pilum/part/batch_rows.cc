#include "pilum/part/batch_rows.h"

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/part/stands_for.h"
#include "pilum/part/union_schema.h"

namespace pilum {

std::optional<PartBatch> BatchOf(const arrow::Schema& schema, uint64_t num_rows) {
  const auto& metadata = schema.metadata();
  if (!metadata) return std::nullopt;
  std::string id = metadata->Get(kBatchIdKey).ValueOr("");
  const auto first = ParseNumber(metadata->Get(kBatchRowKey).ValueOr(""));
  if (id.empty() || !first || *first > ~uint64_t{0} - num_rows) return std::nullopt;
  return PartBatch{std::move(id), {*first, *first + num_rows}};
}

RowSet TakeRows(const PartBatch& batch, BatchRows* held) {
  RowSet& of_batch = (*held)[batch.id];
  const RowSet all = RowSet::Range(batch.rows.begin, batch.rows.end);
  const RowSet fresh = all.Minus(of_batch);
  of_batch = of_batch.Union(all);
  return fresh.Slice(batch.rows.begin, batch.rows.end);
}

void AddBatches(const BatchRows& from, BatchRows* to) {
  for (const auto& [id, rows] : from) (*to)[id] = (*to)[id].Union(rows);
}

}  // namespace pilum
