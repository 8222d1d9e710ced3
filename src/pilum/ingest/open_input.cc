// OpenInput: which format, then one stream for all formats: batches of at most batch_rows, checked, with the input's
// name in every error.
#include <cctype>

#include <arrow/compute/api.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/ingest/inputs.h"

namespace pilum {
namespace ingest {

std::shared_ptr<arrow::DataType> KnownType(const std::shared_ptr<arrow::Schema>& known, const std::string& column) {
  if (!known) return nullptr;
  auto field = known->GetFieldByName(column);
  if (!field || field->type()->id() == arrow::Type::NA) return nullptr;
  return field->type();
}

Status CheckColumnNames(const std::vector<std::string>& names, const std::string& input) {
  std::unordered_map<std::string_view, size_t> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    auto [it, is_new] = seen.emplace(names[i], i);
    if (!is_new) {
      return UsageError("{}: columns {} and {} are both named '{}'; rename one", input, it->second + 1, i + 1,
                        names[i]);
    }
  }
  return Status::OK();
}

std::shared_ptr<arrow::DataType> ReadTypeFor(const std::shared_ptr<arrow::DataType>& wanted) {
  switch (wanted->id()) {
    case arrow::Type::DICTIONARY: return static_cast<const arrow::DictionaryType&>(*wanted).value_type();
    case arrow::Type::EXTENSION: return static_cast<const arrow::ExtensionType&>(*wanted).storage_type();
    case arrow::Type::HALF_FLOAT: return arrow::float32();
    case arrow::Type::STRING_VIEW: return arrow::utf8();
    case arrow::Type::BINARY_VIEW: return arrow::binary();
    default: return wanted;
  }
}

namespace {

Result<std::shared_ptr<arrow::Array>> CastColumn(const std::shared_ptr<arrow::Array>& column,
                                                 const std::shared_ptr<arrow::DataType>& type,
                                                 arrow::MemoryPool* pool) {
  if (type->id() == arrow::Type::EXTENSION) {
    return arrow::ExtensionType::WrapArray(type, column);
  }
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  arrow::compute::ExecContext exec(pool);
  if (type->id() == arrow::Type::DICTIONARY) {
    PILUM_ASSIGN_OR_RETURN(auto encoded, arrow::compute::DictionaryEncode(
                                             column, arrow::compute::DictionaryEncodeOptions::Defaults(), &exec));
    auto made = encoded.make_array();
    const auto& array = static_cast<const arrow::DictionaryArray&>(*made);
    const auto& wanted = static_cast<const arrow::DictionaryType&>(*type);
    PILUM_ASSIGN_OR_RETURN(auto indices, arrow::compute::Cast(*array.indices(), wanted.index_type(),
                                                              arrow::compute::CastOptions::Safe(), &exec));
    return arrow::DictionaryArray::FromArrays(type, indices, array.dictionary());
  }
  return arrow::compute::Cast(*column, type, arrow::compute::CastOptions::Safe(), &exec);
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> CastBatch(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                      const std::shared_ptr<arrow::Schema>& schema,
                                                      const std::string& name, arrow::MemoryPool* pool) {
  arrow::ArrayVector columns = batch->columns();
  for (size_t c = 0; c < columns.size(); ++c) {
    const auto& field = schema->field(static_cast<int>(c));
    if (columns[c]->type()->Equals(*field->type())) continue;
    auto cast = CastColumn(columns[c], field->type(), pool);
    if (!cast.ok()) return WithContext(fmt::format("{}: column '{}'", name, field->name()), cast.status());
    columns[c] = *cast;
  }
  return arrow::RecordBatch::Make(schema, batch->num_rows(), std::move(columns));
}

namespace {

std::string Lower(std::string s) {
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

std::string_view FormatName(InputFormat f) {
  switch (f) {
    case InputFormat::kParquet: return "Parquet";
    case InputFormat::kCsv: return "CSV";
    case InputFormat::kJsonLines: return "JSON lines";
    case InputFormat::kArrow: return "Arrow IPC";
    case InputFormat::kLance: return "Lance";
    default: return "unknown";
  }
}

InputFormat FormatOfExtension(const std::string& path) {
  std::string lower = Lower(path);
  auto ends = [&](std::string_view e) {
    return lower.size() >= e.size() && lower.compare(lower.size() - e.size(), e.size(), e) == 0;
  };
  if (ends(".parquet") || ends(".pq")) return InputFormat::kParquet;
  if (ends(".csv") || ends(".tsv") || ends(".tab")) return InputFormat::kCsv;
  if (ends(".jsonl") || ends(".ndjson") || ends(".json")) return InputFormat::kJsonLines;
  if (ends(".arrow") || ends(".arrows") || ends(".feather") || ends(".ipc")) return InputFormat::kArrow;
  if (ends(".lance")) return InputFormat::kLance;
  return InputFormat::kAuto;
}

// What the bytes themselves say; kAuto where they say nothing (text).
InputFormat FormatOfContent(std::string_view head, std::string_view tail) {
  auto starts = [&](std::string_view m) { return head.substr(0, m.size()) == m; };
  if (starts("PAR1") || starts("PARE")) return InputFormat::kParquet;
  if (starts("ARROW1") || starts("\xff\xff\xff\xff")) return InputFormat::kArrow;
  if (tail.size() >= 4 && tail.substr(tail.size() - 4) == "LANC") return InputFormat::kLance;
  return InputFormat::kAuto;
}

InputFormat FormatOfText(std::string_view head) {
  if (head.substr(0, 3) == "\xef\xbb\xbf") head.remove_prefix(3);
  for (char c : head) {
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
    return c == '{' ? InputFormat::kJsonLines : InputFormat::kCsv;
  }
  return InputFormat::kCsv;
}

Result<InputFormat> FormatOf(const ingest::LocalInput& input) {
  PILUM_ASSIGN_OR_RETURN(auto file, arrow::io::ReadableFile::Open(input.path));
  PILUM_ASSIGN_OR_RETURN(int64_t size, file->GetSize());
  PILUM_ASSIGN_OR_RETURN(auto head, file->ReadAt(0, std::min<int64_t>(size, 4096)));
  PILUM_ASSIGN_OR_RETURN(auto tail, file->ReadAt(std::max<int64_t>(size - 4, 0), std::min<int64_t>(size, 4)));
  std::string_view bytes(*head);
  InputFormat by_content = FormatOfContent(bytes, std::string_view(*tail));
  if (by_content != InputFormat::kAuto) return by_content;
  InputFormat by_name = FormatOfExtension(input.path);
  if (by_name == InputFormat::kParquet || by_name == InputFormat::kArrow || by_name == InputFormat::kLance) {
    return Corrupt(input.name, "",
                   size == 0
                       ? "an empty file"
                       : fmt::format("named like a {} file, but its bytes are not one (cut off, or something else?); "
                                     "--input-format says what it is",
                                     FormatName(by_name)));
  }
  if (by_name != InputFormat::kAuto) return by_name;
  if (size == 0) return UsageError("{}: an empty file of unknown kind; --input-format says what it is", input.name);
  if (bytes.find('\0') != std::string_view::npos) {
    return Unsupported("{}: neither Parquet, Arrow IPC, Lance nor text; --input-format says what it is", input.name);
  }
  return FormatOfText(bytes);
}

bool ComesFromElsewhere(InputFormat f) { return f == InputFormat::kArrow; }

class InputReader : public arrow::RecordBatchReader {
 public:
  InputReader(ingest::LocalInput input, ingest::ReaderPtr inner, InputFormat format, int64_t batch_rows,
              ReadContext ctx)
      : input_(std::move(input)),
        inner_(std::move(inner)),
        format_(format),
        batch_rows_(batch_rows),
        ctx_(std::move(ctx)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return inner_->schema(); }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    out->reset();
    while (!rest_ || rest_->num_rows() == 0) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      Status read = inner_->ReadNext(&rest_);
      if (!read.ok()) return Named(read);
      if (!rest_) return Status::OK();
      // Offsets and lengths of IPC come from the file as they are; nothing above may trust them unchecked.
      if (ComesFromElsewhere(format_)) PILUM_RETURN_NOT_OK(Named(rest_->ValidateFull()));
    }
    *out = rest_->Slice(0, batch_rows_);
    rest_ = rest_->num_rows() > batch_rows_ ? rest_->Slice(batch_rows_) : nullptr;
    rows_ += (*out)->num_rows();
    return Status::OK();
  }

  Status Named(const Status& s) const {
    if (s.ok() || KindOf(s) != ErrorKind::kOther) return s;
    return MakeError(ErrorKind::kCorrupt, fmt::format("{}: not readable as {} after row {}: {}", input_.name,
                                                      FormatName(format_), rows_, s.message()));
  }

 private:
  ingest::LocalInput input_;
  ingest::ReaderPtr inner_;
  InputFormat format_;
  int64_t batch_rows_, rows_ = 0;
  ReadContext ctx_;
  std::shared_ptr<arrow::RecordBatch> rest_;
};

Result<ingest::ReaderPtr> OpenAs(InputFormat format, const ingest::LocalInput& input, const IngestOptions& options,
                                 const ReadContext& ctx) {
  switch (format) {
    case InputFormat::kParquet: return ingest::OpenParquet(input, options, ctx);
    case InputFormat::kCsv: return ingest::OpenCsv(input, options, ctx);
    case InputFormat::kJsonLines: return ingest::OpenJsonLines(input, options, ctx);
    case InputFormat::kArrow: return ingest::OpenArrow(input, options, ctx);
    case InputFormat::kLance: return ingest::OpenLance(input, options, ctx);
    default: return UsageError("{}: unknown input format", input.name);
  }
}

}  // namespace
}  // namespace ingest

Result<std::shared_ptr<arrow::RecordBatchReader>> OpenInput(const std::string& path, const IngestOptions& options,
                                                            const ReadContext& ctx) {
  if (options.batch_rows < 1) return UsageError("batch_rows must be at least 1");
  PILUM_ASSIGN_OR_RETURN(auto input, ingest::Materialize(path, ctx));
  IngestOptions used = options;
  if (used.format == InputFormat::kAuto) {
    PILUM_ASSIGN_OR_RETURN(used.format, ingest::FormatOf(input));
  }
  std::string lower = ingest::Lower(input.path);
  bool tabs = lower.size() > 4 && (lower.ends_with(".tsv") || lower.ends_with(".tab"));
  if (tabs && used.delimiter == ',') used.delimiter = '\t';
  auto inner = ingest::OpenAs(used.format, input, used, ctx);
  if (!inner.ok()) {
    if (KindOf(inner.status()) != ErrorKind::kOther) return inner.status();
    return MakeError(ErrorKind::kCorrupt, fmt::format("{}: not readable as {}: {}", input.name,
                                                      ingest::FormatName(used.format), inner.status().message()));
  }
  PILUM_RETURN_NOT_OK(ingest::CheckColumnNames((*inner)->schema()->field_names(), input.name));
  return std::make_shared<ingest::InputReader>(std::move(input), *inner, used.format, used.batch_rows, ctx);
}

}  // namespace pilum
