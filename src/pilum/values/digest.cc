// RFC 1321 and FIPS 180-4. The constants are computed as the standards define them: sines for MD5, roots of primes for SHA-2.
#include "pilum/values/digest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace pilum {
namespace {

using Wide = unsigned __int128;

std::vector<uint32_t> Primes(size_t n) {
  std::vector<uint32_t> out;
  for (uint32_t p = 2; out.size() < n; ++p) {
    if (std::none_of(out.begin(), out.end(), [p](uint32_t q) { return p % q == 0; })) out.push_back(p);
  }
  return out;
}

// The first 64 bits behind the point of a root: the greatest r with r^2 <= n * 2^128, bit by bit. For cubes r^3 <= n * 2^192.
bool AtMost(Wide r, uint32_t n, int power) {
  // r < 2^68, so digits of 2^34 multiply in 128 bits.
  constexpr int kBits = 34;
  constexpr Wide kMask = (Wide{1} << kBits) - 1;
  std::vector<Wide> product = {1};
  for (int k = 0; k < power; ++k) {
    std::vector<Wide> next(product.size() + 2, 0);
    for (size_t i = 0; i < product.size(); ++i) {
      next[i] += product[i] * (r & kMask);
      next[i + 1] += product[i] * (r >> kBits);
    }
    for (size_t i = 0; i + 1 < next.size(); ++i) {
      next[i + 1] += next[i] >> kBits;
      next[i] &= kMask;
    }
    product = std::move(next);
  }
  const int point = 64 * power;  // product <= n << point
  std::vector<Wide> bound(product.size(), 0);
  for (int bit = 0; bit < 32; ++bit) {
    if (n >> bit & 1) bound[static_cast<size_t>((point + bit) / kBits)] |= Wide{1} << ((point + bit) % kBits);
  }
  for (size_t i = product.size(); i-- > 0;) {
    if (product[i] != bound[i]) return product[i] < bound[i];
  }
  return true;
}

uint64_t RootFraction(uint32_t n, int power) {
  Wide r = 0;
  for (int bit = 69; bit-- > 0;) {
    const Wide next = r | Wide{1} << bit;
    if (next >> 68 == 0 && AtMost(next, n, power)) r = next;
  }
  return static_cast<uint64_t>(r);
}

template <typename Word>
void AppendWord(Word w, bool big, std::string* out) {
  for (size_t i = 0; i < sizeof(Word); ++i) {
    out->push_back(static_cast<char>(w >> 8 * (big ? sizeof(Word) - 1 - i : i)));
  }
}
template <typename Word>
Word LoadWord(const char* at, bool big) {
  Word w = 0;
  for (size_t i = 0; i < sizeof(Word); ++i) {
    w |= static_cast<Word>(static_cast<uint8_t>(at[i])) << 8 * (big ? sizeof(Word) - 1 - i : i);
  }
  return w;
}

// Blocks of `size` bytes of the text and of what all these digests put behind it: a one, zeros, the length in bits.
template <typename Run>
void EachBlock(std::string_view bytes, size_t size, bool big, Run run) {
  size_t at = 0;
  for (; at + size <= bytes.size(); at += size) run(bytes.data() + at);
  std::string rest(bytes.substr(at));
  const size_t length_size = size / 8;
  rest.push_back(static_cast<char>(0x80));
  while (rest.size() % size != size - length_size) rest.push_back(0);
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  if (length_size == 16) AppendWord<uint64_t>(uint64_t{bytes.size()} >> 61, big, &rest);
  AppendWord(bits, big, &rest);
  for (at = 0; at < rest.size(); at += size) run(rest.data() + at);
}

std::string Md5(std::string_view bytes) {
  static const auto sines = [] {
    std::array<uint32_t, 64> out;
    for (size_t i = 0; i < 64; ++i) {
      out[i] = static_cast<uint32_t>(std::floor(std::fabs(std::sin(static_cast<double>(i) + 1)) * 4294967296.0));
    }
    return out;
  }();
  constexpr int kTurns[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  std::array<uint32_t, 4> state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  EachBlock(bytes, 64, false, [&](const char* block) {
    auto [a, b, c, d] = state;
    for (uint32_t i = 0; i < 64; ++i) {
      uint32_t f = 0, word = 0;
      switch (i / 16) {
        case 0: f = (b & c) | (~b & d), word = i; break;
        case 1: f = (d & b) | (~d & c), word = (5 * i + 1) % 16; break;
        case 2: f = b ^ c ^ d, word = (3 * i + 5) % 16; break;
        default: f = c ^ (b | ~d), word = 7 * i % 16; break;
      }
      f += a + sines[i] + LoadWord<uint32_t>(block + 4 * word, false);
      a = d, d = c, c = b;
      b += std::rotl(f, kTurns[i / 16][i % 4]);
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  });
  std::string out;
  for (uint32_t w : state) AppendWord(w, false, &out);
  return out;
}

template <typename Word>
struct Turns {
  int a[3], e[3], s0[2], shift0, s1[2], shift1;
  size_t rounds;
};
constexpr Turns<uint32_t> kTurns32 = {{2, 13, 22}, {6, 11, 25}, {7, 18}, 3, {17, 19}, 10, 64};
constexpr Turns<uint64_t> kTurns64 = {{28, 34, 39}, {14, 18, 41}, {1, 8}, 7, {19, 61}, 6, 80};

template <typename Word>
std::string Sha2(std::string_view bytes, const Turns<Word>& turn, std::array<Word, 8> state, size_t size) {
  static const auto rounds = [&] {
    std::vector<Word> out;
    for (uint32_t p : Primes(turn.rounds)) {
      out.push_back(static_cast<Word>(RootFraction(p, 3) >> (64 - 8 * sizeof(Word))));
    }
    return out;
  }();
  EachBlock(bytes, 16 * sizeof(Word), true, [&](const char* block) {
    std::array<Word, 80> w;
    for (size_t i = 0; i < 16; ++i) w[i] = LoadWord<Word>(block + i * sizeof(Word), true);
    for (size_t i = 16; i < turn.rounds; ++i) {
      const Word x = w[i - 15], y = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (std::rotr(x, turn.s0[0]) ^ std::rotr(x, turn.s0[1]) ^ (x >> turn.shift0)) +
             (std::rotr(y, turn.s1[0]) ^ std::rotr(y, turn.s1[1]) ^ (y >> turn.shift1));
    }
    auto s = state;
    for (size_t i = 0; i < turn.rounds; ++i) {
      const Word e = s[4], a = s[0];
      const Word t1 = s[7] + (std::rotr(e, turn.e[0]) ^ std::rotr(e, turn.e[1]) ^ std::rotr(e, turn.e[2])) +
                      ((e & s[5]) ^ (~e & s[6])) + rounds[i] + w[i];
      const Word t2 = (std::rotr(a, turn.a[0]) ^ std::rotr(a, turn.a[1]) ^ std::rotr(a, turn.a[2])) +
                      ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
      s = {t1 + t2, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]};
    }
    for (size_t i = 0; i < 8; ++i) state[i] += s[i];
  });
  std::string out;
  for (Word word : state) AppendWord(word, true, &out);
  return out.substr(0, size);
}

// The first eight primes' square roots, or (224, 384) those of the ninth to sixteenth.
std::array<uint64_t, 8> Start(size_t from) {
  const auto primes = Primes(16);
  std::array<uint64_t, 8> out;
  for (size_t i = 0; i < 8; ++i) out[i] = RootFraction(primes[from + i], 2);
  return out;
}

}  // namespace

std::optional<Digest> DigestNamed(std::string_view name) {
  if (name == "md5") return Digest::kMd5;
  if (name == "sha224") return Digest::kSha224;
  if (name == "sha256") return Digest::kSha256;
  if (name == "sha384") return Digest::kSha384;
  if (name == "sha512") return Digest::kSha512;
  return std::nullopt;
}

std::string DigestOf(Digest kind, std::string_view bytes) {
  static const auto first = Start(0), second = Start(8);
  std::array<uint32_t, 8> narrow;
  for (size_t i = 0; i < 8; ++i) {
    narrow[i] = kind == Digest::kSha224 ? static_cast<uint32_t>(second[i]) : static_cast<uint32_t>(first[i] >> 32);
  }
  switch (kind) {
    case Digest::kMd5: return Md5(bytes);
    case Digest::kSha224: return Sha2(bytes, kTurns32, narrow, 28);
    case Digest::kSha256: return Sha2(bytes, kTurns32, narrow, 32);
    case Digest::kSha384: return Sha2(bytes, kTurns64, second, 48);
    default: return Sha2(bytes, kTurns64, first, 64);
  }
}

}  // namespace pilum
