// Streams of Arrow batches from Parquet, CSV, JSON lines, Arrow IPC (file or stream) and Lance files. The only folder
// that includes parquet/, arrow/csv, arrow/json. Bounded memory. Called by cli.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/context.h"
#include "pilum/base/status.h"

namespace pilum {

enum class InputFormat { kAuto, kParquet, kCsv, kJsonLines, kArrow, kLance };

struct IngestOptions {
  InputFormat format = InputFormat::kAuto;  // kAuto: by content (magic), then by extension
  // CSV: which unquoted field texts are null. NaN is a float, not a null; quoted text is never null.
  std::vector<std::string> null_values = {"", "NA", "N/A", "NULL", "null"};
  char delimiter = ',';
  // Types already fixed by the dataset: CSV and JSON infer only what this does not fix.
  std::shared_ptr<arrow::Schema> known_schema;
  int64_t batch_rows = 65536;
};

// CSV and JSON types are inferred over the whole input in a first pass (int64, uint64, double, bool, date, timestamp,
// else text), so that a late row cannot contradict an early guess. A .zip, .gz or .zst of one such file is
// taken too; "-" is standard input. `ctx.pool` must outlive not only the reader but Arrow's threads that read ahead for it: use one that is
// never freed.
Result<std::shared_ptr<arrow::RecordBatchReader>> OpenInput(const std::string& path, const IngestOptions& options,
                                                            const ReadContext& ctx);

// Output for pipes: csv, jsonl, arrow (IPC stream), parquet. (lance goes through FileWriter.)
enum class OutputFormat { kCsv, kJsonLines, kArrow, kParquet };
class TableSink {
 public:
  virtual ~TableSink() = default;
  // `fd_or_path`: "-" is standard output.
  static Result<std::unique_ptr<TableSink>> Make(OutputFormat format, const std::string& path,
                                                 std::shared_ptr<arrow::Schema> schema);
  virtual Status Write(const arrow::RecordBatch& batch) = 0;
  virtual Status Close() = 0;
};

}  // namespace pilum
