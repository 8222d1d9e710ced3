// Many values to hashes at once: the hashes of value_hash.h, eight lanes at a time where the machine has AVX-512.
// Called by array_hash.cc. `out` may be any memory of n words. The scalar twins are the reference; a test compares them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pilum {

// is_unsigned: the words are uint64.
void HashInts(const int64_t* values, size_t n, bool is_unsigned, uint64_t* out);
void HashFloats(const double* values, size_t n, uint64_t* out);

void HashIntsScalar(const int64_t* values, size_t n, bool is_unsigned, uint64_t* out);
void HashFloatsScalar(const double* values, size_t n, uint64_t* out);

}  // namespace pilum
