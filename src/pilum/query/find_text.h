// A piece of text in a text: as string_view::find, several times as fast where the first byte of the piece is frequent.
#pragma once

#include <bit>
#include <cstring>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace pilum {

// Where `piece` begins first; npos: nowhere. Sixteen places a step are held against its first and its last byte at once.
inline size_t FindText(std::string_view text, std::string_view piece) {
#ifdef __SSE2__
  const size_t size = piece.size();
  if (size < 2 || size > text.size()) return text.find(piece);
  const auto load = [](const char* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); };
  const __m128i first = _mm_set1_epi8(piece.front()), last = _mm_set1_epi8(piece.back());
  const size_t places = text.size() - size + 1;
  size_t at = 0;
  for (; at + 16 <= places; at += 16) {
    const __m128i both = _mm_and_si128(_mm_cmpeq_epi8(load(text.data() + at), first),
                                       _mm_cmpeq_epi8(load(text.data() + at + size - 1), last));
    for (auto left = static_cast<unsigned>(_mm_movemask_epi8(both)); left != 0; left &= left - 1) {
      const size_t place = at + static_cast<size_t>(std::countr_zero(left));
      if (std::memcmp(text.data() + place + 1, piece.data() + 1, size - 2) == 0) return place;
    }
  }
  return text.find(piece, at);
#else
  return text.find(piece);
#endif
}

}  // namespace pilum
