// The values of an Arrow array as numbers, in blocks; nulls skipped, dictionary and extension looked through. For sketches
// of quantities: t-digest, KLL, moments.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace pilum {

inline constexpr size_t kNumberBlock = 1024;

// Integers, times, booleans, floats and decimals as doubles: rounded to nearest where they have more than 53 bits; -0.0
// comes as 0.0, every NaN as one. kUsage for other types.
Status VisitDoubles(const arrow::Array& array, const std::function<void(std::span<const double>)>& f);

// Integers, times and booleans as they are. kUsage for other types. is_unsigned: the words are uint64.
Status VisitInts(const arrow::Array& array, const std::function<Status(std::span<const int64_t>, bool is_unsigned)>& f);

// The array itself for most types; dictionary decoded, extension taken off.
Result<std::shared_ptr<arrow::Array>> PlainArray(const arrow::Array& array);

}  // namespace pilum
