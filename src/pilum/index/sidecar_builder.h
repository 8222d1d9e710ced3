// Builds the sidecars of a part from the batches that are written into it, without reading the part again. Used by
// part/part_writer and by checks. Not thread-safe. The bytes depend on the rows and the schema, not on the batching.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/index/column_collector.h"
#include "pilum/index/column_stats.h"
#include "pilum/index/sidecar.h"

namespace pilum {

class SidecarBuilder {
 public:
  static constexpr uint64_t kHeaderLimit = 2'000'000;   // most bytes of an .idxh
  static constexpr uint64_t kHeaderFloor = 32 << 10;    // always allowed; above it, a tenth of the .idx
  static constexpr uint64_t kMaxDistinct = 1 << 20;     // a column; see docs/formats/sidecar.md
  static constexpr uint64_t kDistinctBudget = 8 << 20;  // all columns
  static constexpr uint64_t kMinDistinct = 1024;

  explicit SidecarBuilder(const arrow::Schema& schema);

  // Columns are taken by position and must have the schema's types.
  Status Append(const arrow::RecordBatch& batch);
  uint64_t num_rows() const { return num_rows_; }

  struct Files {
    std::string index, header, stats;  // bytes of .idx, .idxh and .stats
  };
  // `stored`: the schema as the part's bytes carry it. No more rows.
  Result<Files> Finish(const arrow::Schema& stored, const Hash128& part_hash);

  // What was collected, for checks: every column outside of lists, structs before their fields. After Finish.
  struct Column {
    FieldPath path;
    std::unique_ptr<ColumnCollector> collector;
    ColumnStats stats;
    std::vector<size_t> children;  // of a struct
  };
  const std::vector<Column>& columns() const { return columns_; }

 private:
  size_t AddColumn(FieldPath path, const arrow::DataType& type, uint64_t cap);
  Status AppendColumn(size_t at, const arrow::Array& array);
  void Decide(const Column& column, bool built, std::string reason);

  std::vector<Column> columns_;
  std::vector<size_t> top_level_;
  std::vector<BuildDecision> decisions_;
  uint64_t num_rows_ = 0;
};

}  // namespace pilum
