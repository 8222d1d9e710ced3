// Eight BLAKE3 inputs at a time: lane i of every vector belongs to input i.
#include "pilum/base/hash_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define PILUM_AVX2 __attribute__((target("avx2")))

namespace pilum::blake3 {
namespace {

PILUM_AVX2 inline __m256i Rotr16(__m256i x) {
  return _mm256_shuffle_epi8(x, _mm256_set_epi8(13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2, 13, 12, 15, 14, 9,
                                                8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2));
}
PILUM_AVX2 inline __m256i Rotr8(__m256i x) {
  return _mm256_shuffle_epi8(x, _mm256_set_epi8(12, 15, 14, 13, 8, 11, 10, 9, 4, 7, 6, 5, 0, 3, 2, 1, 12, 15, 14, 13, 8,
                                                11, 10, 9, 4, 7, 6, 5, 0, 3, 2, 1));
}
PILUM_AVX2 inline __m256i Rotr12(__m256i x) {
  return _mm256_or_si256(_mm256_srli_epi32(x, 12), _mm256_slli_epi32(x, 20));
}
PILUM_AVX2 inline __m256i Rotr7(__m256i x) {
  return _mm256_or_si256(_mm256_srli_epi32(x, 7), _mm256_slli_epi32(x, 25));
}

PILUM_AVX2 inline void Mix(__m256i* v, int a, int b, int c, int d, __m256i x, __m256i y) {
  v[a] = _mm256_add_epi32(_mm256_add_epi32(v[a], v[b]), x);
  v[d] = Rotr16(_mm256_xor_si256(v[d], v[a]));
  v[c] = _mm256_add_epi32(v[c], v[d]);
  v[b] = Rotr12(_mm256_xor_si256(v[b], v[c]));
  v[a] = _mm256_add_epi32(_mm256_add_epi32(v[a], v[b]), y);
  v[d] = Rotr8(_mm256_xor_si256(v[d], v[a]));
  v[c] = _mm256_add_epi32(v[c], v[d]);
  v[b] = Rotr7(_mm256_xor_si256(v[b], v[c]));
}

PILUM_AVX2 inline void Transpose8(__m256i r[8]) {
  __m256i t[8], u[8];
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    u[4 * i + 0] = _mm256_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    u[4 * i + 1] = _mm256_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    u[4 * i + 2] = _mm256_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    u[4 * i + 3] = _mm256_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm256_permute2x128_si256(u[i], u[i + 4], 0x20);
    r[i + 4] = _mm256_permute2x128_si256(u[i], u[i + 4], 0x31);
  }
}

PILUM_AVX2 void Hash8(const uint8_t* const* inputs, size_t blocks, uint64_t counter, bool count_up, uint32_t flags,
                      uint32_t first_flag, uint32_t last_flag, uint32_t* out) {
  __m256i cv[8];
  for (int i = 0; i < 8; ++i) cv[i] = _mm256_set1_epi32(static_cast<int>(kIv[i]));
  alignas(32) uint32_t lo[8], hi[8];
  for (int i = 0; i < 8; ++i) {
    const uint64_t c = count_up ? counter + i : counter;
    lo[i] = static_cast<uint32_t>(c);
    hi[i] = static_cast<uint32_t>(c >> 32);
  }
  for (size_t b = 0; b < blocks; ++b) {
    __m256i m[16];
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < 8; ++i) {
        m[half * 8 + i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(inputs[i] + b * 64 + half * 32));
      }
      Transpose8(m + half * 8);
    }
    const uint32_t f = flags | (b == 0 ? first_flag : 0) | (b + 1 == blocks ? last_flag : 0);
    __m256i v[16];
    for (int i = 0; i < 8; ++i) v[i] = cv[i];
    for (int i = 0; i < 4; ++i) v[8 + i] = _mm256_set1_epi32(static_cast<int>(kIv[i]));
    v[12] = _mm256_load_si256(reinterpret_cast<const __m256i*>(lo));
    v[13] = _mm256_load_si256(reinterpret_cast<const __m256i*>(hi));
    v[14] = _mm256_set1_epi32(64);
    v[15] = _mm256_set1_epi32(static_cast<int>(f));
#pragma GCC unroll 7
    for (int r = 0; r < 7; ++r) {
      const uint8_t* s = kSchedule[r];
      Mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
      Mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
      Mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
      Mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
      Mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
      Mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
      Mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
      Mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; ++i) cv[i] = _mm256_xor_si256(v[i], v[i + 8]);
  }
  Transpose8(cv);
  for (int i = 0; i < 8; ++i) _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i * 8), cv[i]);
}

}  // namespace

void HashManyAvx2(const uint8_t* const* inputs, size_t count, size_t blocks, uint64_t counter, bool count_up,
                  uint32_t flags, uint32_t first_flag, uint32_t last_flag, uint32_t* out) {
  while (count >= 8) {
    Hash8(inputs, blocks, counter, count_up, flags, first_flag, last_flag, out);
    inputs += 8;
    count -= 8;
    if (count_up) counter += 8;
    out += 64;
  }
  HashManyPortable(inputs, count, blocks, counter, count_up, flags, first_flag, last_flag, out);
}

}  // namespace pilum::blake3

#endif
