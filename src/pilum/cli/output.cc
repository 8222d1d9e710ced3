#include "pilum/cli/output.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/cli/common.h"
#include "pilum/cli/render.h"
#include "pilum/file/file_writer.h"
#include "pilum/ingest/ingest.h"
#include "pilum/io/object_store.h"

namespace pilum::cli {
namespace {

class TableWriter : public RowWriter {
 public:
  TableWriter(const arrow::Schema& schema, GridStyle style) : renderer_(schema, style) {}
  Status Write(const arrow::RecordBatch& batch) override { return renderer_.Write(batch); }
  Status Close() override { return renderer_.Close(); }

 private:
  TableRenderer renderer_;
};

class SinkWriter : public RowWriter {
 public:
  explicit SinkWriter(std::unique_ptr<TableSink> sink) : sink_(std::move(sink)) {}
  Status Write(const arrow::RecordBatch& batch) override { return sink_->Write(batch); }
  Status Close() override { return sink_->Close(); }

 private:
  std::unique_ptr<TableSink> sink_;
};

// A Lance file is written front to back, so it can go into a pipe.
class StdoutSink : public ByteSink {
 public:
  Status Write(const void* data, uint64_t size) override {
    position_ += size;
    return Print({static_cast<const char*>(data), size});
  }
  uint64_t position() const override { return position_; }
  Status Close() override { return Status::OK(); }
  const std::string& name() const override { return name_; }

 private:
  uint64_t position_ = 0;
  std::string name_ = "standard output";
};

class LanceWriter : public RowWriter {
 public:
  explicit LanceWriter(std::unique_ptr<FileWriter> file) : file_(std::move(file)) {}
  Status Write(const arrow::RecordBatch& batch) override { return file_->Write(batch); }
  Status Close() override { return file_->Finish().status(); }

 private:
  std::unique_ptr<FileWriter> file_;
};

Result<std::unique_ptr<RowWriter>> MakeLance(const OutputOptions& options, const std::string& path,
                                             std::shared_ptr<arrow::Schema> schema) {
  WriteOptions writing;
  PILUM_ASSIGN_OR_RETURN(writing.profile, ParseProfile(options.profile));
  if (options.version == "2.0")
    writing.version = FileVersion::kV2_0;
  else if (options.version == "2.1")
    writing.version = FileVersion::kV2_1;
  else if (options.version != "2.2")
    return UsageError("--version {}: Lance files are written in 2.0, 2.1 and 2.2", options.version);
  std::unique_ptr<ByteSink> sink;
  if (path == "-") {
    sink = std::make_unique<StdoutSink>();
  } else {
    PILUM_ASSIGN_OR_RETURN(sink, CreateFileOrObject(path));
  }
  PILUM_ASSIGN_OR_RETURN(auto file, FileWriter::Make(std::move(sink), std::move(schema), writing));
  return std::make_unique<LanceWriter>(std::move(file));
}

}  // namespace

void AddOutputOptions(CLI::App& command, OutputOptions* options) {
  command
      .add_option(
          "--format,-f", options->format,
          "table, csv, jsonl, arrow (IPC stream), parquet or lance (default: by --output's name; else a table on a "
          "terminal, csv in a pipe)")
      ->type_name("FORMAT");
  command.add_option("--output,-o", options->output, "Write to this file, which appears when it is complete")
      ->type_name("FILE");
}

std::string FormatOfName(const std::string& path) {
  size_t dot = path.find_last_of("./");
  if (dot == std::string::npos || path[dot] == '/') return "";
  std::string ext = path.substr(dot + 1);
  for (char& c : ext) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (ext == "csv" || ext == "jsonl" || ext == "arrow" || ext == "parquet" || ext == "lance") return ext;
  if (ext == "ndjson" || ext == "json") return "jsonl";
  if (ext == "pq") return "parquet";
  if (ext == "arrows" || ext == "ipc") return "arrow";
  if (ext == "txt") return "table";
  return "";
}

Result<std::unique_ptr<RowWriter>> RowWriter::Make(const OutputOptions& options,
                                                   std::shared_ptr<arrow::Schema> schema) {
  const std::string path = options.output.empty() ? "-" : options.output;
  std::string format = options.format;
  if (format == "auto" && path != "-") {
    format = FormatOfName(path);
    if (format.empty())
      return UsageError("{}: its name says no format; add --format csv, jsonl, arrow, parquet or lance", path);
  }
  if (format == "auto") format = ::isatty(STDOUT_FILENO) ? "table" : "csv";
  const bool binary = format == "arrow" || format == "parquet" || format == "lance";
  if (binary && path == "-" && ::isatty(STDOUT_FILENO)) {
    return UsageError("--format {} is binary and standard output is a terminal; add --output FILE or a pipe", format);
  }
  if (format == "table") {
    if (path != "-") return UsageError("--format table goes to standard output only; for {} choose csv or jsonl", path);
    return std::make_unique<TableWriter>(*schema, GridStyle::ForStdout());
  }
  if (format == "lance") return MakeLance(options, path, std::move(schema));
  static const std::map<std::string, OutputFormat> kFormats = {{"csv", OutputFormat::kCsv},
                                                               {"jsonl", OutputFormat::kJsonLines},
                                                               {"arrow", OutputFormat::kArrow},
                                                               {"parquet", OutputFormat::kParquet}};
  auto it = kFormats.find(format);
  if (it == kFormats.end())
    return UsageError("--format {}: not one of table, csv, jsonl, arrow, parquet, lance", format);
  PILUM_ASSIGN_OR_RETURN(auto sink, TableSink::Make(it->second, path, std::move(schema)));
  return std::make_unique<SinkWriter>(std::move(sink));
}

}  // namespace pilum::cli
