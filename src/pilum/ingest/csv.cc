// CSV through Arrow's reader, in two passes: the first reads every column that the dataset does not fix as text and
// infers its type from all rows (and finds ragged rows before anything is written), the second converts.
#include <regex>

#include <arrow/array.h>
#include <arrow/csv/api.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/checked_cast.h>

#include "pilum/ingest/infer.h"
#include "pilum/ingest/inputs.h"

namespace pilum::ingest {
namespace {

using StringTypes = std::vector<std::pair<std::string, std::shared_ptr<arrow::DataType>>>;

// Rows may not straddle more than two blocks; the next size is tried when one does.
constexpr int32_t kBlockSizes[] = {4 << 20, 64 << 20, 1 << 30};

struct CsvFile {
  const LocalInput& input;
  const IngestOptions& options;
  const ReadContext& ctx;
  int32_t block_size = kBlockSizes[0];
  std::vector<std::string> names = {};  // of the header line, once it was read

  Result<std::shared_ptr<arrow::csv::StreamingReader>> Open(const arrow::csv::ConvertOptions& convert) const {
    PILUM_ASSIGN_OR_RETURN(auto file, arrow::io::ReadableFile::Open(input.path, ctx.memory_pool()));
    auto reading = arrow::csv::ReadOptions::Defaults();
    reading.use_threads = false;  // errors then carry row numbers
    reading.block_size = block_size;
    auto parsing = arrow::csv::ParseOptions::Defaults();
    parsing.delimiter = options.delimiter;
    parsing.newlines_in_values = true;
    return arrow::csv::StreamingReader::Make(arrow::io::IOContext(ctx.memory_pool()), file, reading, parsing, convert);
  }

  arrow::csv::ConvertOptions Convert() const {
    auto convert = arrow::csv::ConvertOptions::Defaults();
    convert.null_values = options.null_values;
    convert.strings_can_be_null = true;
    convert.quoted_strings_can_be_null = false;
    convert.default_column_type = arrow::utf8();
    return convert;
  }
};

bool IsRowTooLong(const Status& s) { return s.message().find("straddl") != std::string::npos; }

// "In CSV column #0: Row #3: …" -> "row 3, column 'id': …"; rows are counted with the header as row 1.
std::string NamePlaces(const std::string& text, const std::vector<std::string>& names) {
  static const std::regex kPlace("In CSV column #([0-9]+): Row #([0-9]+): ");
  static const std::regex kValue("CSV conversion error to (.*): invalid value '([^]*)'");
  std::smatch place, value;
  if (!std::regex_search(text, place, kPlace)) return text;
  size_t column = std::stoul(place[1]);
  std::string rest = place.suffix();
  if (std::regex_match(rest, value, kValue)) {
    rest = fmt::format("'{:.60}' is not {}, the type of that column in the dataset", value[2].str(), value[1].str());
  }
  std::string name = column < names.size() ? fmt::format("'{}'", names[column]) : std::to_string(column + 1);
  return fmt::format("row {}, column {}: {}", place[2].str(), name, rest);
}

// Arrow says what is wrong and where ("Row #3: Expected 2 columns, got 3: …"); the file, the column and what to do are
// added.
Status CsvError(const LocalInput& input, const std::vector<std::string>& names, const Status& s) {
  if (s.ok() || KindOf(s) != ErrorKind::kOther) return s;
  std::string text = NamePlaces(s.message(), names);
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (IsRowTooLong(s)) {
    return MakeError(ErrorKind::kUnsupported,
                     fmt::format("{}: a row is longer than 1 GiB (is a quote left open?)", input.name));
  }
  if (text.find("UTF8") != std::string::npos) text += "; only UTF-8 is read: convert the file first, e.g. with iconv";
  if (text.find("Empty CSV") != std::string::npos)
    text = "an empty file; a CSV file starts with a line of column names";
  return MakeError(ErrorKind::kCorrupt, fmt::format("{}: {}", input.name, text));
}

Result<std::vector<std::string>> HeaderOf(const CsvFile& file) {
  PILUM_ASSIGN_OR_RETURN(auto reader, file.Open(file.Convert()));
  PILUM_RETURN_NOT_OK(CheckColumnNames(reader->schema()->field_names(), file.input.name));
  return reader->schema()->field_names();
}

// The first pass over `unknown` columns: their types.
Result<std::vector<std::shared_ptr<arrow::DataType>>> InferTypes(const CsvFile& file,
                                                                 const std::vector<std::string>& unknown,
                                                                 const std::string& first_column) {
  arrow::csv::ConvertOptions convert = file.Convert();
  convert.include_columns = unknown;
  if (unknown.empty()) convert.include_columns = {first_column};  // rows are still parsed and counted
  PILUM_ASSIGN_OR_RETURN(auto reader, file.Open(convert));
  std::vector<TextInference> columns(unknown.size());
  for (;;) {
    PILUM_RETURN_NOT_OK(file.ctx.Check());
    std::shared_ptr<arrow::RecordBatch> batch;
    PILUM_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (!batch) break;
    for (size_t c = 0; c < columns.size(); ++c) {
      const auto& values =
          arrow::internal::checked_cast<const arrow::StringArray&>(*batch->column(static_cast<int>(c)));
      for (int64_t i = 0; i < values.length() && !columns[c].settled(); ++i) {
        if (!values.IsNull(i)) columns[c].Add(values.GetView(i));
      }
    }
  }
  std::vector<std::shared_ptr<arrow::DataType>> types;
  for (const auto& c : columns) types.push_back(c.type());
  return types;
}

class CsvReader : public arrow::RecordBatchReader {
 public:
  CsvReader(LocalInput input, std::shared_ptr<arrow::csv::StreamingReader> reader,
            std::shared_ptr<arrow::Schema> schema, arrow::MemoryPool* pool)
      : input_(std::move(input)), reader_(std::move(reader)), schema_(std::move(schema)), pool_(pool) {}
  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    PILUM_RETURN_NOT_OK(CsvError(input_, schema_->field_names(), reader_->ReadNext(out)));
    if (!*out) return Status::OK();
    return CastBatch(*out, schema_, input_.name, pool_).Value(out);
  }

 private:
  LocalInput input_;
  std::shared_ptr<arrow::csv::StreamingReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
  arrow::MemoryPool* pool_;
};

Result<ReaderPtr> OpenWith(CsvFile& file) {
  PILUM_ASSIGN_OR_RETURN(file.names, HeaderOf(file));
  const std::vector<std::string>& names = file.names;
  std::vector<std::string> unknown;
  for (const auto& name : names) {
    if (!KnownType(file.options.known_schema, name)) unknown.push_back(name);
  }
  PILUM_ASSIGN_OR_RETURN(auto inferred, InferTypes(file, unknown, names[0]));
  arrow::csv::ConvertOptions convert = file.Convert();
  arrow::FieldVector fields;
  size_t next = 0;
  for (const auto& name : names) {
    auto type = KnownType(file.options.known_schema, name);
    if (!type) type = inferred[next++];
    if (arrow::is_nested(type->id())) {
      return Unsupported("{}: column '{}' is {} in the dataset, which CSV cannot hold; use Parquet or JSON lines",
                         file.input.name, name, type->ToString());
    }
    convert.column_types[name] = ReadTypeFor(type);
    fields.push_back(arrow::field(name, std::move(type)));
  }
  PILUM_ASSIGN_OR_RETURN(auto reader, file.Open(convert));
  return std::make_shared<CsvReader>(file.input, std::move(reader), arrow::schema(std::move(fields)),
                                     file.ctx.memory_pool());
}

}  // namespace

Result<ReaderPtr> OpenCsv(const LocalInput& input, const IngestOptions& options, const ReadContext& ctx) {
  CsvFile file{input, options, ctx};
  Status last;
  for (int32_t size : kBlockSizes) {
    file.block_size = size;
    auto reader = OpenWith(file);
    if (reader.ok() || !IsRowTooLong(reader.status())) {
      return reader.ok() ? reader : CsvError(input, file.names, reader.status());
    }
    last = reader.status();
  }
  return CsvError(input, file.names, last);
}

}  // namespace pilum::ingest
