// A split-block Bloom filter with canonical bytes (docs/formats/bloom.md). Built by index builders, asked when parts
// are pruned. A value type; const calls are thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/status.h"

namespace pilum {

class BloomFilter {
 public:
  static constexpr uint64_t kFloorItems = 1024;
  static constexpr uint32_t kMaxBlocks = 1u << 26;
  static constexpr uint64_t kHeaderBytes = 32, kBlockBytes = 32;

  // Sized for n distinct values (at least kFloorItems, at most what kMaxBlocks holds) at 1 % false positives.
  static BloomFilter ForItems(uint64_t n);
  static uint32_t BlocksForItems(uint64_t n);
  static uint64_t BytesForItems(uint64_t n) { return kHeaderBytes + kBlockBytes * BlocksForItems(n); }

  // XXH64, seed 0, of a value's hash bytes (AppendHashBytes of values/value.h).
  static uint64_t HashOf(std::string_view hash_bytes);

  void Insert(uint64_t hash);
  bool MayContain(uint64_t hash) const;    // false: certainly not inserted
  Status Merge(const BloomFilter& other);  // by OR; kUsage when the parameters differ

  std::string ToBytes() const;
  // `source`: whose bytes these are, for the kCorrupt message. kUnsupported: a newer version, hash or layout.
  static Result<BloomFilter> FromBytes(std::string_view bytes, std::string_view source);

  uint32_t blocks() const { return static_cast<uint32_t>(words_.size() / 8); }
  bool operator==(const BloomFilter&) const = default;

 private:
  explicit BloomFilter(uint32_t blocks) : words_(blocks * 8ull, 0) {}
  std::vector<uint32_t> words_;
};

}  // namespace pilum
