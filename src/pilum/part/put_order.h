// In which order put and compaction write rows. Used inside part/ only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pilum/index/dataset_spec.h"
#include "pilum/part/row_sorter.h"
#include "pilum/part/store_view.h"

namespace pilum {

struct PutOrder {
  std::vector<FieldPath> columns;   // empty: as the rows come
  std::vector<std::string> names;   // the same, as people write them
  std::optional<FieldPath> day_of;  // the first of them, where it is a time; of compaction: the first that is

  // `names`: as in PutOptions::sort.
  static Result<PutOrder> Of(const arrow::Schema& schema, const std::vector<std::string>& names,
                             const std::optional<DatasetSpec>& spec);
  // Of compaction: owner, then time, as far as dataset.toml names them and the schema has them with an order.
  static PutOrder OfMerged(const arrow::Schema& schema, const std::optional<DatasetSpec>& spec);

  // Under which id the rows of a batch are known: sorted rows have other numbers than those of the input. kUsage: the batch
  // was put in another order before.
  Result<std::string> BatchId(const std::string& id, const StoreView& view) const;
};

// All rows of the input, gathered.
Result<std::unique_ptr<RowSorter>> SortAll(arrow::RecordBatchReader& input, const std::vector<FieldPath>& columns,
                                           ReadContext& ctx);

}  // namespace pilum
