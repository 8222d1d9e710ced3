// Arrow IPC in (file or stream) and out (stream).
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/ingest/inputs.h"
#include "pilum/ingest/sinks.h"

namespace pilum::ingest {
namespace {

class IpcFileReader : public arrow::RecordBatchReader {
 public:
  explicit IpcFileReader(std::shared_ptr<arrow::ipc::RecordBatchFileReader> file) : file_(std::move(file)) {}
  std::shared_ptr<arrow::Schema> schema() const override { return file_->schema(); }
  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    out->reset();
    if (next_ >= file_->num_record_batches()) return Status::OK();
    return file_->ReadRecordBatch(next_++).Value(out);
  }

 private:
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> file_;
  int next_ = 0;
};

class ArrowSink : public TableSink {
 public:
  ArrowSink(OutputPtr out, std::shared_ptr<arrow::ipc::RecordBatchWriter> writer)
      : out_(std::move(out)), writer_(std::move(writer)) {}
  Status Write(const arrow::RecordBatch& batch) override { return writer_->WriteRecordBatch(batch); }
  Status Close() override {
    PILUM_RETURN_NOT_OK(writer_->Close());
    return out_->Close();
  }

 private:
  OutputPtr out_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

}  // namespace

Result<ReaderPtr> OpenArrow(const LocalInput& input, const IngestOptions& options, const ReadContext& ctx) {
  arrow::ipc::IpcReadOptions reading = arrow::ipc::IpcReadOptions::Defaults();
  reading.memory_pool = ctx.memory_pool();
  reading.use_threads = false;
  PILUM_ASSIGN_OR_RETURN(auto file, arrow::io::ReadableFile::Open(input.path, ctx.memory_pool()));
  PILUM_ASSIGN_OR_RETURN(int64_t size, file->GetSize());
  PILUM_ASSIGN_OR_RETURN(auto first, file->ReadAt(0, std::min<int64_t>(size, 6)));
  if (first->ToString() == "ARROW1") {
    PILUM_ASSIGN_OR_RETURN(auto reader, arrow::ipc::RecordBatchFileReader::Open(file, reading));
    return std::make_shared<IpcFileReader>(std::move(reader));
  }
  PILUM_RETURN_NOT_OK(file->Seek(0));
  PILUM_ASSIGN_OR_RETURN(auto reader, arrow::ipc::RecordBatchStreamReader::Open(file, reading));
  return reader;
}

Result<std::unique_ptr<TableSink>> MakeArrowSink(OutputPtr out, std::shared_ptr<arrow::Schema> schema) {
  PILUM_ASSIGN_OR_RETURN(auto writer, arrow::ipc::MakeStreamWriter(out, schema));
  return std::make_unique<ArrowSink>(std::move(out), std::move(writer));
}

}  // namespace pilum::ingest
