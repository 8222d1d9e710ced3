// Rows of named batches: which of an input's rows a part holds, and which of a part's rows count when others hold them
// too (docs/formats/part_store.md, "Batch id"). Used inside part/ only.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <arrow/type_fwd.h>

#include "pilum/base/row_set.h"

namespace pilum {

using BatchRows = std::map<std::string, RowSet>;  // by batch id: rows of its input

struct PartBatch {
  std::string id;
  RowRange rows;  // of the input; row r of the part is row rows.begin + r
};

// Of a part that put wrote, from its schema's metadata; nullopt: it is of no batch.
std::optional<PartBatch> BatchOf(const arrow::Schema& schema, uint64_t num_rows);

// The rows of a part of `batch` that no other holds yet, by the part's own numbers; `held` then has them.
RowSet TakeRows(const PartBatch& batch, BatchRows* held);

void AddBatches(const BatchRows& from, BatchRows* to);

}  // namespace pilum
