// How many bytes rows hold, as a function of the rows alone: not of how they are batched, sliced or buffered, so that
// parts roll at the same rows whoever feeds them.
#pragma once

#include <cstdint>

#include <arrow/type_fwd.h>

namespace pilum {

// Slots [begin, begin + n) of the array. Additive over neighbouring ranges.
uint64_t LogicalSize(const arrow::Array& array, int64_t begin, int64_t n);
uint64_t LogicalSize(const arrow::RecordBatch& batch, int64_t begin, int64_t n);  // and at least one byte a row

}  // namespace pilum
