// Where a command's rows go: a table on a terminal, or csv, jsonl, arrow, parquet, lance to a pipe or a file.
#pragma once

#include <memory>
#include <string>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace CLI {
class App;
}

namespace pilum::cli {

struct OutputOptions {
  std::string format = "auto";  // auto: by the name of `output`; else table on a terminal, csv in a pipe
  std::string output;           // empty or "-": standard output
  std::string version = "2.2";  // of a Lance file
  std::string profile = "balanced";
};
// --format and --output.
void AddOutputOptions(CLI::App& command, OutputOptions* options);

class RowWriter {
 public:
  virtual ~RowWriter() = default;
  // kUsage for an unknown format. A file appears under its name at Close, whole or not at all.
  static Result<std::unique_ptr<RowWriter>> Make(const OutputOptions& options, std::shared_ptr<arrow::Schema> schema);
  virtual Status Write(const arrow::RecordBatch& batch) = 0;
  virtual Status Close() = 0;
};

// The format that a file name's extension says; empty if none.
std::string FormatOfName(const std::string& path);

}  // namespace pilum::cli
