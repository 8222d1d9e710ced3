#include "pilum/encoding/bits.h"

#include <immintrin.h>

#include <algorithm>

namespace pilum::bits {
namespace {

uint64_t Low(uint64_t n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; }

#define PILUM_INLINE inline __attribute__((always_inline))
#define PILUM_BMI2 __attribute__((target("popcnt,bmi,bmi2")))
#define PILUM_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vpopcntdq,popcnt,bmi,bmi2")))

template <typename T>
PILUM_INLINE uint64_t OffsetsBody(const uint64_t* starts, const uint64_t* visible, uint64_t num_words, T* out) {
  uint64_t k = 0, seen = 0;
  for (uint64_t w = 0; w < num_words; ++w) {
    const uint64_t v = visible ? visible[w] : ~uint64_t{0};
    for (uint64_t s = starts[w]; s != 0; s &= s - 1) {
      out[k++] = static_cast<T>(seen + static_cast<uint64_t>(__builtin_popcountll(v & (s ^ (s - 1)) >> 1)));
    }
    seen += static_cast<uint64_t>(__builtin_popcountll(v));
  }
  return k;
}

template <typename T>
uint64_t OffsetsBase(const uint64_t* starts, const uint64_t* visible, uint64_t num_words, T* out) {
  return OffsetsBody(starts, visible, num_words, out);
}
template <typename T>
PILUM_BMI2 uint64_t OffsetsBmi2(const uint64_t* starts, const uint64_t* visible, uint64_t num_words, T* out) {
  return OffsetsBody(starts, visible, num_words, out);
}

// Sixteen events a step: each lane counts the visible events below it, those of starts are squeezed together.
template <typename T>
PILUM_AVX512 uint64_t OffsetsAvx512(const uint64_t* starts, const uint64_t* visible, uint64_t num_words, T* out) {
  const __m512i below = _mm512_setr_epi32(0x0, 0x1, 0x3, 0x7, 0xf, 0x1f, 0x3f, 0x7f, 0xff, 0x1ff, 0x3ff, 0x7ff, 0xfff,
                                          0x1fff, 0x3fff, 0x7fff);
  uint64_t seen = 0;
  T* o = out;
  for (uint64_t w = 0; w < num_words; ++w) {
    const uint64_t v = visible ? visible[w] : ~uint64_t{0}, s = starts[w];
    for (int i = 0; i < 64; i += 16) {
      const auto part = static_cast<uint16_t>(v >> i);
      const auto from = static_cast<__mmask16>(s >> i);
      const __m512i lanes = _mm512_popcnt_epi32(_mm512_and_si512(_mm512_set1_epi32(part), below));
      if constexpr (sizeof(T) == 4) {
        const __m512i at = _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int>(seen)));
        _mm512_storeu_si512(o, _mm512_maskz_compress_epi32(from, at));
      } else {
        const __m512i base = _mm512_set1_epi64(static_cast<int64_t>(seen)),
                      few = _mm512_maskz_compress_epi32(from, lanes);
        const __m512i low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(few));
        const __m512i high = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(few, 1));
        _mm512_storeu_si512(o, _mm512_add_epi64(low, base));
        _mm512_storeu_si512(o + 8, _mm512_add_epi64(high, base));
      }
      o += __builtin_popcount(from);
      seen += static_cast<uint64_t>(__builtin_popcount(part));
    }
  }
  return static_cast<uint64_t>(o - out);
}

bool HasBmi2() {
  static const bool has =
      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
  return has;
}
bool HasAvx512() {
  static const bool has = HasBmi2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vpopcntdq");
  return has;
}

template <typename T>
uint64_t OffsetsOf(const uint64_t* starts, const uint64_t* visible, uint64_t num_words, T* out, Kernel kernel) {
  if (kernel == Kernel::kScalar) return OffsetsBase(starts, visible, num_words, out);
  if (HasAvx512()) return OffsetsAvx512(starts, visible, num_words, out);
  if (HasBmi2()) return OffsetsBmi2(starts, visible, num_words, out);
  return OffsetsBase(starts, visible, num_words, out);
}

uint64_t ExtractBase(uint64_t word, uint64_t keep) {
  uint64_t out = 0;
  for (int i = 0; keep != 0; keep &= keep - 1, ++i) out |= (word >> __builtin_ctzll(keep) & 1) << i;
  return out;
}
PILUM_BMI2 uint64_t ExtractBmi2(uint64_t word, uint64_t keep) { return _pext_u64(word, keep); }

inline __attribute__((always_inline)) uint64_t CountWords(const uint64_t* words, uint64_t from, uint64_t to) {
  uint64_t n = 0;
  for (uint64_t w = from / 64; w * 64 < to; ++w) {
    uint64_t v = words[w];
    if (w == from / 64) v &= ~Low(from % 64);
    if (to - w * 64 < 64) v &= Low(to % 64);
    n += static_cast<uint64_t>(__builtin_popcountll(v));
  }
  return n;
}

__attribute__((target("popcnt"))) uint64_t CountPopcnt(const uint64_t* words, uint64_t from, uint64_t to) {
  return CountWords(words, from, to);
}

}  // namespace

uint64_t Count(const uint64_t* words, uint64_t from, uint64_t to) {
  static const bool popcnt = __builtin_cpu_supports("popcnt");
  return popcnt ? CountPopcnt(words, from, to) : CountWords(words, from, to);
}

uint64_t Select(const uint64_t* words, uint64_t i, uint64_t* word, uint64_t* before) {
  for (;; ++*word) {
    const auto here = static_cast<uint64_t>(__builtin_popcountll(words[*word]));
    if (i < *before + here) break;
    *before += here;
  }
  uint64_t w = words[*word];
  for (uint64_t k = *before; k < i; ++k) w &= w - 1;
  return *word * 64 + static_cast<uint64_t>(__builtin_ctzll(w));
}

void Append(std::vector<uint64_t>* to, uint64_t at, const uint64_t* from, uint64_t first, uint64_t n) {
  to->resize(Words(at + n));
  uint64_t* out = to->data();
  for (uint64_t done = 0; done < n;) {  // a word of the source at a time
    const uint64_t bit = (first + done) % 64, take = std::min(64 - bit, n - done);
    const uint64_t v = from[(first + done) / 64] >> bit & Low(take), place = (at + done) % 64;
    uint64_t* word = out + (at + done) / 64;
    if (place == 0) *word = 0;
    *word |= v << place;
    if (place + take > 64) word[1] = v >> (64 - place);
    done += take;
  }
}

uint64_t Compress(const uint64_t* words, const uint64_t* keep, uint64_t num_words, uint64_t* out, Kernel kernel) {
  const bool fast = kernel == Kernel::kBest && HasBmi2();
  uint64_t n = 0, last = 0;
  for (uint64_t w = 0; w < num_words; ++w) {
    const uint64_t v = fast ? ExtractBmi2(words[w], keep[w]) : ExtractBase(words[w], keep[w]);
    const uint64_t count = static_cast<uint64_t>(__builtin_popcountll(keep[w])), place = n % 64;
    last |= v << place;
    n += count;
    if (place + count < 64) continue;
    *out++ = last;
    last = place == 0 ? 0 : v >> (64 - place);
  }
  if (n % 64) *out = last;
  return n;
}

uint64_t Offsets(const uint64_t* starts, const uint64_t* visible, uint64_t num_words, int32_t* out, Kernel kernel) {
  return OffsetsOf(starts, visible, num_words, out, kernel);
}
uint64_t Offsets(const uint64_t* starts, const uint64_t* visible, uint64_t num_words, int64_t* out, Kernel kernel) {
  return OffsetsOf(starts, visible, num_words, out, kernel);
}

// Bit r of 64 words of 16 bits is a run of 64 values: the words' low bytes hold runs 0, 2, .. 14, the high ones 1, 3, ..
void Unpack1024(const uint8_t* in, uint64_t* out) {
  __m128i low[4], high[4];
  const __m128i mask = _mm_set1_epi16(0xff);
  for (int i = 0; i < 4; ++i) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i * 32));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i * 32 + 16));
    low[i] = _mm_packus_epi16(_mm_and_si128(a, mask), _mm_and_si128(b, mask));
    high[i] = _mm_packus_epi16(_mm_srli_epi16(a, 8), _mm_srli_epi16(b, 8));
  }
  for (int bit = 7; bit >= 0; --bit) {
    uint64_t even = 0, odd = 0;
    for (int i = 0; i < 4; ++i) {
      even |= static_cast<uint64_t>(static_cast<uint16_t>(_mm_movemask_epi8(low[i]))) << (16 * i);
      odd |= static_cast<uint64_t>(static_cast<uint16_t>(_mm_movemask_epi8(high[i]))) << (16 * i);
      low[i] = _mm_add_epi8(low[i], low[i]);
      high[i] = _mm_add_epi8(high[i], high[i]);
    }
    out[2 * bit] = even;
    out[2 * bit + 1] = odd;
  }
}

}  // namespace pilum::bits
