// A cuckoo filter of 16-bit fingerprints, four to a bucket: is a value in the set? Wrong "yes" about once in 9,000 at
// most. A set: a value counts once however often it comes, so there is no deletion (it would take others of the same
// fingerprint with it). Where a fingerprint lies in memory depends on the order; its bytes do not: they hold the sorted
// set of (bucket pair, fingerprint). Hashes are those of value_hash.h.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "pilum/sketch/sketch.h"

namespace pilum {

class CuckooFilter {
 public:
  struct Params {
    uint32_t items = 1024;  // distinct values that it can hold; one more is refused
    bool operator==(const Params&) const = default;
    std::string ToString() const { return fmt::format("items={}", items); }
  };
  static constexpr std::string_view kName = "Cuckoo";
  static constexpr Laws kLaws{Same::kBytes, Same::kBytes, Same::kBytes, true, ~0ull};
  static constexpr uint32_t kMaxItems = 1u << 28;

  static Result<CuckooFilter> Empty(const Params& params);
  Status Update(const arrow::Array& array);  // kUsage when full: some of the rows are in then
  Status Insert(uint64_t hash);
  Status Merge(const CuckooFilter& other);
  std::string ToBytes() const;
  static Result<CuckooFilter> FromBytes(std::string_view bytes, std::string_view source);
  const Params& params() const { return params_; }

  bool MayContain(uint64_t hash) const;  // false: certainly not inserted
  void MayContain(std::span<const uint64_t> hashes, uint8_t* out) const;
  uint64_t size() const { return size_; }  // distinct (bucket pair, fingerprint): values, but for rare collisions
  double FalsePositiveRate() const;        // of a value that is not in, as full as it is now

 private:
  struct Place {
    uint32_t bucket, other;
    uint16_t print;
  };
  explicit CuckooFilter(const Params& params);
  Place PlaceOf(uint64_t hash) const;
  uint32_t OtherBucket(uint32_t bucket, uint16_t print) const;
  bool Holds(const Place& p) const;
  bool PutIn(uint32_t bucket, uint16_t print);
  Status Put(Place p);
  std::vector<uint64_t> Entries() const;  // lower bucket << 16 | fingerprint, ascending

  Params params_;
  std::vector<uint64_t> buckets_;  // four fingerprints each; 0: free
  std::vector<uint64_t> stash_;    // entries that found no place (none in practice), ascending by arrival
  uint64_t size_ = 0;
};

}  // namespace pilum
