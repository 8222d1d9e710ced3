// Writers of all columns of a 2.0 file: every field has one, a struct a header, a list its offsets, a leaf its values.
// Called by the file layer. Format: docs/formats/lance_file.md, "Version 2.0".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pilum/encoding/page_writer.h"
#include "pilum/encoding/shape.h"

namespace pilum::v2_0 {

struct ColumnToWrite {
  int top_level = 0;     // the field whose arrays it takes
  bool is_blob = false;  // its column encoding says so
  std::unique_ptr<ColumnWriter> writer;
};

// In column order. Needs nothing of `leaves` afterwards. kUnsupported for what version 2.0 cannot hold, naming the field.
Result<std::vector<ColumnToWrite>> MakeColumnWriters(const std::vector<LeafColumn>& leaves,
                                                     const PageWriterOptions& options);

}  // namespace pilum::v2_0
