// From normal form back to an array: the inverse of ValueAt. Called by query for literals and casts.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "pilum/values/value.h"

namespace pilum {

// One slot a value (nullopt: null). The values' domain must be DomainOf(type) and they must lie in its range; dictionary
// types give an array of their value type, extension types of their storage type.
Result<std::shared_ptr<arrow::Array>> MakeArrayOf(const std::shared_ptr<arrow::DataType>& type,
                                                  const std::vector<std::optional<Value>>& values);

// The type without dictionary and extension around it.
std::shared_ptr<arrow::DataType> PlainType(const std::shared_ptr<arrow::DataType>& type);

// Smallest and greatest integer that a type of Domain::kInt holds.
struct IntRange {
  Int128 min, max;
};
IntRange IntRangeOf(const arrow::DataType& type);

}  // namespace pilum
