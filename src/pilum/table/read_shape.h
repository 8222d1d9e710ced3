// What a read of some columns is of a fragment whose files are seen through some views: the same for nearly all fragments of
// a version, and so found out once. Called by fragment.cc. Thread-safe; no I/O.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pilum/file/file_reader.h"

namespace pilum {

struct ReadShape {
  std::shared_ptr<arrow::Schema> schema;    // of the batches
  std::vector<std::vector<FieldPath>> own;  // of each view: what it has of the columns
  std::shared_ptr<arrow::Schema> held;      // what they have together
};

class ReadShapes {
 public:
  // `full`, `leaves`: the table's, by which the columns are named. `views` must live as long as this. Errors as
  // ProjectFields, with `name`.
  Result<std::shared_ptr<const ReadShape>> Of(const std::string& name, const arrow::Schema& full,
                                              const std::vector<LeafColumn>& leaves,
                                              const std::vector<const FileView*>& views,
                                              const std::vector<FieldPath>& columns) const;

 private:
  // The one asked for last.
  mutable std::mutex mutex_;
  mutable std::vector<const FileView*> views_;
  mutable std::vector<FieldPath> columns_;
  mutable std::shared_ptr<const ReadShape> shape_;
};

}  // namespace pilum
