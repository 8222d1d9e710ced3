// Batches of a fragment from the streams of its files, which cut them where they like. Called by fragment.cc.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "pilum/file/file_reader.h"

namespace pilum {

struct FragmentStreamParts {
  std::string name;                               // of the fragment, for errors
  std::shared_ptr<const void> keep;               // what the streams and `system` need
  std::shared_ptr<arrow::Schema> schema;          // of the batches
  std::vector<std::unique_ptr<BatchStream>> own;  // of the same rows each; may be none
  RowSet rows;
  BatchLimits limits;  // where there is no stream
  // The values of a column that no file has, for some rows; null: it is no system column.
  std::function<Result<std::shared_ptr<arrow::Array>>(const arrow::Field& field, const RowSet& rows)> system;
};

std::unique_ptr<BatchStream> MakeFragmentStream(FragmentStreamParts parts, const ReadContext& ctx);

}  // namespace pilum
