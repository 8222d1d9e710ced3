// A set of row numbers of one unit, file or page, kept as sorted disjoint non-adjacent ranges. A value type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pilum/base/types.h"

namespace pilum {

class RowSet {
 public:
  RowSet() = default;
  static RowSet All(uint64_t num_rows) { return Range(0, num_rows); }
  static RowSet Range(uint64_t begin, uint64_t end);
  static RowSet FromSorted(const std::vector<uint64_t>& rows);  // ascending; duplicates allowed, kept once
  static RowSet FromRanges(std::vector<RowRange> ranges);       // any order, may overlap

  bool empty() const { return ranges_.empty(); }
  uint64_t size() const;  // rows
  const std::vector<RowRange>& ranges() const { return ranges_; }
  bool Contains(uint64_t row) const;
  // Appends at the end: begin must be at or after the last range's end.
  void Append(uint64_t begin, uint64_t end);

  RowSet Union(const RowSet& other) const;
  RowSet Intersect(const RowSet& other) const;
  RowSet Minus(const RowSet& other) const;
  RowSet Complement(uint64_t num_rows) const;  // of [0, num_rows)
  // The rows inside [begin, end), renumbered so that `begin` is 0.
  RowSet Slice(uint64_t begin, uint64_t end) const;
  // The k-th .. (k + n)-th members (by rank, not by number).
  RowSet SliceByRank(uint64_t k, uint64_t n) const;
  RowSet Shift(uint64_t by) const;
  bool IsSubsetOf(const RowSet& other) const { return Minus(other).empty(); }
  std::vector<uint64_t> ToVector() const;
  std::string ToString() const;
  bool operator==(const RowSet&) const = default;

 private:
  std::vector<RowRange> ranges_;
};

}  // namespace pilum
