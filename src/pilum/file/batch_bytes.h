// How large a batch is, and how many rows fit into one. Called by scan.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace pilum {

// Arrow bytes that rows [offset, offset + length) of `array` would take in buffers of their own: values, offsets,
// bitmaps; the values of a dictionary whole.
uint64_t SliceBytes(const arrow::ArrayData& array, int64_t offset, int64_t length);

// Most rows from `offset`, at most `most`, whose bytes over all arrays are within `bytes`; at least 1.
int64_t RowsThatFit(const std::vector<std::shared_ptr<arrow::Array>>& arrays, int64_t offset, int64_t most,
                    uint64_t bytes);

// The same values with dictionaries, at any depth of structs, cut down to what they use.
Result<std::shared_ptr<arrow::Array>> CompactDictionaries(const std::shared_ptr<arrow::Array>& array,
                                                          arrow::MemoryPool* pool);

}  // namespace pilum
