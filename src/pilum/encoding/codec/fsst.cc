// FSST symbol tables and the decoder of one value. Symbols may hold 0x00: their lengths alone say where they end,
// except in the vector kernel, which is only used for tables without it.
#include <immintrin.h>

#include <cstring>

#include "pilum/base/bytes.h"
#include "pilum/encoding/codec/codec.h"

namespace pilum::codec {
namespace {

constexpr uint64_t kTableBytes = 2312;
constexpr uint32_t kMagic = 0x46535354;
constexpr uint8_t kEscape = 255;

// Bytes of `word` that are 0xff, as the high bit of each (exact for the lowest one).
uint64_t Escapes(uint64_t word) {
  uint64_t inverted = ~word;
  return (inverted - 0x0101010101010101) & ~inverted & 0x8080808080808080;
}

// 8 bytes are always stored: the length moves on, the rest is overwritten by what follows or lies in the slack.
inline uint8_t* Emit(const uint64_t* symbols, const uint8_t* lengths, uint8_t code, uint8_t* o) {
  std::memcpy(o, &symbols[code], 8);
  return o + lengths[code];
}

uint8_t* DecodeScalar(const uint64_t* symbols, const uint8_t* lengths, const uint8_t* p, const uint8_t* end,
                      uint8_t* o) {
  while (end - p >= 8) {
    const uint64_t word = LoadLE<uint64_t>(p);
    if (const uint64_t escapes = Escapes(word)) {
      const int before = __builtin_ctzll(escapes) / 8;
      for (int i = 0; i < before; ++i) o = Emit(symbols, lengths, p[i], o);
      if (before == 7) {
        p += 7;
        break;  // the literal is in the next word
      }
      *o++ = p[before + 1];
      p += before + 2;
      continue;
    }
    o = Emit(symbols, lengths, static_cast<uint8_t>(word), o);
    o = Emit(symbols, lengths, static_cast<uint8_t>(word >> 8), o);
    o = Emit(symbols, lengths, static_cast<uint8_t>(word >> 16), o);
    o = Emit(symbols, lengths, static_cast<uint8_t>(word >> 24), o);
    o = Emit(symbols, lengths, static_cast<uint8_t>(word >> 32), o);
    o = Emit(symbols, lengths, static_cast<uint8_t>(word >> 40), o);
    o = Emit(symbols, lengths, static_cast<uint8_t>(word >> 48), o);
    o = Emit(symbols, lengths, static_cast<uint8_t>(word >> 56), o);
    p += 8;
  }
  while (p < end) {
    if (*p == kEscape) {
      if (p + 1 == end) return nullptr;
      *o++ = p[1];
      p += 2;
    } else {
      o = Emit(symbols, lengths, *p++, o);
    }
  }
  return o;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12's own _mm512_test_epi8_mask
// Eight codes a step: their symbols side by side in one register, their zero bytes squeezed out, one store.
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt"))) uint8_t* DecodeVbmi2(
    const uint64_t* symbols, const uint8_t* lengths, const uint8_t* p, const uint8_t* end, uint8_t* o) {
  auto pair = [&](uint64_t word, int shift) __attribute__((always_inline)) {
    const double* low = reinterpret_cast<const double*>(&symbols[word >> shift & 0xff]);
    const double* high = reinterpret_cast<const double*>(&symbols[word >> (shift + 8) & 0xff]);
    return _mm_castpd_si128(_mm_loadh_pd(_mm_load_sd(low), high));
  };
  while (p < end) {
    uint64_t word = LoadLE<uint64_t>(p);  // the input is readable past its end
    const int64_t left = end - p;
    const uint64_t inside = left >= 8 ? ~uint64_t{0} : (uint64_t{1} << (left * 8)) - 1;
    int take = left >= 8 ? 8 : static_cast<int>(left);
    const uint64_t escapes = Escapes(word) & inside;
    if (escapes) take = __builtin_ctzll(escapes) / 8;
    if (take < 8) word |= ~((uint64_t{1} << (take * 8)) - 1);  // code 255 has an empty symbol here
    const __m256i a = _mm256_inserti128_si256(_mm256_castsi128_si256(pair(word, 0)), pair(word, 16), 1);
    const __m256i b = _mm256_inserti128_si256(_mm256_castsi128_si256(pair(word, 32)), pair(word, 48), 1);
    const __m512i all = _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
    const __mmask64 used = _mm512_test_epi8_mask(all, all);
    _mm512_storeu_si512(o, _mm512_maskz_compress_epi8(used, all));
    o += __builtin_popcountll(used);
    p += take;
    while (p < end && *p == kEscape) {
      if (p + 1 == end) return nullptr;
      *o++ = p[1];
      p += 2;
    }
  }
  return o;
}
#pragma GCC diagnostic pop

bool HasVbmi2() {
  static const bool has =
      __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  return has;
}

// Whether every code that is not escaped has a symbol.
bool CodesAreKnown(const uint8_t* lengths, Bytes in) {
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] == kEscape)
      ++i;
    else if (lengths[in[i]] == 0)
      return false;
  }
  return true;
}

// Whether a byte lies in [low, 254]: codes without a symbol, or escaped bytes.
PILUM_VECTORIZE bool AnyAbove(const uint8_t* p, uint64_t n, uint8_t low) {
  uint8_t any = 0;
  for (uint64_t i = 0; i < n; ++i) any |= static_cast<uint8_t>((p[i] >= low) & (p[i] != kEscape));
  return any != 0;
}

}  // namespace

Result<FsstTable> FsstTable::Parse(std::string_view bytes) {
  if (bytes.size() != kTableBytes)
    return BadBytes("an FSST symbol table of {} bytes, not {}", bytes.size(), kTableBytes);
  uint64_t header = LoadLE<uint64_t>(bytes.data());
  if (header >> 32 != kMagic) return BadBytes("an FSST symbol table with header {:#x}", header);
  FsstTable t;
  t.active_ = (header >> 24 & 0xff) != 0;
  t.num_symbols_ = header & 0xff;
  t.has_nul_ = false;
  for (uint64_t i = 0; i < t.num_symbols_; ++i) {
    t.symbols_[i] = LoadLE<uint64_t>(bytes.data() + 8 + i * 8);
    t.lengths_[i] = static_cast<uint8_t>(bytes[8 + t.num_symbols_ * 8 + i]);
    if (t.lengths_[i] < 1 || t.lengths_[i] > 8) return BadBytes("an FSST symbol of {} bytes", t.lengths_[i]);
    if (t.lengths_[i] < 8)
      t.symbols_[i] &= (uint64_t{1} << (t.lengths_[i] * 8)) - 1;  // bytes past the length do not count
    for (int b = 0; b < t.lengths_[i]; ++b) t.has_nul_ |= (t.symbols_[i] >> (b * 8) & 0xff) == 0;
  }
  return t;
}

bool FsstTable::CheckCodes(Bytes in) const {
  if (num_symbols_ == 255 || !AnyAbove(in.data(), in.size(), static_cast<uint8_t>(num_symbols_))) return true;
  return CodesAreKnown(lengths_, in);
}

int64_t FsstTable::Decode(Bytes in, uint8_t* out, bool scalar) const {
  const uint8_t *p = in.data(), *end = p + in.size();
  uint8_t* o = !has_nul_ && !scalar && HasVbmi2() ? DecodeVbmi2(symbols_, lengths_, p, end, out)
                                                  : DecodeScalar(symbols_, lengths_, p, end, out);
  return o ? o - out : -1;
}

}  // namespace pilum::codec
