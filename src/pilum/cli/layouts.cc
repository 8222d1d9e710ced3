#include "pilum/cli/layouts.h"

#include <algorithm>

#include <fmt/format.h>

namespace pilum::cli {

void LayoutCounts::Add(const std::string& layout) {
  auto it = std::find_if(counts_.begin(), counts_.end(), [&](const auto& c) { return c.first == layout; });
  if (it == counts_.end()) {
    counts_.emplace_back(layout, 1);
  } else {
    ++it->second;
  }
}

std::string LayoutCounts::Text() const {
  auto counts = counts_;
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  for (const auto& [layout, n] : counts) {
    out += (out.empty() ? "" : ", ") + layout + (n > 1 && counts.size() > 1 ? fmt::format(" x{}", n) : "");
  }
  return out;
}

std::string LayoutsText(const std::vector<std::string>& pages) {
  LayoutCounts counts;
  for (const std::string& layout : pages) counts.Add(layout);
  return counts.Text();
}

std::string PerRow(uint64_t bytes, uint64_t rows) {
  return rows == 0 ? "" : fmt::format("{:.2f}", static_cast<double>(bytes) / static_cast<double>(rows));
}

}  // namespace pilum::cli
