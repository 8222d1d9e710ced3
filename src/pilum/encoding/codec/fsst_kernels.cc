#include "pilum/encoding/codec/fsst_kernels.h"

#include <immintrin.h>

#include <array>

namespace pilum::codec {
namespace {

constexpr uint64_t kEven = 0x5555555555555555;

// Which of the escape bytes `e` really escape: an escape may itself be escaped. `carry`: the first byte is.
// In a run of them each second one counts, from its first on.
uint64_t RealEscapes(uint64_t e, bool carry) {
  e &= ~static_cast<uint64_t>(carry);
  const uint64_t starts = e & ~(e << 1);
  const uint64_t even_runs = e & ~(e + (starts & kEven));  // the sum clears just the runs that start at even places
  return (even_runs & kEven) | ((e ^ even_runs) & ~kEven);
}

// Interleaving works within the four 128-bit lanes: lane i's group k of 16 / width codes goes to lane i of result k.
// This order of 16-bit words lays the codes out so that the results hold them in order.
template <int kWidth>
constexpr std::array<uint16_t, 32> LaneOrder() {
  constexpr int kWords = 8 / kWidth;
  std::array<uint16_t, 32> order{};
  for (int lane = 0; lane < 4; ++lane) {
    for (int k = 0; k < kWidth; ++k) {
      for (int h = 0; h < kWords; ++h)
        order[static_cast<size_t>(8 * lane + kWords * k + h)] = static_cast<uint16_t>(kWords * (4 * k + lane) + h);
    }
  }
  return order;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12's own intrinsics
#pragma GCC diagnostic ignored "-Wuninitialized"
#define PILUM_VBMI2 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,popcnt,bmi,bmi2")))

// v[k]: the k-th bytes of 64 codes -> v[k]: all bytes of the k-th 64 / kWidth codes.
template <int kWidth>
PILUM_VBMI2 inline __attribute__((always_inline)) void Interleave(__m512i* v) {
  __m512i a[kWidth];
#pragma GCC unroll 8
  for (int i = 0; i < kWidth; i += 2) {
    a[i] = _mm512_unpacklo_epi8(v[i], v[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi8(v[i], v[i + 1]);
  }
  if constexpr (kWidth == 2) {
    v[0] = a[0], v[1] = a[1];
    return;
  } else {
    __m512i b[kWidth];
#pragma GCC unroll 8
    for (int i = 0; i < kWidth; i += 4) {
#pragma GCC unroll 8
      for (int half = 0; half < 2; ++half) {
        b[i + 2 * half] = _mm512_unpacklo_epi16(a[i + half], a[i + 2 + half]);
        b[i + 2 * half + 1] = _mm512_unpackhi_epi16(a[i + half], a[i + 2 + half]);
      }
    }
    if constexpr (kWidth == 4) {
#pragma GCC unroll 8
      for (int i = 0; i < 4; ++i) v[i] = b[i];
    } else {
#pragma GCC unroll 8
      for (int i = 0; i < 4; ++i) {
        v[2 * i] = _mm512_unpacklo_epi32(b[i], b[i + 4]);
        v[2 * i + 1] = _mm512_unpackhi_epi32(b[i], b[i + 4]);
      }
    }
  }
}

// A literal may be the filler itself: the bytes to be kept all the same.
template <int kWidth>
PILUM_VBMI2 __attribute__((noinline)) void AsIs(__m512i literals, uint64_t* keep) {
  __m512i l[kWidth] = {literals};
  for (int k = 1; k < kWidth; ++k) l[k] = _mm512_setzero_si512();
  Interleave<kWidth>(l);
  for (int k = 0; k < kWidth; ++k) keep[k] = _mm512_movepi8_mask(l[k]);
}

// The k-th bytes of the symbols of 64 codes. `upper`: those above 127.
PILUM_VBMI2 inline __attribute__((always_inline)) __m512i Look(const FsstPlanes& t, int k, __m512i codes,
                                                               __mmask64 upper) {
  const uint8_t* plane = t.bytes[k];
  const __m512i low = _mm512_permutex2var_epi8(_mm512_load_si512(plane), codes, _mm512_load_si512(plane + 64));
  const __m512i up = _mm512_permutex2var_epi8(_mm512_load_si512(plane + 128), codes, _mm512_load_si512(plane + 192));
  return _mm512_mask_mov_epi8(low, upper, up);
}

// Writes the symbols, of at most kWidth bytes, of 64 codes; `literal` bits are bytes as they are. Returns the end.
template <int kWidth>
PILUM_VBMI2 inline __attribute__((always_inline)) uint8_t* Emit(const FsstPlanes& t, __m512i codes, uint64_t literal,
                                                                uint8_t* out, uint8_t* o, uint32_t* begin,
                                                                uint64_t* used) {
  static constexpr std::array<uint16_t, 32> kOrder = LaneOrder<kWidth>();
  const __m512i order = _mm512_loadu_si512(kOrder.data()), filler = _mm512_set1_epi8(static_cast<char>(t.filler));
  const __m512i x = _mm512_permutexvar_epi16(order, codes);
  const __mmask64 upper = _mm512_movepi8_mask(x);
  __m512i v[kWidth];
#pragma GCC unroll 8
  for (int k = 0; k < kWidth; ++k) v[k] = Look(t, k, x, upper);
  uint64_t as_is[kWidth] = {};
  if (literal != 0) {
    const __m512i moved = _mm512_permutexvar_epi16(order, _mm512_movm_epi8(literal));
    const __mmask64 at = _mm512_movepi8_mask(moved);
    v[0] = _mm512_mask_mov_epi8(v[0], at, x);
#pragma GCC unroll 8
    for (int k = 1; k < kWidth; ++k) v[k] = _mm512_mask_mov_epi8(v[k], at, filler);
    if ((_mm512_cmpeq_epi8_mask(codes, filler) & literal) != 0) [[unlikely]]
      AsIs<kWidth>(moved, as_is);
  }
  Interleave<kWidth>(v);
#pragma GCC unroll 8
  for (int k = 0; k < kWidth; ++k) {
    const uint64_t kept = _mm512_cmpneq_epi8_mask(v[k], filler) | as_is[k];
    _mm512_storeu_si512(o, _mm512_maskz_compress_epi8(kept, v[k]));
    begin[k] = static_cast<uint32_t>(o - out);
    used[k] = kept;
    o += __builtin_popcountll(kept);
  }
  return o;
}

template <int kWidth>
PILUM_VBMI2 void Run(const FsstPlanes& t, const uint8_t* codes, uint64_t n, const uint64_t* skip, uint8_t* out,
                     FsstBlocks* blocks) {
  const __m512i filler = _mm512_set1_epi8(static_cast<char>(t.filler));
  const __m512i escape = _mm512_set1_epi8(-1), past = _mm512_set1_epi8(static_cast<char>(t.num_symbols));
  uint64_t carry = blocks->carry, unknown = 0, high = 0, any = 0, block = 0;
  uint8_t* o = out;
  for (uint64_t i = 0; i < n; i += 64, ++block) {
    __m512i c = _mm512_loadu_si512(codes + i);
    uint64_t gone = skip ? skip[block] : 0;
    if (n - i < 64) gone |= ~uint64_t{0} << (n - i);
    c = _mm512_mask_mov_epi8(c, gone, escape);  // an escape's own symbol is empty
    const uint64_t all_escapes = _mm512_cmpeq_epi8_mask(c, escape);
    uint64_t bad = _mm512_cmpge_epu8_mask(c, past) & ~all_escapes, literal = 0, escapes = all_escapes & ~gone;
    if ((escapes | carry) != 0) {
      // Escapes in a row (of bytes that UTF-8 never has) are rare: else no block waits for the one before.
      if ((escapes & ((escapes << 1) | carry)) != 0) [[unlikely]]
        escapes = RealEscapes(escapes, carry);
      literal = ((escapes << 1) | carry) & ~gone;
      carry = escapes >> (n - i < 64 ? n - i - 1 : 63) & 1;
      bad &= ~literal;
      high |= _mm512_movepi8_mask(c) & literal;
      any |= escapes;
    }
    unknown |= bad;
    blocks->escapes[block] = escapes;
    uint32_t* begin = blocks->begin + block * 8;
    uint64_t* used = blocks->used + block * 8;
    if constexpr (kWidth == 8) {  // few symbols are so long: mostly the first four planes do
      const __m512i fifth = Look(t, 4, c, _mm512_movepi8_mask(c));
      if ((_mm512_cmpneq_epi8_mask(fifth, filler) & ~literal) == 0) {
        blocks->width_log[block] = 2;
        o = Emit<4>(t, c, literal, out, o, begin, used);
        continue;
      }
    }
    blocks->width_log[block] = kWidth == 2 ? 1 : kWidth == 4 ? 2 : 3;
    o = Emit<kWidth>(t, c, literal, out, o, begin, used);
  }
  blocks->begin[block * 8] = static_cast<uint32_t>(o - out);
  blocks->used[block * 8] = 0;
  blocks->width_log[block] = 3;
  blocks->written = static_cast<uint64_t>(o - out);
  blocks->carry = carry != 0;
  blocks->any_escape = any != 0;
  blocks->ascii &= high == 0;
  blocks->known &= unknown == 0;
}

// For each value end (a number of codes from `at` on), where its output ends. Returns the values done.
template <typename Offset>
PILUM_VBMI2 uint64_t Cut(const FsstBlocks& blocks, const uint32_t* ends, uint64_t n, uint64_t at, uint64_t stop,
                         Offset base, Offset* out) {
  uint64_t i = 0;
  for (; i < n && ends[i] <= stop; ++i) {
    const uint64_t e = ends[i] - at, width_log = blocks.width_log[e / 64];
    const uint64_t group = e / 64 * 8 + (e % 64 >> (6 - width_log));
    const uint64_t before = blocks.used[group] & ((uint64_t{1} << ((e << width_log) % 64)) - 1);
    out[i] = base + static_cast<Offset>(blocks.begin[group] + static_cast<uint64_t>(__builtin_popcountll(before)));
  }
  return i;
}
#pragma GCC diagnostic pop

}  // namespace

bool MachineHasFsstKernel() {
  static const bool has = __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vbmi") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi2");
  return has;
}

void DecodeFsstBlocks(const FsstPlanes& planes, const uint8_t* codes, uint64_t n, const uint64_t* skip, uint8_t* out,
                      FsstBlocks* blocks) {
  switch (planes.width) {
    case 2: return Run<2>(planes, codes, n, skip, out, blocks);
    case 4: return Run<4>(planes, codes, n, skip, out, blocks);
    default: return Run<8>(planes, codes, n, skip, out, blocks);
  }
}

uint64_t CutFsstValues(const FsstBlocks& blocks, const uint32_t* ends, uint64_t n, uint64_t at, uint64_t stop,
                       int32_t base, int32_t* out) {
  return Cut(blocks, ends, n, at, stop, base, out);
}
uint64_t CutFsstValues(const FsstBlocks& blocks, const uint32_t* ends, uint64_t n, uint64_t at, uint64_t stop,
                       int64_t base, int64_t* out) {
  return Cut(blocks, ends, n, at, stop, base, out);
}

}  // namespace pilum::codec
