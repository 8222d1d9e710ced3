#include "pilum/table/statistics.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

namespace pilum {
namespace {

FragmentLengths LengthsOf(std::vector<uint64_t> rows) {
  FragmentLengths out;
  if (rows.empty()) return out;
  std::sort(rows.begin(), rows.end());
  const auto at = [&](uint64_t percent) { return rows[std::min(rows.size() - 1, rows.size() * percent / 100)]; };
  out.min = rows.front();
  out.max = rows.back();
  out.mean = std::accumulate(rows.begin(), rows.end(), uint64_t{0}) / rows.size();
  out.p25 = at(25), out.p50 = at(50), out.p75 = at(75), out.p99 = at(99);
  return out;
}

}  // namespace

TableStatistics StatisticsOf(const Manifest& manifest, const std::vector<TableIndex>& indices, uint64_t rows) {
  TableStatistics out;
  out.num_rows = rows;
  out.num_fragments = manifest.fragments.size();
  std::vector<uint64_t> lengths;
  for (const Fragment& f : manifest.fragments) {
    lengths.push_back(f.physical_rows);
    out.num_small_fragments += f.physical_rows < TableStatistics::kSmall;
    for (const DataFile& file : f.files) out.total_bytes += file.size;
  }
  std::set<std::string> names;
  for (const TableIndex& index : indices) {
    out.total_bytes += index.total_bytes().value_or(0);
    if (!index.is_system() && index.kind != "Json" && index.kind != "Unknown") names.insert(index.name);
  }
  out.num_indices = names.size();
  out.lengths = LengthsOf(std::move(lengths));
  return out;
}

}  // namespace pilum
