// JSON lines: one object a line. Two passes: the first infers the type of every column that the dataset does not fix,
// over the whole input; the second builds batches.
#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/io/buffered.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/ingest/inputs.h"
#include "pilum/ingest/json_append.h"
#include "pilum/ingest/json_shape.h"

namespace pilum::ingest {
namespace {

constexpr size_t kMaxLine = 256 << 20;
constexpr size_t kBatchBytes = 32 << 20;  // a batch is cut after this much text

class LineReader {
 public:
  static Result<LineReader> Open(const std::string& path, arrow::MemoryPool* pool) {
    LineReader r;
    PILUM_ASSIGN_OR_RETURN(r.file_, arrow::io::ReadableFile::Open(path, pool));
    return r;
  }
  int64_t line() const { return line_; }

  // The next line that is not blank, nullopt at the end. Valid until the next call.
  Result<std::optional<std::string_view>> Next() {
    for (;;) {
      size_t newline = text_.find('\n', at_);
      while (newline == std::string::npos && !ended_) {
        PILUM_RETURN_NOT_OK(Fill());
        newline = text_.find('\n', at_);
      }
      if (newline == std::string::npos && at_ >= text_.size()) return std::nullopt;
      size_t end = newline == std::string::npos ? text_.size() : newline;
      std::string_view line = std::string_view(text_).substr(at_, end - at_);
      at_ = newline == std::string::npos ? text_.size() : newline + 1;
      if (++line_ == 1 && line.substr(0, 3) == "\xef\xbb\xbf") line.remove_prefix(3);
      if (line.find_first_not_of(" \t\r") != std::string_view::npos) return line;
    }
  }

 private:
  Status Fill() {
    text_.erase(0, at_);
    at_ = 0;
    if (text_.size() > kMaxLine) return Status::Invalid(fmt::format("line {} is longer than 256 MiB", line_ + 1));
    PILUM_ASSIGN_OR_RETURN(auto chunk, file_->Read(1 << 20));
    ended_ = chunk->size() == 0;
    text_.append(reinterpret_cast<const char*>(chunk->data()), static_cast<size_t>(chunk->size()));
    return Status::OK();
  }

  std::shared_ptr<arrow::io::ReadableFile> file_;
  std::string text_;
  size_t at_ = 0;
  bool ended_ = false;
  int64_t line_ = 0;
};

Status AtLine(const LocalInput& input, int64_t line, const Status& s) {
  if (s.ok()) return s;
  ErrorKind kind = KindOf(s) == ErrorKind::kOther ? ErrorKind::kCorrupt : KindOf(s);
  return MakeError(kind, fmt::format("{}: line {}: {}", input.name, line, s.message()));
}

Result<JsonValue> ParseRow(std::string_view line) {
  PILUM_ASSIGN_OR_RETURN(JsonValue row, ParseJson(line));
  if (row.kind == JsonValue::Kind::kObject) return row;
  return Status::Invalid(fmt::format(
      "{} where one object a line is wanted{}", KindName(row.kind),
      row.kind == JsonValue::Kind::kList ? " (an array of objects: unpack it, e.g. with jq -c '.[]')" : ""));
}

Result<std::shared_ptr<arrow::Schema>> InferSchema(const LocalInput& input, const IngestOptions& options,
                                                   const ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto lines, LineReader::Open(input.path, ctx.memory_pool()));
  std::vector<std::string> names;
  std::vector<JsonShape> shapes;
  std::unordered_map<std::string, size_t> index;
  for (;;) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    PILUM_ASSIGN_OR_RETURN(auto line, lines.Next());
    if (!line) break;
    auto row = ParseRow(*line);
    if (!row.ok()) return AtLine(input, lines.line(), row.status());
    for (size_t i = 0; i < row->keys.size(); ++i) {
      auto [it, is_new] = index.emplace(row->keys[i], names.size());
      if (is_new) {
        names.push_back(row->keys[i]);
        shapes.emplace_back();
        if (names.size() > 100'000)
          return AtLine(input, lines.line(), Status::Invalid("over 100,000 different columns"));
      }
      if (KnownType(options.known_schema, row->keys[i])) continue;
      PILUM_RETURN_NOT_OK(
          AtLine(input, lines.line(), shapes[it->second].Add(row->items[i], row->keys[i], lines.line())));
    }
  }
  if (names.empty()) return UsageError("{}: no rows, so no columns either", input.name);
  arrow::FieldVector fields;
  for (size_t c = 0; c < names.size(); ++c) {
    auto known = KnownType(options.known_schema, names[c]);
    fields.push_back(arrow::field(names[c], known ? known : shapes[c].type()));
  }
  return arrow::schema(std::move(fields));
}

class JsonReader : public arrow::RecordBatchReader {
 public:
  JsonReader(LocalInput input, std::shared_ptr<arrow::Schema> schema, LineReader lines, int64_t batch_rows,
             ReadContext ctx)
      : input_(std::move(input)),
        schema_(std::move(schema)),
        lines_(std::move(lines)),
        batch_rows_(batch_rows),
        ctx_(std::move(ctx)) {}

  Status Init() {
    for (int c = 0; c < schema_->num_fields(); ++c) {
      const auto& field = schema_->field(c);
      read_fields_.push_back(field->WithType(ReadTypeFor(field->type())));
      index_.emplace(field->name(), static_cast<size_t>(c));
      PILUM_ASSIGN_OR_RETURN(auto builder, arrow::MakeBuilder(read_fields_.back()->type(), ctx_.memory_pool()));
      builders_.push_back(std::move(builder));
    }
    row_of_.assign(builders_.size(), -1);
    return Status::OK();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    out->reset();
    int64_t rows = 0;
    size_t bytes = 0;
    while (rows < batch_rows_ && bytes < kBatchBytes) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      PILUM_ASSIGN_OR_RETURN(auto line, lines_.Next());
      if (!line) break;
      bytes += line->size();
      PILUM_RETURN_NOT_OK(AtLine(input_, lines_.line(), AppendRow(*line)));
      ++rows;
    }
    if (rows == 0) return Status::OK();
    arrow::ArrayVector columns(builders_.size());
    for (size_t c = 0; c < columns.size(); ++c) PILUM_RETURN_NOT_OK(builders_[c]->Finish(&columns[c]));
    auto batch = arrow::RecordBatch::Make(arrow::schema(read_fields_), rows, std::move(columns));
    return CastBatch(batch, schema_, input_.name, ctx_.memory_pool()).Value(out);
  }

 private:
  Status AppendRow(std::string_view line) {
    PILUM_ASSIGN_OR_RETURN(JsonValue row, ParseRow(line));
    ++row_;
    for (size_t i = 0; i < row.keys.size(); ++i) {
      auto it = index_.find(row.keys[i]);
      if (it == index_.end()) return Status::Invalid("the file changed while it was read");
      if (row_of_[it->second] == row_) return Status::Invalid(fmt::format("'{}' is there twice", row.keys[i]));
      row_of_[it->second] = row_;
      PILUM_RETURN_NOT_OK(AppendJson(row.items[i], row.keys[i], builders_[it->second].get()));
    }
    for (size_t c = 0; c < builders_.size(); ++c) {
      if (row_of_[c] != row_) PILUM_RETURN_NOT_OK(builders_[c]->AppendNull());
    }
    return Status::OK();
  }

  LocalInput input_;
  std::shared_ptr<arrow::Schema> schema_;
  LineReader lines_;
  int64_t batch_rows_;
  ReadContext ctx_;
  arrow::FieldVector read_fields_;
  std::unordered_map<std::string, size_t> index_;
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders_;
  std::vector<int64_t> row_of_;  // the row that a column last got a value in
  int64_t row_ = -1;
};

}  // namespace

Result<ReaderPtr> OpenJsonLines(const LocalInput& input, const IngestOptions& options, const ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto schema, InferSchema(input, options, ctx));
  PILUM_ASSIGN_OR_RETURN(auto lines, LineReader::Open(input.path, ctx.memory_pool()));
  auto reader = std::make_shared<JsonReader>(input, std::move(schema), std::move(lines), options.batch_rows, ctx);
  PILUM_RETURN_NOT_OK(reader->Init());
  return reader;
}

}  // namespace pilum::ingest
