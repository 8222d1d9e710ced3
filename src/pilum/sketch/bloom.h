// A split-block Bloom filter with canonical bytes (docs/formats/bloom.md). Built by index builders, asked when parts
// are pruned. A value type; const calls are thread-safe. Hashes are those of value_hash.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/sketch/sketch.h"

namespace pilum {

class BloomFilter {
 public:
  struct Params {
    uint32_t blocks = 43;  // of 256 bits; BlocksForItems says how many. Hash and seed are fixed
    bool operator==(const Params&) const = default;
    std::string ToString() const { return fmt::format("blocks={}", blocks); }
  };
  static constexpr std::string_view kName = "Bloom";
  static constexpr Laws kLaws{Same::kBytes, Same::kBytes, Same::kBytes, true, ~0ull};
  static constexpr uint64_t kFloorItems = 1024;
  static constexpr uint32_t kMaxBlocks = 1u << 26;
  static constexpr uint64_t kHeaderBytes = 32, kBlockBytes = 32;

  // Sized for n distinct values (at least kFloorItems, at most what kMaxBlocks holds) at 1 % false positives.
  static BloomFilter ForItems(uint64_t n);
  static Result<BloomFilter> Empty(const Params& params);
  static uint32_t BlocksForItems(uint64_t n);
  static uint64_t BytesForItems(uint64_t n) { return kHeaderBytes + kBlockBytes * BlocksForItems(n); }

  // XXH64, seed 0, of a value's hash bytes (AppendHashBytes of values/value.h).
  static uint64_t HashOf(std::string_view hash_bytes);

  Status Update(const arrow::Array& array);
  void Insert(uint64_t hash);
  void Insert(std::span<const uint64_t> hashes);
  bool MayContain(uint64_t hash) const;  // false: certainly not inserted
  // The same for many: out[i] is 1 or 0. `out` has as many places as there are hashes.
  void MayContain(std::span<const uint64_t> hashes, uint8_t* out) const;
  Status Merge(const BloomFilter& other);  // by OR; kUsage when the parameters differ

  std::string ToBytes() const;
  // `source`: whose bytes these are, for the kCorrupt message. kUnsupported: a newer version, hash or layout.
  static Result<BloomFilter> FromBytes(std::string_view bytes, std::string_view source);

  Params params() const { return {blocks()}; }
  uint32_t blocks() const { return static_cast<uint32_t>(words_.size() / 8); }
  bool operator==(const BloomFilter&) const = default;

 private:
  explicit BloomFilter(uint32_t blocks) : words_(blocks * 8ull, 0) {}
  std::vector<uint32_t> words_;
};

}  // namespace pilum
