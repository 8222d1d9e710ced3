// Filters asked about a whole array: one answer a row, null for null.
#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"
#include "pilum/sketch/array_hash.h"

namespace pilum {

// f(hashes, out): out[i] is 1 where hash i (without seed) may be in the filter.
using ProbeFunction = std::function<void(std::span<const uint64_t> hashes, uint8_t* out)>;
Result<std::shared_ptr<arrow::BooleanArray>> ProbeArray(const arrow::Array& array, const ProbeFunction& f);

// F: any of BloomFilter, CuckooFilter, FuseFilter.
template <typename F>
Result<std::shared_ptr<arrow::BooleanArray>> MayContainEach(const F& filter, const arrow::Array& array) {
  return ProbeArray(array, [&](std::span<const uint64_t> hashes, uint8_t* out) { filter.MayContain(hashes, out); });
}

}  // namespace pilum
