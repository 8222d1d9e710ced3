#include "pilum/base/checksum.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wuninitialized"  // in immintrin.h, once inlined
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC push_options
#pragma GCC target("avx2,bmi2,avx512f")
#define XXH_INLINE_ALL
#define XXH_VECTOR 3  // XXH_AVX512
#include <xxhash.h>

namespace pilum {
namespace {
uint64_t Run(const void* data, size_t size) { return XXH3_64bits(data, size); }
}  // namespace
}  // namespace pilum
#pragma GCC pop_options

namespace pilum {
ChecksumFn Checksum64Avx512() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("avx512f")
             ? &Run
             : nullptr;
}
}  // namespace pilum

#else
namespace pilum {
ChecksumFn Checksum64Avx512() { return nullptr; }
}  // namespace pilum
#endif
