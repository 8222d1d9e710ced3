// Parquet in and out: the one source of the shared library pilum_parquet, which parquet.cc loads at first use.
#include <algorithm>

#include <arrow/io/file.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include "pilum/ingest/parquet_plugin.h"

namespace pilum::ingest {
namespace {

// Keeps the Parquet reader alive beside the stream that it gave.
class ParquetReader : public arrow::RecordBatchReader {
 public:
  ParquetReader(std::unique_ptr<parquet::arrow::FileReader> file, std::shared_ptr<arrow::RecordBatchReader> batches)
      : file_(std::move(file)), batches_(std::move(batches)) {}
  std::shared_ptr<arrow::Schema> schema() const override { return batches_->schema(); }
  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    try {
      return batches_->ReadNext(out);
    } catch (const std::exception& e) {
      return Status::SerializationError(e.what());
    }
  }

 private:
  std::unique_ptr<parquet::arrow::FileReader> file_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
};

class ParquetSink : public TableSink {
 public:
  ParquetSink(std::shared_ptr<arrow::io::OutputStream> out, std::unique_ptr<parquet::arrow::FileWriter> writer)
      : out_(std::move(out)), writer_(std::move(writer)) {}
  Status Write(const arrow::RecordBatch& batch) override { return writer_->WriteRecordBatch(batch); }
  Status Close() override {
    PILUM_RETURN_NOT_OK(writer_->Close());
    return out_->Close();
  }

 private:
  std::shared_ptr<arrow::io::OutputStream> out_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

constexpr int64_t kBatchBytes = 1 << 20;  // aimed-at bytes of a batch: rows of 20 KB come 50 at a time

// Rows a batch, by the largest mean row that the row groups admit to (encoded, so that the batch is somewhat larger).
int64_t BatchRows(const parquet::FileMetaData& file, int64_t most) {
  int64_t row_bytes = 1;
  for (int i = 0; i < file.num_row_groups(); ++i) {
    const auto group = file.RowGroup(i);
    if (group->num_rows() > 0) row_bytes = std::max(row_bytes, group->total_byte_size() / group->num_rows());
  }
  return std::clamp<int64_t>(kBatchBytes / row_bytes, 1, most);
}

Result<ReaderPtr> Open(const LocalInput& input, const IngestOptions& options, const ReadContext& ctx) {
  // Pages and batches live for moments: the system's allocator gives their memory back, where Arrow's own keeps half as much again.
  arrow::MemoryPool* pool = ctx.pool ? ctx.pool : arrow::system_memory_pool();
  try {
    PILUM_ASSIGN_OR_RETURN(auto file, arrow::io::ReadableFile::Open(input.path, pool));
    parquet::ArrowReaderProperties properties(/*use_threads=*/false);
    properties.set_pre_buffer(false);  // columns are read as they are decoded: memory stays with the batch
    parquet::ReaderProperties reading(pool);
    reading.enable_buffered_stream();
    parquet::arrow::FileReaderBuilder builder;
    PILUM_RETURN_NOT_OK(builder.Open(file, reading));
    properties.set_batch_size(BatchRows(*builder.raw_reader()->metadata(), options.batch_rows));
    std::unique_ptr<parquet::arrow::FileReader> reader;
    PILUM_RETURN_NOT_OK(builder.memory_pool(pool)->properties(properties)->Build(&reader));
    PILUM_ASSIGN_OR_RETURN(std::shared_ptr<arrow::RecordBatchReader> batches, reader->GetRecordBatchReader());
    return std::make_shared<ParquetReader>(std::move(reader), std::move(batches));
  } catch (const std::exception& e) {
    return Status::SerializationError(e.what());
  }
}

Result<std::unique_ptr<TableSink>> MakeSink(OutputPtr out, std::shared_ptr<arrow::Schema> schema) {
  try {
    auto properties = parquet::WriterProperties::Builder().compression(parquet::Compression::ZSTD)->build();
    auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    PILUM_ASSIGN_OR_RETURN(auto writer, parquet::arrow::FileWriter::Open(*schema, arrow::default_memory_pool(), out,
                                                                         properties, arrow_properties));
    return std::make_unique<ParquetSink>(std::move(out), std::move(writer));
  } catch (const std::exception& e) {
    return Status::NotImplemented(e.what());
  }
}

}  // namespace

extern "C" __attribute__((visibility("default")))
const ParquetPlugin pilum_parquet_plugin = {kParquetPluginVersion, Open, MakeSink};

}  // namespace pilum::ingest
