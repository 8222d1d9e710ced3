// Something done to the blobs of a column, wherever in it they are: all around them is made anew, in other types where that
// gives other arrays. Called by blob_writer.cc and moved_blobs.cc. Pure but for `each`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"
#include "pilum/source/field_path.h"

namespace pilum {

// Rows that count: those below a NULL do not. Null: all do.
using LiveValues = std::vector<bool>;
bool IsLive(const arrow::Array& array, const LiveValues* live, int64_t i);

struct BlobColumn {
  const arrow::Field& field;  // as the table declares it
  const FieldPath& path;      // of it; of a list, the list's
  std::string name;           // for messages: "s.b", "l.item"
};
using BlobMapping =
    std::function<Result<std::shared_ptr<arrow::Array>>(const BlobColumn&, const arrow::Array&, const LiveValues*)>;

// `array` belongs to `field`, of the table, which has blobs in it. kUsage: it is of another shape.
Result<std::shared_ptr<arrow::Array>> MapBlobs(const arrow::Field& field, const std::shared_ptr<arrow::Array>& array,
                                               const BlobMapping& each);

}  // namespace pilum
