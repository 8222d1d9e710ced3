// The values of any Arrow array as their hashes (value_hash.h), in blocks: nulls skipped, dictionary and extension looked
// through, so that 1 as int8, as int64 or in a dictionary is one hash. Every sketch of hashed values is fed through here.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace pilum {

struct HashBlock {
  static constexpr size_t kMaxRows = 1024;
  std::span<const uint64_t> hashes;  // of the values that are not null, in row order; at most kMaxRows
  const uint16_t* rows;              // hash i is of row first + rows[i]; nullptr: of row first + i
  int64_t first;
  int64_t row(size_t i) const { return first + (rows == nullptr ? static_cast<int64_t>(i) : rows[i]); }
};

// How a seed enters: one value hash serves sketches of any seed. Seed 0 leaves the hash as it is.
uint64_t WithSeed(uint64_t hash, uint64_t seed);

// Calls f with each block. kUsage for types that have no normal form, kCorrupt for a dictionary index out of range
// (blocks before it have been given by then).
Status VisitHashes(const arrow::Array& array, uint64_t seed, const std::function<void(const HashBlock&)>& f);

}  // namespace pilum
