// MinHash, bottom k: the k smallest hashes of the distinct values. Says how alike two sets are (Jaccard), and how large one
// is. Merging keeps the k smallest of both: exact, in any order.
#pragma once

#include <span>
#include <vector>

#include "pilum/sketch/sketch.h"

namespace pilum {

class MinHash {
 public:
  struct Params {
    uint32_t k = 256;
    uint64_t seed = 0;
    bool operator==(const Params&) const = default;
    std::string ToString() const { return fmt::format("k={} seed={}", k, seed); }
  };
  static constexpr std::string_view kName = "MinHash";
  static constexpr Laws kLaws{Same::kBytes, Same::kBytes, Same::kBytes, true, ~0ull};
  static constexpr uint32_t kMinK = 2, kMaxK = 1u << 20;

  static Result<MinHash> Empty(const Params& params);
  Status Update(const arrow::Array& array);
  void Insert(uint64_t hash);  // before the seed
  Status Merge(const MinHash& other);
  std::string ToBytes() const;
  static Result<MinHash> FromBytes(std::string_view bytes, std::string_view source);
  const Params& params() const { return params_; }

  // |a and b| / |a or b|, 0 to 1; two empty sets are alike (1). Exact while the union has at most k values.
  // 95 %: 1.96 standard errors, sqrt(J (1 - J) / k), at least one hash of k.
  Result<Estimate> Jaccard(const MinHash& other) const;
  // Distinct values, exact up to k - 1; then (k - 1) / (kth smallest), 95 %, standard error 1 / sqrt(k - 2).
  Estimate Count() const;

 private:
  explicit MinHash(const Params& params) : params_(params) {}
  void InsertSeeded(std::span<const uint64_t> hashes);
  void Settle();  // sorts what waits into kept_
  std::vector<uint64_t> Kept() const;

  Params params_;
  std::vector<uint64_t> kept_;     // ascending, distinct, at most k
  std::vector<uint64_t> waiting_;  // below the kth of kept_, unsorted
};

}  // namespace pilum
