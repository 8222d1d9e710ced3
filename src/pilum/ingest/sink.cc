// CSV and JSON lines out, the byte streams under all sinks, and TableSink::Make.
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/ingest/inputs.h"
#include "pilum/ingest/sinks.h"
#include "pilum/ingest/value_text.h"

namespace pilum {
namespace ingest {
namespace {

// Standard output, buffered by the sinks above. A reader that went away is not a failure of ours: kCancelled.
class StdoutStream : public arrow::io::OutputStream {
 public:
  Status Write(const void* data, int64_t size) override {
    const char* p = static_cast<const char*>(data);
    position_ += size;
    while (size > 0) {
      ssize_t n = ::write(STDOUT_FILENO, p, static_cast<size_t>(size));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EPIPE) return MakeError(ErrorKind::kCancelled, "standard output was closed");
      if (n < 0) return Status::IOError("standard output: ", std::strerror(errno));
      p += n;
      size -= n;
    }
    return Status::OK();
  }
  using arrow::io::OutputStream::Write;
  Status Close() override {
    closed_ = true;
    return Status::OK();
  }
  Result<int64_t> Tell() const override { return position_; }
  bool closed() const override { return closed_; }

 private:
  int64_t position_ = 0;
  bool closed_ = false;
};

class SinkStream : public arrow::io::OutputStream {
 public:
  explicit SinkStream(std::unique_ptr<ByteSink> sink) : sink_(std::move(sink)) {}
  Status Write(const void* data, int64_t size) override { return sink_->Write(data, static_cast<uint64_t>(size)); }
  using arrow::io::OutputStream::Write;
  Status Close() override {
    if (closed_) return Status::OK();
    closed_ = true;
    return sink_->Close();
  }
  Status Abort() override {  // a destructor of Arrow's must not make a half-written file appear
    closed_ = true;
    sink_.reset();
    return Status::OK();
  }
  Result<int64_t> Tell() const override { return static_cast<int64_t>(sink_->position()); }
  bool closed() const override { return closed_; }

 private:
  std::unique_ptr<ByteSink> sink_;
  bool closed_ = false;
};

constexpr size_t kFlushBytes = 256 << 10;

// Rows as text; a line buffer is flushed at a size and at the end of each batch.
class TextSink : public TableSink {
 public:
  TextSink(OutputPtr out, std::shared_ptr<arrow::Schema> schema) : out_(std::move(out)), schema_(std::move(schema)) {}

  Status Write(const arrow::RecordBatch& batch) override {
    for (int64_t i = 0; i < batch.num_rows(); ++i) {
      AppendRow(batch, i);
      if (text_.size() >= kFlushBytes) PILUM_RETURN_NOT_OK(Flush());
    }
    return Flush();
  }
  Status Close() override {
    PILUM_RETURN_NOT_OK(Flush());
    return out_->Close();
  }

 protected:
  virtual void AppendRow(const arrow::RecordBatch& batch, int64_t i) = 0;
  Status Flush() {
    Status s = text_.empty() ? Status::OK() : out_->Write(text_.data(), static_cast<int64_t>(text_.size()));
    text_.clear();
    return s;
  }

  OutputPtr out_;
  std::shared_ptr<arrow::Schema> schema_;
  std::string text_;
};

class CsvSink : public TextSink {
 public:
  CsvSink(OutputPtr out, std::shared_ptr<arrow::Schema> schema) : TextSink(std::move(out), std::move(schema)) {
    for (int c = 0; c < schema_->num_fields(); ++c) {
      if (c) text_.push_back(',');
      AppendCell(schema_->field(c)->name());
    }
    text_.push_back('\n');
  }

 protected:
  void AppendRow(const arrow::RecordBatch& batch, int64_t i) override {
    for (int c = 0; c < batch.num_columns(); ++c) {
      if (c) text_.push_back(',');
      const arrow::Array& column = *batch.column(c);
      if (column.IsNull(i)) {
        // A line with nothing on it is no row to most readers.
        if (batch.num_columns() == 1) text_.append("NA");
        continue;
      }
      cell_.clear();
      AppendValueText(*schema_->field(c), column, i, TextStyle::kPlain, &cell_);
      AppendCell(cell_);
    }
    text_.push_back('\n');
  }

 private:
  // Quoted where a reader would cut it or take it for a null.
  void AppendCell(std::string_view cell) {
    bool quote = cell.find_first_of(",\"\r\n") != std::string_view::npos;
    static const std::vector<std::string> kNulls = IngestOptions().null_values;
    if (!quote && cell.size() <= 4) quote = std::find(kNulls.begin(), kNulls.end(), cell) != kNulls.end();
    if (!quote) {
      text_.append(cell);
      return;
    }
    text_.push_back('"');
    for (char ch : cell) {
      if (ch == '"') text_.push_back('"');
      text_.push_back(ch);
    }
    text_.push_back('"');
  }
  std::string cell_;
};

class JsonLinesSink : public TextSink {
 public:
  JsonLinesSink(OutputPtr out, std::shared_ptr<arrow::Schema> schema) : TextSink(std::move(out), std::move(schema)) {
    for (int c = 0; c < schema_->num_fields(); ++c) {
      std::string key = c ? "," : "{";
      AppendJsonString(schema_->field(c)->name(), &key);
      keys_.push_back(key + ":");
    }
  }

 protected:
  void AppendRow(const arrow::RecordBatch& batch, int64_t i) override {
    for (int c = 0; c < batch.num_columns(); ++c) {
      text_.append(keys_[static_cast<size_t>(c)]);
      AppendValueText(*schema_->field(c), *batch.column(c), i, TextStyle::kJson, &text_);
    }
    text_.append(batch.num_columns() ? "}\n" : "{}\n");
  }

 private:
  std::vector<std::string> keys_;
};

}  // namespace

Result<std::shared_ptr<arrow::io::OutputStream>> OpenOutput(const std::string& path) {
  if (path == "-") return std::make_shared<StdoutStream>();
  PILUM_ASSIGN_OR_RETURN(auto sink, CreateFileOrObject(path));
  return std::make_shared<SinkStream>(std::move(sink));
}

Result<std::unique_ptr<TableSink>> MakeCsvSink(OutputPtr out, std::shared_ptr<arrow::Schema> schema) {
  return std::make_unique<CsvSink>(std::move(out), std::move(schema));
}

Result<std::unique_ptr<TableSink>> MakeJsonLinesSink(OutputPtr out, std::shared_ptr<arrow::Schema> schema) {
  return std::make_unique<JsonLinesSink>(std::move(out), std::move(schema));
}

}  // namespace ingest

Result<std::unique_ptr<TableSink>> TableSink::Make(OutputFormat format, const std::string& path,
                                                   std::shared_ptr<arrow::Schema> schema) {
  PILUM_ASSIGN_OR_RETURN(auto out, ingest::OpenOutput(path));
  auto sink = [&]() -> Result<std::unique_ptr<TableSink>> {
    switch (format) {
      case OutputFormat::kCsv: return ingest::MakeCsvSink(out, std::move(schema));
      case OutputFormat::kJsonLines: return ingest::MakeJsonLinesSink(out, std::move(schema));
      case OutputFormat::kArrow: return ingest::MakeArrowSink(out, std::move(schema));
      default: return ingest::MakeParquetSink(out, std::move(schema));
    }
  }();
  if (sink.ok() || KindOf(sink.status()) != ErrorKind::kOther) return sink;
  return MakeError(ErrorKind::kUnsupported,
                   fmt::format("{}: {}", path == "-" ? "standard output" : path, sink.status().message()));
}

}  // namespace pilum
