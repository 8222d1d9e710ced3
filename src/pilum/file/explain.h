// How the writer would store the columns of a file, and why: its policy run again on the decoded values. Called by cli.
#pragma once

#include <string>
#include <vector>

#include "pilum/encoding/policy.h"
#include "pilum/file/file_reader.h"

namespace pilum {

struct PlannedColumn {
  std::string name;                       // dotted leaf name, as in FileReader::Columns
  uint64_t pages = 0, bytes = 0;          // bytes: without blob payloads
  std::vector<std::string> layouts;       // one a page
  std::vector<std::string> reasons;       // one a page
  std::vector<Alternative> alternatives;  // summed over the pages, in order of first mention
};

// All leaf columns in column order. Reads the file once, a top-level column at a time.
Result<std::vector<PlannedColumn>> PlanColumns(const FileReader& file, WriteProfile profile, ReadContext& ctx);

}  // namespace pilum
