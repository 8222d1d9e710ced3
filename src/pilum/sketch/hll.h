// HyperLogLog: how many distinct values. Sparse while that is smaller (then near exact), dense above; Ertl's estimator,
// which has no bias at any count and needs no tables. Merging is the maximum of registers: exact, in any order.
#pragma once

#include <span>
#include <vector>

#include "pilum/sketch/sketch.h"

namespace pilum {

class Hll {
 public:
  struct Params {
    uint32_t p = 12;  // 2^p registers, kMinP to kMaxP
    uint64_t seed = 0;
    bool operator==(const Params&) const = default;
    std::string ToString() const;
  };
  static constexpr std::string_view kName = "HLL";
  static constexpr Laws kLaws{Same::kBytes, Same::kBytes, Same::kBytes, true, ~0ull};
  static constexpr uint32_t kMinP = 4, kMaxP = 18, kSparseP = 25;

  static Result<Hll> Empty(const Params& params);
  Status Update(const arrow::Array& array);
  void Insert(uint64_t hash);                           // a value's hash (value_hash.h), before the seed
  void InsertSeeded(std::span<const uint64_t> hashes);  // as VisitHashes gives them for params().seed
  Status Merge(const Hll& other);
  std::string ToBytes() const;
  static Result<Hll> FromBytes(std::string_view bytes, std::string_view source);
  const Params& params() const { return params_; }

  // Distinct values. The interval is 95 %: 1.96 standard errors, and never less than half a value at the sides.
  Estimate Count() const;
  double StandardError() const;  // relative: 1.04 / sqrt(2^p) once dense, far less while sparse
  bool sparse() const { return registers_.empty(); }
  uint64_t memory() const { return table_.capacity() * 4 + registers_.capacity(); }  // bytes held

 private:
  explicit Hll(const Params& params) : params_(params) {}
  uint64_t registers() const { return uint64_t{1} << params_.p; }
  uint64_t SparseLimit() const;  // entries; one more makes it dense
  void InsertSparse(uint32_t entry);
  void PutSparse(uint32_t entry);
  void GrowTable();
  void MakeDense();
  void InsertDense(std::span<const uint64_t> hashes);
  std::vector<uint32_t> SortedEntries() const;

  Params params_;
  // Sparse: a hash table of entries (25 bits of index << 6 | rank of the other 39 bits); 0: free. One entry an index.
  std::vector<uint32_t> table_;
  uint64_t entries_ = 0;
  std::vector<uint8_t> registers_;  // dense: 2^p ranks
};

}  // namespace pilum
