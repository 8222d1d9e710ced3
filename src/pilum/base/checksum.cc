#include "pilum/base/checksum.h"

#define XXH_INLINE_ALL
#define XXH_VECTOR 0  // XXH_SCALAR; the vector kernels are in checksum_avx2.cc and checksum_avx512.cc
#include <xxhash.h>

namespace pilum {

uint64_t Checksum64Scalar(const void* data, size_t size) { return XXH3_64bits(data, size); }

uint64_t Checksum64(const void* data, size_t size) {
  static const ChecksumFn kBest = [] {
    if (ChecksumFn f = Checksum64Avx512()) return f;
    if (ChecksumFn f = Checksum64Avx2()) return f;
    return &Checksum64Scalar;
  }();
  return kBest(data, size);
}

}  // namespace pilum
