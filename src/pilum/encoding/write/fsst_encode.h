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
  bool Step(Lane* lane, const uint64_t* ends, uint64_t* out_ends) const;
  // What a lookup gives: code, length of the match, and whether the byte itself follows (an escape).
  struct Match {
    uint8_t code = 255, length = 1, escape = 1, unused = 0;
  };
  // Two symbols of 3 bytes or more whose first three bytes share a hash, the longer one first. A symbol fits where
  // (word ^ bytes) << shift is zero; one that is not there has bytes that never come here.
  struct Bucket {
    uint64_t bytes[2];
    uint8_t shift[2];
    Match match[2];
  };
  static constexpr uint64_t kBuckets = 2048;
  static uint64_t Hash(uint64_t word) { return ((word & 0xFFFFFF) * 2971215073u >> 15) % kBuckets; }
  bool Put(const FsstSymbol& symbol, uint8_t code);  // false: no room in its bucket
  Match Find(uint64_t word) const {                  // eight bytes are there
    const Bucket& b = buckets_[Hash(word)];
    Match m = short_[word & 0xFFFF];
    if ((word ^ b.bytes[1]) << b.shift[1] == 0) m = b.match[1];
    if ((word ^ b.bytes[0]) << b.shift[0] == 0) m = b.match[0];
    return m;
  }
  Match FindShort(uint64_t word, uint64_t room) const;  // `room` < 8 bytes are there

  std::vector<FsstSymbol> symbols_;
  std::vector<Match> short_;   // by the next two bytes: a symbol of two bytes, else of one, else an escape
  std::vector<Match> single_;  // by the next byte
  std::vector<Bucket> buckets_;
};

}  // namespace pilum::write
