// The smallest type that holds the values of two, and arrays brought to it. What "differences widen" means for the
// schema of a dataset (docs/formats/part_store.md, "Schema"). Pure; no I/O.
#pragma once

#include <memory>
#include <optional>

#include <arrow/type_fwd.h>

#include "pilum/index/index.h"

namespace pilum {

// Null: no type holds both; the two clash. Commutative; the same for any order of three up to clashes.
std::shared_ptr<arrow::DataType> CommonType(const std::shared_ptr<arrow::DataType>& a,
                                            const std::shared_ptr<arrow::DataType>& b);
// The same for fields of one name: nullable if either is, metadata of `a`.
std::shared_ptr<arrow::Field> CommonField(const std::shared_ptr<arrow::Field>& a,
                                          const std::shared_ptr<arrow::Field>& b);

// `array` as `type`, which is a common type of its own type and others (with struct fields perhaps left out or missing:
// missing ones are NULL). Exact: a value that does not fit (a timestamp in seconds too far for nanoseconds) is an
// error.
Result<std::shared_ptr<arrow::Array>> WidenArray(const std::shared_ptr<arrow::Array>& array,
                                                 const std::shared_ptr<arrow::DataType>& type, arrow::MemoryPool* pool);

// The set of values of type `from` whose widened forms lie in `set`, a set of values of type `to`. Exactly that set.
// nullopt: this cannot be said; the index cannot help.
std::optional<ValueSet> NarrowSet(const ValueSet& set, const arrow::DataType& to, const arrow::DataType& from);

}  // namespace pilum
