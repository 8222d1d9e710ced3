// pilum._pilum.FileReader and FileWriter: one Lance file. The Python classes over them are in pilum/file.py.
#include <unistd.h>

#include <arrow/api.h>
#include <arrow/util/byte_size.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "pilum/file/file_reader.h"
#include "pilum/file/file_writer.h"
#include "pilum/file/take_stream.h"
#include "pilum/io/object_store.h"
#include "pilum/python/bindings.h"
#include "pilum/python/convert.h"
#include "pilum/python/run.h"
#include "pilum/python/stream.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

using Columns = std::optional<std::vector<std::string>>;

constexpr uint64_t kTableBatchRows = 1 << 16;  // batches that only feed a table: large, but each soon done
constexpr uint64_t kTableBatchBytes = 64 << 20;
constexpr uint64_t kMaxBatchBytes = 1 << 30;       // asked-for batch sizes hold up to here (32-bit string offsets)
constexpr uint64_t kFewRows = 1024, kSparse = 32;  // takes up to here go by address; denser ones decode whole chunks
constexpr uint64_t kFitsAnywhere = 16 << 20;       // bytes that any machine has
constexpr uint64_t kQuickBytes = 32 << 20;         // a batch below this is read before anybody misses Ctrl-C

nb::list RangesToPython(const std::vector<ByteRange>& ranges) {
  nb::list out;
  for (const auto& range : ranges) out.append(nb::make_tuple(range.offset, range.size));
  return out;
}

// Bits that a row takes in memory, at the least.
uint64_t LeastBits(const arrow::DataType& type) {
  uint64_t bits = 0;
  switch (type.id()) {
    case arrow::Type::STRUCT:
      for (const auto& child : type.fields()) bits += LeastBits(*child->type());
      return std::max<uint64_t>(1, bits);
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListType&>(type);
      return LeastBits(*list.value_type()) * static_cast<uint64_t>(list.list_size());
    }
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LIST:
    case arrow::Type::MAP: return 32;
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::LARGE_LIST: return 64;
    default: return std::max(1, type.bit_width());  // -1: none
  }
}

// A few bytes of a file may stand for 2^48 rows: what cannot fit this machine is refused before it fills it. (The machine
// is asked only where that could be.)
Status CheckFits(const std::string& file, const arrow::Schema& schema, uint64_t rows) {
  double bits = 0;
  for (const auto& field : schema.fields()) bits += static_cast<double>(LeastBits(*field->type()));
  if (bits / 8 * static_cast<double>(rows) <= static_cast<double>(kFitsAnywhere)) return Status::OK();
  const double machine = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (bits / 8 * static_cast<double>(rows) <= machine) return Status::OK();
  return MakeError(
      ErrorKind::kMemory,
      fmt::format("{}: {} rows take {:.3g} bytes or more, and this machine has {:.3g}; read them in batches", file,
                  rows, bits / 8 * static_cast<double>(rows), machine));
}

class PyFileReader : public std::enable_shared_from_this<PyFileReader> {
 public:
  static std::shared_ptr<PyFileReader> Open(const std::string& path, const Columns& columns, Verify verify,
                                            bool allow_unstable, const StoreOptions& storage) {
    auto out = std::make_shared<PyFileReader>();
    out->verify_ = verify;
    out->allow_unstable_ = allow_unstable;
    Check(WithoutGil([&] { return out->OpenNow(path, columns, storage); }));
    out->python_schema_ = WithExtensionTypes(out->schema_);
    return out;
  }

  std::shared_ptr<PyStream> ReadRange(uint64_t begin, uint64_t count, uint64_t batch_rows, bool for_table) {
    uint64_t n = file_->num_rows();
    if (begin > n || count > n - begin) {
      Raise(UsageError("{}: rows {} to {} were asked for, the file has {}", file_->name(), begin,
                       begin + std::min(count, ~begin), n));
    }
    return Read(RowSet::Range(begin, begin + count), batch_rows, for_table);
  }

  std::shared_ptr<PyStream> TakeRows(nb::handle indices, uint64_t batch_rows) {
    return Read(RowSet::FromSorted(Ascending(indices)), batch_rows, /*for_table=*/false);
  }

  nb::object TakeTable(nb::handle indices) {
    std::vector<uint64_t> rows = Ascending(indices);
    if (rows.size() > kFewRows && rows.size() > file_->num_rows() / kSparse) {
      return Read(RowSet::FromSorted(rows), kTableBatchRows, /*for_table=*/true)->ReadTable();
    }
    Check(CheckFits(file_->name(), *schema_, rows.size()));
    ReadContext ctx = Context();
    arrow::RecordBatchVector batches;
    TakeStream stream(*file_, columns_, rows, FileReader::kTakeBytes, ctx);
    for (uint64_t taken = 0; taken < rows.size();) {
      if (taken > 0) CheckSignals();
      batches.push_back(Unwrap(WithoutGil([&] { return stream.Next(); })));
      taken += static_cast<uint64_t>(batches.back()->num_rows());
      if (python_schema_ != schema_) batches.back() = WithExtensionTypes(batches.back(), python_schema_);
    }
    return ToPython(Unwrap(arrow::Table::FromRecordBatches(python_schema_, std::move(batches))));
  }

  std::shared_ptr<PyStream> Read(RowSet rows, uint64_t batch_rows, bool for_table) {
    if (batch_rows == 0) Raise(UsageError("batch_size must be at least 1"));
    BatchLimits limits{batch_rows, kMaxBatchBytes};
    if (for_table) {
      Check(CheckFits(file_->name(), *schema_, rows.size()));
      limits = {std::max(batch_rows, kTableBatchRows), kTableBatchBytes};
    }
    uint64_t largest = std::min(rows.size(), limits.rows);
    double file_bytes_each = static_cast<double>(file_->info().file_size) / std::max<uint64_t>(1, file_->num_rows());
    std::stop_source stop;
    ReadContext ctx = Context();
    ctx.stop = stop.get_token();
    auto stream = Unwrap(WithoutGil([&] { return file_->Read(columns_, rows, limits, ctx); }));
    BatchPull pull;
    pull.schema = stream->schema();
    pull.long_calls = !for_table && file_bytes_each * largest > kQuickBytes;
    // The stream's statistics live in this object: hold it.
    pull.next = [self = shared_from_this(), held = std::shared_ptr<BatchStream>(std::move(stream))] {
      return held->Next();
    };
    return std::make_shared<PyStream>(std::move(pull), std::move(stop));
  }

  nb::bytes GlobalBuffer(uint32_t index) {
    if (index >= file_->info().num_global_buffers) {
      Raise(UsageError("{}: global buffer {} was asked for, the file has {}", file_->name(), index,
                       file_->info().num_global_buffers));
    }
    ReadContext ctx = Context();
    auto buffer = Unwrap(WithoutGil([&] { return file_->ReadGlobalBuffer(index, ctx); }));
    return nb::bytes(buffer->data(), buffer->size());
  }

  std::vector<std::string> CheckAll() {
    std::stop_source stop;
    ReadContext ctx = Context();
    ctx.stop = stop.get_token();
    auto faults = Unwrap(Interruptibly(stop, [&] { return file_->Check(ctx); }));
    std::vector<std::string> out;
    for (const auto& fault : faults) out.push_back(fault.message());
    return out;
  }

  nb::list ColumnsInfo() const {
    nb::list out;
    for (const auto& column : file_->Columns()) {
      nb::list pages;
      for (const auto& page : column.pages) {
        pages.append(nb::make_tuple(page.first_row, page.rows, page.bytes, page.layout, RangesToPython(page.buffers)));
      }
      nb::dict entry;
      entry["name"] = column.name;
      entry["type"] = column.type;
      entry["bytes"] = column.bytes;
      entry["pages"] = pages;
      out.append(entry);
    }
    return out;
  }

  nb::dict Info() const {
    const FileInfo& info = file_->info();
    nb::dict out;
    out["version"] = std::string(VersionName(info.version));
    out["file_size"] = info.file_size;
    out["num_rows"] = info.num_rows;
    out["num_columns"] = info.num_columns;
    out["global_buffers"] = RangesToPython(info.global_buffers);
    out["checksums"] = info.checksums;
    out["column_metadata_bytes"] = info.column_metadata_bytes;
    return out;
  }

  uint64_t num_rows() const { return file_->num_rows(); }
  nb::object schema() const { return ToPython(schema_); }
  nb::object file_schema() const { return ToPython(file_->schema()); }
  nb::dict stats() const { return StatsToPython(stats_); }

 private:
  Status OpenNow(const std::string& path, const Columns& columns, const StoreOptions& storage) {
    ReadContext ctx = Context();
    PILUM_ASSIGN_OR_RETURN(auto source, OpenFileOrObject(path, ctx, storage));
    PILUM_ASSIGN_OR_RETURN(file_, FileReader::Open(std::move(source), ctx));
    if (columns) {
      if (columns->empty()) return UsageError("no columns were asked for; leave `columns` out to read all");
      columns_ = ResolveColumns(*file_->schema(), *columns);
    }
    PILUM_ASSIGN_OR_RETURN(schema_, file_->ProjectedSchema(columns_));
    return Status::OK();
  }

  std::vector<uint64_t> Ascending(nb::handle indices) const {
    std::vector<uint64_t> rows = RowsFromPython(indices);
    for (size_t i = 1; i < rows.size(); ++i) {
      if (rows[i] <= rows[i - 1]) {
        Raise(UsageError("row numbers must rise strictly: {} comes after {}", rows[i], rows[i - 1]));
      }
    }
    if (!rows.empty() && rows.back() >= file_->num_rows()) {
      Raise(UsageError("{}: row {} was asked for, the file has {}", file_->name(), rows.back(), file_->num_rows()));
    }
    return rows;
  }

  ReadContext Context() {
    ReadContext ctx;
    ctx.stats = &stats_;
    ctx.threads = threads_;
    ctx.verify = verify_;
    ctx.allow_unstable = allow_unstable_;
    return ctx;
  }

  std::shared_ptr<const FileReader> file_;
  std::optional<std::vector<FieldPath>> columns_;
  std::shared_ptr<arrow::Schema> schema_, python_schema_;  // the second with extension types
  ReadStats stats_;
  const int threads_ = DefaultThreads();  // as of the opening
  Verify verify_ = Verify::kReads;
  bool allow_unstable_ = false;
};

// Not usable after a failed or interrupted call: what is on disk would have a hole. Dropping it leaves no file.
class PyFileWriter {
 public:
  PyFileWriter(const std::string& path, nb::handle schema, const std::string& version,
               std::optional<uint64_t> page_bytes, const std::string& profile, const StoreOptions& storage) {
    WriteOptions options;
    options.version = Unwrap(ParseVersion(version));
    options.profile = Unwrap(ParseProfile(profile));
    if (page_bytes) options.page_bytes = std::max<uint64_t>(1, *page_bytes);
    auto arrow_schema = SchemaFromPython(schema);
    Check(WithoutGil([&]() -> Status {
      PILUM_ASSIGN_OR_RETURN(auto sink, CreateFileOrObject(path, storage));
      PILUM_ASSIGN_OR_RETURN(writer_, FileWriter::Make(std::move(sink), std::move(arrow_schema), options));
      return Status::OK();
    }));
  }

  // In slices of some megabytes, so that Ctrl-C is heard. (The bytes do not depend on how rows are batched.)
  void Write(nb::handle batch) {
    auto rows = BatchFromPython(batch);
    int64_t bytes = arrow::util::ReferencedBufferSize(*rows).ValueOr(arrow::util::TotalBufferSize(*rows));
    int64_t slice = std::max<int64_t>(1, rows->num_rows() / (1 + bytes / static_cast<int64_t>(kQuickBytes)));
    Guarded([&] {
      for (int64_t at = 0; at < rows->num_rows() || at == 0; at += slice) {
        auto piece = slice >= rows->num_rows() ? rows : rows->Slice(at, slice);
        Check(WithoutGil([&] { return Locked([&] { return writer_->Write(*piece); }); }));
        CheckSignals();
      }
    });
  }

  uint32_t AddGlobalBuffer(nb::bytes bytes) {
    uint32_t index = 0;
    Guarded([&] {
      index = Unwrap(WithoutGil([&]() -> Result<uint32_t> {
        std::lock_guard lock(mutex_);
        if (!writer_) return Closed();
        return writer_->AddGlobalBuffer({bytes.c_str(), bytes.size()});
      }));
    });
    return index;
  }

  void AddSchemaMetadata(const std::string& key, const std::string& value) {
    Check(WithoutGil([&] {
      return Locked([&] {
        writer_->AddSchemaMetadata(key, value);
        return Status::OK();
      });
    }));
  }

  // (rows, bytes of the file)
  nb::tuple Finish() {
    uint64_t rows = 0, bytes = 0;
    Guarded([&] {
      Check(WithoutGil([&] {
        return Locked([&]() -> Status {
          PILUM_ASSIGN_OR_RETURN(rows, writer_->Finish());
          bytes = writer_->bytes_written();
          writer_.reset();
          return Status::OK();
        });
      }));
    });
    return nb::make_tuple(rows, bytes);
  }

  void Abort() {
    WithoutGil([&] {
      std::lock_guard lock(mutex_);
      writer_.reset();
      return true;
    });
  }

 private:
  static Status Closed() { return UsageError("the writer is closed, or an earlier call failed"); }

  template <typename F>
  Status Locked(F&& work) {
    std::lock_guard lock(mutex_);
    if (!writer_) return Closed();
    return work();
  }

  template <typename F>
  void Guarded(F&& work) {
    try {
      work();
    } catch (...) {
      Abort();
      throw;
    }
  }

  std::unique_ptr<FileWriter> writer_;
  std::mutex mutex_;  // taken only without the GIL
};

}  // namespace

Result<FileVersion> ParseVersion(std::string_view text) {
  for (FileVersion version : {FileVersion::kV2_0, FileVersion::kV2_1, FileVersion::kV2_2, FileVersion::kV2_3}) {
    if (text == VersionName(version)) return version;
  }
  return UsageError("unknown Lance file version '{}'; known are 2.0 to 2.2", text);
}

void BindFile(nb::module_& m) {
  nb::class_<PyStream>(m, "BatchStream", "Record batches, once, front to back.")
      .def_prop_ro("schema", &PyStream::schema)
      .def("next", &PyStream::Next, "The next pyarrow.RecordBatch, or None at the end.")
      .def("read_table", &PyStream::ReadTable, "What is left, as a pyarrow.Table.")
      .def("capsule", &PyStream::Capsule, "What is left, as an Arrow C stream capsule.")
      .def("cancel", &PyStream::Cancel, "Stops the work behind it; the next read raises CancelledError.");

  nb::enum_<Verify>(m, "Verify", "Which bytes are held against a file's checksums.")
      .value("OFF", Verify::kOff)
      .value("READS", Verify::kReads)
      .value("ALL", Verify::kAll);

  nb::class_<PyFileReader>(m, "FileReader", "One open Lance file; thread-safe.")
      .def_static("open", &PyFileReader::Open, nb::arg("path"), nb::arg("columns").none() = nb::none(),
                  nb::arg("verify") = Verify::kReads, nb::arg("allow_unstable") = false,
                  nb::arg("storage_options") = StoreOptions())
      .def("read_range", &PyFileReader::ReadRange, nb::arg("start"), nb::arg("num_rows"), nb::arg("batch_size"),
           nb::arg("for_table") = false)
      .def("take_rows", &PyFileReader::TakeRows, nb::arg("indices"), nb::arg("batch_size"))
      .def("take_table", &PyFileReader::TakeTable, nb::arg("indices"),
           "The rows with these numbers, as a pyarrow.Table.")
      .def("read_global_buffer", &PyFileReader::GlobalBuffer, nb::arg("index"))
      .def("check", &PyFileReader::CheckAll,
           "Decodes everything; a message for each fault, empty when the file is sound.")
      .def("columns_info", &PyFileReader::ColumnsInfo)
      .def("info", &PyFileReader::Info)
      .def_prop_ro("num_rows", &PyFileReader::num_rows)
      .def_prop_ro("schema", &PyFileReader::schema)
      .def_prop_ro("file_schema", &PyFileReader::file_schema)
      .def_prop_ro("stats", &PyFileReader::stats);

  nb::class_<PyFileWriter>(m, "FileWriter", "One Lance file being written.")
      .def(nb::init<const std::string&, nb::handle, const std::string&, std::optional<uint64_t>, const std::string&,
                    const StoreOptions&>(),
           nb::arg("path"), nb::arg("schema"), nb::arg("version"), nb::arg("page_bytes").none() = nb::none(),
           nb::arg("profile") = "balanced", nb::arg("storage_options") = StoreOptions())
      .def("write", &PyFileWriter::Write, nb::arg("batch"))
      .def("add_global_buffer", &PyFileWriter::AddGlobalBuffer, nb::arg("data"))
      .def("add_schema_metadata", &PyFileWriter::AddSchemaMetadata, nb::arg("key"), nb::arg("value"))
      .def("finish", &PyFileWriter::Finish, "(rows, bytes of the file); the file is visible from here on.")
      .def("abort", &PyFileWriter::Abort, "Drops what was written; no file appears.");
}

}  // namespace pilum::python
