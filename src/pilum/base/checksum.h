// XXH3-64, seed 0, of bytes in memory: finds damage, not forgery (that is hash.h). Format: docs/formats/checksums.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pilum {

uint64_t Checksum64(const void* data, size_t size);

// The kernels behind it; all give the same number. For the test; Checksum64 chooses once, by CPU.
using ChecksumFn = uint64_t (*)(const void* data, size_t size);
uint64_t Checksum64Scalar(const void* data, size_t size);
ChecksumFn Checksum64Avx2();    // null where the machine or the compiler has none
ChecksumFn Checksum64Avx512();  // the same

}  // namespace pilum
