// From the top-level field down to one leaf of a 2.0 file: the lists and structs on the way, and reads of some rows
// through them, level by level. For columns.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pilum/encoding/page.h"
#include "pilum/encoding/v2_0/array.h"

namespace pilum::v2_0 {

struct StoredColumn;

// A column of list offsets or of values. Immutable.
struct Column {
  std::string name;                               // dotted
  struct Part {                                   // a page
    NodePtr node;                                 // the offsets, or the values
    uint64_t null_adjustment = 0, num_items = 0;  // lists
  };
  std::vector<Part> pages;
  std::vector<uint64_t> first_entry;  // of each page, and last the number of entries
  std::vector<uint64_t> first_item;   // lists: the same of the items
  std::shared_ptr<const StoredColumn> stored;
};

struct PathStep {
  std::shared_ptr<const Column> list;     // null: a struct, which stores nothing
  std::shared_ptr<arrow::DataType> type;  // of the array at this step, structs cut down to this path
};

struct Path {
  const LeafColumn* leaf = nullptr;
  std::vector<PathStep> steps;  // outermost first
  std::shared_ptr<const Column> values;
};

// `rows`: of the whole field, not empty. `path` must outlive the read.
std::unique_ptr<PageRead> StartPathRead(const Path& path, RowSet rows);

}  // namespace pilum::v2_0
