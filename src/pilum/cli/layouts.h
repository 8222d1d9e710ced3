// How the pages of a column are stored, as one text. Used by `file columns` and `table columns`.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pilum::cli {

// Different layouts in the order they first came, and how many pages have each.
class LayoutCounts {
 public:
  void Add(const std::string& layout);
  std::string Text() const;  // the most frequent first: "mini-block(...) x3, constant"
  const std::vector<std::pair<std::string, uint64_t>>& counts() const { return counts_; }

 private:
  std::vector<std::pair<std::string, uint64_t>> counts_;
};
std::string LayoutsText(const std::vector<std::string>& pages);
std::string PerRow(uint64_t bytes, uint64_t rows);  // "12.34"; nothing for no rows

}  // namespace pilum::cli
