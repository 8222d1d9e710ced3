// Count-min: how often each value came. An estimate is never below the truth. Two rules of update: plain, whose merge is
// the sketch of all rows in every byte; and conservative, which raises only the smallest counters: nearer the truth while
// one sketch is built, but its bytes depend on the order of the rows, and a merge (counters added) is an upper bound only,
// no nearer than a plain one need be.
#pragma once

#include <vector>

#include "pilum/sketch/sketch.h"

namespace pilum {

class CountMin {
 public:
  struct Params {
    uint32_t width = 2048;  // counters a row: error e / width of all rows ...
    uint32_t depth = 5;     // ... but for one value in e^depth
    bool conservative = false;
    uint64_t seed = 0;
    bool operator==(const Params&) const = default;
    std::string ToString() const;
  };
  static constexpr std::string_view kName = "CountMin";
  static constexpr Laws kLaws{Same::kBytes, Same::kBytes, Same::kBytes, false, ~0ull};  // of the plain rule
  static constexpr uint32_t kMaxDepth = 16;
  static constexpr uint64_t kMaxCells = uint64_t{1} << 28;

  static Result<CountMin> Empty(const Params& params);
  Status Update(const arrow::Array& array);
  void Insert(uint64_t hash, uint64_t times = 1);  // hash: before the seed
  Status Merge(const CountMin& other);
  std::string ToBytes() const;
  static Result<CountMin> FromBytes(std::string_view bytes, std::string_view source);
  const Params& params() const { return params_; }

  uint64_t total() const { return total_; }  // rows counted
  // value is an upper bound of the count; low is below the truth with the confidence 1 - e^-depth.
  Estimate Count(uint64_t hash) const;

 private:
  explicit CountMin(const Params& params) : params_(params), cells_(uint64_t{params.width} * params.depth), total_(0) {}
  void InsertSeeded(uint64_t hash, uint64_t times);
  uint64_t CellOf(uint64_t hash, uint32_t row) const;

  Params params_;
  std::vector<uint64_t> cells_;  // row after row
  uint64_t total_;
};

}  // namespace pilum
