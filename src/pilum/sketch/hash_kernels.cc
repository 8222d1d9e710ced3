#include "pilum/sketch/hash_kernels.h"

#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 warns of its own AVX-512 headers
#include <immintrin.h>

#include "pilum/sketch/value_hash.h"

namespace pilum {

void HashIntsScalar(const int64_t* values, size_t n, bool is_unsigned, uint64_t* out) {
  if (is_unsigned) {
    for (size_t i = 0; i < n; ++i) out[i] = HashInt(static_cast<Int128>(static_cast<uint64_t>(values[i])));
  } else {
    for (size_t i = 0; i < n; ++i) out[i] = HashInt(values[i]);
  }
}

void HashFloatsScalar(const double* values, size_t n, uint64_t* out) {
  for (size_t i = 0; i < n; ++i) out[i] = HashFloat(values[i]);
}

#define PILUM_AVX512 __attribute__((target("avx512f,avx512dq")))

namespace {

constexpr uint64_t k1 = 0x9E3779B185EBCA87, k2 = 0xC2B2AE3D27D4EB4F, k3 = 0x165667B19E3779F9, k4 = 0x85EBCA77C2B2AE63,
                   k5 = 0x27D4EB2F165667C5;

PILUM_AVX512 inline __m512i Splat(uint64_t v) { return _mm512_set1_epi64(static_cast<int64_t>(v)); }

PILUM_AVX512 inline __m512i Word(__m512i h, __m512i lane) {  // XXH64's step over 8 bytes of the tail
  const __m512i k = _mm512_mullo_epi64(_mm512_rol_epi64(_mm512_mullo_epi64(lane, Splat(k2)), 31), Splat(k1));
  return _mm512_add_epi64(_mm512_mullo_epi64(_mm512_rol_epi64(_mm512_xor_epi64(h, k), 27), Splat(k1)), Splat(k4));
}

PILUM_AVX512 inline __m512i LastByte(__m512i h, __m512i byte) {
  h = _mm512_xor_epi64(h, _mm512_mullo_epi64(byte, Splat(k5)));
  h = _mm512_mullo_epi64(_mm512_rol_epi64(h, 11), Splat(k1));
  h = _mm512_mullo_epi64(_mm512_xor_epi64(h, _mm512_srli_epi64(h, 33)), Splat(k2));
  h = _mm512_mullo_epi64(_mm512_xor_epi64(h, _mm512_srli_epi64(h, 29)), Splat(k3));
  return _mm512_xor_epi64(h, _mm512_srli_epi64(h, 32));
}

// Tag 1 and 16 bytes: the words are (v << 8 | 1) and (sign bytes, top byte of v); the 17th byte is sign.
PILUM_AVX512 void HashInts512(const int64_t* values, size_t n, bool is_unsigned, uint64_t* out) {
  for (size_t i = 0; i < n; i += 8) {
    const __mmask8 m = n - i >= 8 ? 0xFF : static_cast<__mmask8>((1u << (n - i)) - 1);
    const __m512i v = _mm512_maskz_loadu_epi64(m, values + i);
    const __m512i sign = is_unsigned ? _mm512_setzero_si512() : _mm512_srai_epi64(v, 63);
    __m512i h = Word(Splat(k5 + 17), _mm512_or_epi64(_mm512_slli_epi64(v, 8), Splat(1)));
    h = Word(h, _mm512_or_epi64(_mm512_slli_epi64(sign, 8), _mm512_srli_epi64(v, 56)));
    _mm512_mask_storeu_epi64(out + i, m, LastByte(h, _mm512_srli_epi64(sign, 56)));
  }
}

// Tag 2 and 8 bytes of the normal double.
PILUM_AVX512 void HashFloats512(const double* values, size_t n, uint64_t* out) {
  for (size_t i = 0; i < n; i += 8) {
    const __mmask8 m = n - i >= 8 ? 0xFF : static_cast<__mmask8>((1u << (n - i)) - 1);
    const __m512d d = _mm512_maskz_loadu_pd(m, values + i);
    __m512i v = _mm512_castpd_si512(d);
    v = _mm512_mask_mov_epi64(v, _mm512_cmp_pd_mask(d, d, _CMP_UNORD_Q), Splat(0x7FF8000000000000));
    v = _mm512_mask_mov_epi64(v, _mm512_cmp_pd_mask(d, _mm512_setzero_pd(), _CMP_EQ_OQ), _mm512_setzero_si512());
    const __m512i h = Word(Splat(k5 + 9), _mm512_or_epi64(_mm512_slli_epi64(v, 8), Splat(2)));
    _mm512_mask_storeu_epi64(out + i, m, LastByte(h, _mm512_srli_epi64(v, 56)));
  }
}

bool HasAvx512() { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"); }

}  // namespace

void HashInts(const int64_t* values, size_t n, bool is_unsigned, uint64_t* out) {
  static const auto kernel = HasAvx512() ? HashInts512 : HashIntsScalar;
  kernel(values, n, is_unsigned, out);
}

void HashFloats(const double* values, size_t n, uint64_t* out) {
  static const auto kernel = HasAvx512() ? HashFloats512 : HashFloatsScalar;
  kernel(values, n, out);
}

}  // namespace pilum
