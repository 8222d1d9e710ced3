// Paths into nested columns: which ones a read needs, what they name, and how to step to them. Pure; used by query and
// by implementations of Unit.
#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"
#include "pilum/base/types.h"

namespace pilum {

// Without repeats and without paths that lie inside another path of the list; first appearance decides the order.
std::vector<FieldPath> MinimalPaths(const std::vector<FieldPath>& paths);
// Does reading `have` also read `path`? (`path` or a parent of it is among them.)
bool IsCovered(const FieldPath& path, const std::vector<FieldPath>& have);

// A JSON column as its unit stores it: JSONB, where its own path gives text. Only for columns that Snapshot::has_stored_json.
// The step is none that a column has, and lies inside the column's own path, so that a read of both gives text.
FieldPath StoredJson(FieldPath column);
bool IsStoredJson(const FieldPath& path);
FieldPath WithoutStoredJson(FieldPath path);  // the column

// The field a path names: a step through list<struct> gives the list of that field; nullable if any step is. kNotFound.
Result<std::shared_ptr<arrow::Field>> FieldAt(const arrow::Schema& schema, const FieldPath& path);
// The values a path names, from a batch that may hold fewer children than the whole column. A null struct makes its
// fields null. Zero-copy except for combined validity.
Result<std::shared_ptr<arrow::Array>> ArrayAt(const arrow::RecordBatch& batch, const FieldPath& path,
                                              arrow::MemoryPool* pool);

// What a read of these paths gives: one column a top-level name, structs with just the wanted children in schema order.
Result<std::shared_ptr<arrow::Schema>> PrunedSchema(const arrow::Schema& schema, const std::vector<FieldPath>& paths);
// An array cut down to a type that PrunedSchema made of its own.
Result<std::shared_ptr<arrow::Array>> PrunedArray(const std::shared_ptr<arrow::Array>& array,
                                                  const std::shared_ptr<arrow::DataType>& pruned);

}  // namespace pilum
