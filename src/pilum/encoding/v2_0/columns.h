// The columns of a 2.0 file. Every field has one: a struct a header, a list its offsets, a leaf its values; pages of
// different columns split independently. Here they become what 2.1 files bring: for each leaf column of the schema
// pages of whole top-level rows, each read through the lists and structs above it. Called by the file layer.
// Format: docs/formats/lance_file.md, "Version 2.0".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/encoding/page.h"
#include "pilum/encoding/shape.h"

namespace pilum::v2_0 {

struct StoredColumn {  // for showing what a file holds
  std::string name;    // dotted
  std::shared_ptr<arrow::DataType> type;
  std::vector<PageInfo> pages;  // with `array`; lengths in entries of this column
};

struct Columns {
  std::vector<std::vector<std::unique_ptr<Page>>> pages;  // one vector a leaf; they keep what they read through
  std::vector<std::shared_ptr<const StoredColumn>> stored;
  uint64_t num_rows = 0;
};

// `columns`: as the metadata lists them, each page with its `array`. `leaves` are those of `schema` and must outlive
// the pages. `claimed_rows`: what the descriptor says; pages without bytes may claim up to it (or 16 million). Checks
// every page and that the columns fit together. Errors name column and page.
Result<Columns> OpenColumns(const arrow::Schema& schema, const std::vector<LeafColumn>& leaves,
                            std::vector<std::vector<PageInfo>> columns, uint64_t claimed_rows, uint64_t file_size);

}  // namespace pilum::v2_0
