// FSST (Boncz, Neumann, Leis: "FSST: Fast Random Access String Compression", 2020): up to 255 symbols of 1 to 8 bytes;
// a value becomes one code a symbol, and 255 and the byte itself where none fits. Everything here is a function of the
// bytes given: no randomness.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pilum::write {

struct FsstSymbol {
  uint64_t bytes = 0;  // first byte lowest; zero above `length`
  uint8_t length = 0;
  bool operator==(const FsstSymbol&) const = default;
};

class FsstEncoder {
 public:
  static constexpr size_t kMaxSymbols = 255;
  static constexpr uint64_t kTableBytes = 2312;
  // At most 255 distinct symbols; a symbol's index is its code.
  explicit FsstEncoder(std::vector<FsstSymbol> symbols);
  // The symbols that suit `sample` (pieces of values; some 10 KB or more for a table worth having).
  static FsstEncoder Train(std::span<const std::string_view> sample);

  // Values begin[i] .. ends[i] of `text` (ends[i-1] begins value i; `base` begins value 0), back to back. Writes their
  // codes back to back to `out`, which has room for 2 bytes a byte and kSlack, and the end of each to out_ends.
  // Returns the bytes written.
  static constexpr uint64_t kSlack = 16;
  uint64_t Encode(const uint8_t* text, uint64_t base, std::span<const uint64_t> ends, uint8_t* out,
                  uint64_t* out_ends) const;
  // What `pieces` would take.
  uint64_t EncodedBytes(std::span<const std::string_view> pieces) const;
  std::string TableBytes() const;  // the 2,312 bytes of the layout
  const std::vector<FsstSymbol>& symbols() const { return symbols_; }

 private:
  friend class FsstTrainer;
  struct Lane;
  // What a lookup gives, in one word: bits 0..5 the shift that leaves of a word what the symbol covers, 6 whether the
  // byte itself follows (an escape), 8..15 the code, 16..23 that byte, 24..31 the bytes covered.
  struct Match {
    uint64_t bits = 0;
    uint8_t code() const { return static_cast<uint8_t>(bits >> 8); }
    uint64_t length() const { return bits >> 24; }
    uint64_t escape() const { return bits >> 6 & 1; }
  };
  static uint64_t MatchOf(const FsstSymbol& symbol, uint8_t code) {
    return uint64_t{symbol.length} << 24 | uint64_t{code} << 8 | (64u - 8u * symbol.length) % 64;
  }
  static uint32_t EscapeOf(uint64_t byte) { return 1u << 24 | static_cast<uint32_t>(byte) << 16 | 255u << 8 | 1u << 6; }
  // Two symbols of 3 bytes or more whose first three bytes share a hash, the longer one first. A symbol fits where
  // (word ^ bytes) << shift is zero; one that is not there has bytes that never come here.
  struct Bucket {
    uint64_t bytes[2];
    uint64_t match[2];
  };
  static constexpr int kBucketBits = 10;
  static constexpr uint64_t kBuckets = uint64_t{1} << kBucketBits;
  // The product keeps nothing of the bytes above the third.
  static uint64_t Hash(uint64_t word) { return (word * (uint64_t{2971215073} << 40)) >> (64 - kBucketBits); }
  bool Put(const FsstSymbol& symbol, uint8_t code);     // false: no room in its bucket
  Match Find(uint64_t word) const;                      // eight bytes are there
  Match FindShort(uint64_t word, uint64_t room) const;  // `room` < 8 bytes are there
  bool Step(Lane* lane, const uint8_t* text, const uint64_t* ends, uint64_t* out_ends) const;
  bool NextValue(Lane* lane, uint64_t length, const uint8_t* text, const uint64_t* ends, uint64_t* out_ends) const;
  uint8_t* EncodeValue(const uint8_t* p, const uint8_t* end, uint8_t* o) const;
  void RunLanes(std::span<Lane> lanes, const uint8_t* text, const uint64_t* ends, uint64_t* out_ends) const;
  uint8_t* EncodePairs(const uint8_t* p, const uint8_t* end, uint8_t* o) const;  // one value, without long symbols

  std::vector<FsstSymbol> symbols_;
  std::vector<uint32_t> short_;   // by the next two bytes: a symbol of two bytes, else of one, else an escape
  std::vector<uint32_t> single_;  // by the next byte
  std::vector<Bucket> buckets_;
  bool any_long_ = false;  // a symbol of 3 bytes or more
};

}  // namespace pilum::write
