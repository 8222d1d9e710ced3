// The statistics of a version as LanceDB's table.stats() gives them, number for number. Called by cli and python. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "pilum/table/indices.h"
#include "pilum/table/manifest.h"

namespace pilum {

// Of the rows in a fragment's files, deleted ones too. All 0 where there is none.
struct FragmentLengths {
  uint64_t min = 0, max = 0, mean = 0;          // mean: rounded down
  uint64_t p25 = 0, p50 = 0, p75 = 0, p99 = 0;  // the number at that part of all, in order
};

struct TableStatistics {
  static constexpr uint64_t kSmall = 100000;  // a fragment of fewer rows is small
  uint64_t total_bytes = 0;                   // of data files and of indices
  uint64_t num_rows = 0;                      // without deleted ones
  uint64_t num_indices = 0;                   // by name, but for the system's and those of kinds that LanceDB lists not
  uint64_t num_fragments = 0, num_small_fragments = 0;
  FragmentLengths lengths;
};
// `rows`: where the manifest does not tell them (Table::CountRows).
TableStatistics StatisticsOf(const Manifest& manifest, const std::vector<TableIndex>& indices, uint64_t rows);

}  // namespace pilum
