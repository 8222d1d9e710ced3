// KLL: quantiles with an error of rank that is the same everywhere (t_digest.h is finer at the ends). Works on the order
// alone: floats in the one order (NaN greatest), or whole numbers and times exactly. Which half of a compacted level stays is
// decided by a hash of seed, level, count and content, so there is no hidden random state: the same rows in the same order
// give the same bytes however they were cut into arrays, and a.Merge(b) is b.Merge(a). While at most k values were seen all are kept:
// answers are exact, and the bytes are those of any order.
#pragma once

#include <vector>

#include "pilum/sketch/sketch.h"

namespace pilum {

class Kll {
 public:
  enum class Kind : uint8_t { kFloat = 1, kInt = 2 };
  struct Params {
    uint32_t k = 200;
    Kind kind = Kind::kFloat;  // kInt takes no fractions and no uint64 above 2^63 - 1
    uint64_t seed = 0;
    bool operator==(const Params&) const = default;
    std::string ToString() const;
  };
  static constexpr std::string_view kName = "KLL";
  static constexpr Laws kLaws{Same::kWithinBound, Same::kWithinBound, Same::kWithinBound, false, 200};
  static constexpr uint32_t kMinK = 8, kMaxK = 1u << 16;

  static Result<Kll> Empty(const Params& params);
  Status Update(const arrow::Array& array);
  Status Merge(const Kll& other);
  std::string ToBytes() const;
  static Result<Kll> FromBytes(std::string_view bytes, std::string_view source);
  const Params& params() const { return params_; }

  uint64_t count() const { return n_; }
  uint64_t memory() const {  // bytes held
    uint64_t keys = 0;
    for (const auto& level : levels_) keys += level.capacity() + sizeof(level) / sizeof(int64_t);
    return keys * sizeof(int64_t);
  }
  // Rank error in share of the rows that one answer keeps to with 99 % (measured: docs/formats/sketches.md).
  double RankError() const;
  static double RankErrorOf(uint32_t k);  // of more than k rows
  // The smallest value whose rank is at least q, 0 to 1; 0 and 1 are the exact minimum and maximum. kUsage when empty
  // or q is out of range. Keys: KeyOf's of sort_keys.h for floats, the numbers themselves for kInt.
  Result<int64_t> QuantileKey(double q) const;
  // The same as a double, with the interval at q -+ RankError(), 99 %.
  Result<Estimate> Quantile(double q) const;
  double RankOfKey(int64_t key) const;  // share of the rows that are at most key; 0 when empty

 private:
  explicit Kll(const Params& params) : params_(params), levels_(1) {}
  void AddKeys(const int64_t* keys, size_t n);
  void SortFirstLevel();
  void Compact();  // until the levels keep to their size
  void CompactLevel(size_t h);
  static uint64_t SizeBelow(uint64_t above);
  Kll Settled() const;
  std::vector<std::pair<int64_t, uint64_t>> Weighted() const;  // (key, weight), ascending

  Params params_;
  uint64_t n_ = 0;
  int64_t min_ = 0, max_ = 0;                 // of the keys, where n_ > 0
  std::vector<std::vector<int64_t>> levels_;  // keys of weight 2^level; all sorted but, while updating, the first
  bool first_sorted_ = true;
};

}  // namespace pilum
