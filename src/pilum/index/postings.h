// Row numbers as bytes: runs of consecutive rows, each as the gap before it and its length (docs/formats/sidecar.md,
// "Postings"). What lies under one value of an inverted index, under NULL, under a token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/row_set.h"

namespace pilum {

// Rows one after another, ascending; the row that came last may come again and counts once.
class PostingsBuilder {
 public:
  void Add(uint64_t row) {
    if (row == end_) {
      ++end_;
      return;
    }
    if (row + 1 == end_) return;
    Flush();
    begin_ = row;
    end_ = row + 1;
  }
  uint64_t rows() const { return flushed_rows_ + (end_ - begin_); }
  uint64_t runs() const { return flushed_runs_ + (end_ > begin_); }
  uint64_t size() const { return bytes_.size(); }  // bytes so far
  // No more rows.
  const std::string& Finish() {
    Flush();
    begin_ = end_;
    return bytes_;
  }

 private:
  void Flush();
  std::string bytes_;
  uint64_t begin_ = 0, end_ = 0;  // the open run
  uint64_t written_to_ = 0;       // where the last written run ended
  uint64_t flushed_rows_ = 0, flushed_runs_ = 0;
};

// The rows of runs that may overlap, in any order, all of them below num_rows.
RowSet UnionOfRuns(std::vector<RowRange> runs, uint64_t num_rows);

std::string PostingsOf(const RowSet& rows);

// Appends the runs to `out`, ascending and disjoint among themselves. false: they are not rows of [0, num_rows) in the
// one way to write them; `out` may hold some of them then.
bool ReadPostings(std::string_view bytes, uint64_t num_rows, std::vector<RowRange>* out);

}  // namespace pilum
