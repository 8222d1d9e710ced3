// Says of nearly every value that is not in a long list that it is not, by one bit of a small table: what passes is looked up.
// Used by the matchers of evaluate_set. Immutable once made, thread-safe.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace pilum {

class Sieve {
 public:
  // Room for so many values; at 64 bits each one stranger in 64 passes. Beyond 128 KiB the table would not stay near.
  void Make(uint64_t values) {
    constexpr uint64_t kLeast = 1024, kMost = 1 << 20;  // bits
    uint64_t bits = kLeast;
    while (bits < values * 64 && bits < kMost) bits *= 2;
    shift_ = 64 - std::countr_zero(bits);
    bits_.assign(bits / 64, 0);
  }
  bool made() const { return !bits_.empty(); }
  void Add(uint64_t value) {
    const uint64_t at = PlaceOf(value);
    bits_[at / 64] |= uint64_t{1} << (at % 64);
  }
  bool MayHold(uint64_t value) const {
    const uint64_t at = PlaceOf(value);
    return (bits_[at / 64] >> (at % 64) & 1) != 0;
  }

  // Of a text: its length and its ends, which tell most texts apart at the cost of two loads.
  static uint64_t FingerprintOf(std::string_view s) {
    uint64_t first = 0, last = 0;
    if (s.size() >= 8) {
      std::memcpy(&first, s.data(), 8);
      std::memcpy(&last, s.data() + s.size() - 8, 8);
    } else if (!s.empty()) {
      for (size_t i = 0; i < s.size(); ++i) first = first << 8 | static_cast<uint8_t>(s[i]);
    }
    return (first ^ std::rotl(last * 0xD6E8FEB86659FD93ull, 29)) + s.size();
  }

 private:
  uint64_t PlaceOf(uint64_t value) const { return value * 0x9E3779B97F4A7C15ull >> shift_; }

  std::vector<uint64_t> bits_;
  int shift_ = 64;
};

}  // namespace pilum
