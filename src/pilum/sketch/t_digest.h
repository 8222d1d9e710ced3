// t-digest: quantiles of numbers, finest at the ends (kll.h is the same everywhere, and exact about order). Centroids of
// mean and weight; a centroid at quantile q may weigh 2 pi n sqrt(q (1 - q)) / delta, tested with multiplications only, so
// that all machines agree. NaN and the infinities are counted beside. The same rows in the same order give the same bytes
// however they were cut into arrays, and a.Merge(b) is b.Merge(a). While at most delta values were seen all are kept: answers
// are exact, and the bytes are those of any order.
#pragma once

#include <vector>

#include "pilum/sketch/sketch.h"

namespace pilum {

class TDigest {
 public:
  struct Params {
    uint32_t delta = 200;  // about the number of centroids
    bool operator==(const Params&) const = default;
    std::string ToString() const { return fmt::format("delta={}", delta); }
  };
  static constexpr std::string_view kName = "TDigest";
  static constexpr Laws kLaws{Same::kWithinBound, Same::kWithinBound, Same::kWithinBound, false, 200};
  static constexpr uint32_t kMinDelta = 10, kMaxDelta = 1u << 16;

  static Result<TDigest> Empty(const Params& params);
  Status Update(const arrow::Array& array);  // numbers; rounded to double
  Status Merge(const TDigest& other);
  std::string ToBytes() const;
  static Result<TDigest> FromBytes(std::string_view bytes, std::string_view source);
  const Params& params() const { return params_; }

  uint64_t count() const;
  // The value at rank q, 0 to 1, in the one order (-inf first, NaN last); between centroids, by the line between them.
  // kUsage when empty or q is out of range.
  Result<double> ValueAtRank(double q) const;
  // The same with the values at q -+ RankError(q), 99 %.
  Result<Estimate> Quantile(double q) const;
  // In share of the rows: the width of a centroid, 2 pi sqrt(q (1 - q)) / delta, and one row; 0 while exact. Smooth
  // values miss by far less (docs/formats/sketches.md); values that repeat may take all of it.
  double RankError(double q) const;
  double RankOf(double value) const;  // share of the rows that are at most value; 0 when empty

 private:
  struct Centroid {
    double mean, weight;
    bool operator<(const Centroid& o) const { return mean != o.mean ? mean < o.mean : weight < o.weight; }
  };
  explicit TDigest(const Params& params) : params_(params) {}
  void Add(const double* values, size_t n);
  void Flush();  // the waiting keys into centroids
  void Compress(std::vector<Centroid> sorted);
  TDigest Flushed() const;
  double ValueIn(double rank) const;  // of the centroids, rank in rows

  Params params_;
  uint64_t low_infinities_ = 0, high_infinities_ = 0, nans_ = 0;
  double min_ = 0, max_ = 0;         // of the finite values
  double weight_ = 0;                // of the centroids: a whole number
  std::vector<Centroid> centroids_;  // ascending
  std::vector<int64_t> waiting_;     // keys of finite values (sort_keys.h)
};

}  // namespace pilum
