// Random numbers and words by position: the same on every machine, whatever was asked before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pilum::synthetic {

// The random number of row k for one purpose, 0 to 4095 (splitmix64).
inline uint64_t Mix(int64_t k, uint64_t purpose) {
  uint64_t z = (static_cast<uint64_t>(k) * 4096 + purpose) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

inline int64_t Below(int64_t k, uint64_t purpose, int64_t n) {
  return static_cast<int64_t>(Mix(k, purpose) % static_cast<uint64_t>(n));
}

// Small numbers far more often than large ones, as words of a language.
inline int64_t Skewed(int64_t k, uint64_t purpose, int64_t n) {
  const uint64_t r = Mix(k, purpose);
  return static_cast<int64_t>((r >> 32) % (1 + r % static_cast<uint64_t>(n)));
}

// Word w: syllables without y or z.
inline void AppendWord(int64_t w, std::string* out) {
  constexpr std::string_view kConsonants = "bdfgklmnprstvw", kVowels = "aeiou";
  for (uint64_t left = static_cast<uint64_t>(w) + 70; left > 0; left /= 70) {
    *out += kConsonants[left % 14];
    *out += kVowels[left % 70 / 14];
  }
}

// Text k: words of a vocabulary of `vocabulary`; takes the purposes from 1024 on.
inline void AppendWords(int64_t k, int64_t words, int64_t vocabulary, std::string* out) {
  for (int64_t i = 0; i < words; ++i) {
    if (i > 0) *out += ' ';
    AppendWord(Skewed(k, 1024 + static_cast<uint64_t>(i), vocabulary), out);
  }
}

}  // namespace pilum::synthetic
