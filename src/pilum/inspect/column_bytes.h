// How many bytes each column of a version has on disk, by its data files' own page tables. Called by cli for the report.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pilum/table/table.h"

namespace pilum {

struct ColumnBytes {
  std::string name, type;  // of the top-level column
  uint64_t bytes = 0;
};
struct MeasuredColumns {
  std::vector<ColumnBytes> columns;  // in the schema's order
  uint64_t files = 0, measured = 0;  // data files; those that were opened. Bytes are of those alone
};

// Opens at most `most` data files, spread evenly. Files that do not open, and legacy ones, are passed over.
Result<MeasuredColumns> MeasureColumns(const Table& table, uint64_t most, ReadContext& ctx);

}  // namespace pilum
