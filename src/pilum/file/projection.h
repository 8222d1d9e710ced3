// From field paths to what a read does: which leaf columns to decode, how to put them together, and the schema that
// comes out. Called by file_reader.cc; pure, no I/O.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/encoding/shape.h"

namespace pilum {

// One top-level field that is decoded once, however often it is given out.
struct ReadField {
  int top_level = 0;
  std::vector<int> leaves;               // indexes into the file's leaf columns, ascending
  std::shared_ptr<arrow::Field> merged;  // what MergeLeaves gives: holds exactly these leaves
  std::shared_ptr<arrow::Field> field;   // what the read gives: `merged`, cut down inside packed structs
};

struct Projection {
  std::shared_ptr<arrow::Schema> schema;  // one field an output column, with the file's schema metadata
  std::vector<ReadField> reads;
  std::vector<int> outputs;  // output column -> index into reads
};

// nullopt: all columns. Unknown path: kNotFound listing near names; a name that several fields have, a path into a map
// or an empty path: kUsage. `file` names the file in errors.
Result<Projection> ProjectFields(const std::string& file, const arrow::Schema& schema,
                                 const std::vector<LeafColumn>& leaves,
                                 const std::optional<std::vector<FieldPath>>& columns);

// What files of one schema have in common: those of a table mostly are of one or a few shapes. Thread-safe.
class FileShape {
 public:
  static Result<std::shared_ptr<const FileShape>> Make(std::shared_ptr<arrow::Schema> schema);
  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  const std::vector<LeafColumn>& leaves() const { return leaves_; }
  // As ProjectFields. The last one is kept: it is mostly asked for again.
  Result<std::shared_ptr<const Projection>> Project(const std::string& file,
                                                    const std::optional<std::vector<FieldPath>>& columns) const;

 private:
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<LeafColumn> leaves_;
  mutable std::mutex mutex_;
  mutable std::optional<std::vector<FieldPath>> projected_;  // what projection_ is of
  mutable std::shared_ptr<const Projection> projection_;
};

// `array` with the struct children that `to` lacks left out. No copy.
Result<std::shared_ptr<arrow::Array>> PruneArray(const std::shared_ptr<arrow::Array>& array,
                                                 const std::shared_ptr<arrow::DataType>& to);

}  // namespace pilum
