// A Lance file as an input.
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/file/file_reader.h"
#include "pilum/ingest/inputs.h"

namespace pilum::ingest {
namespace {

class LanceReader : public arrow::RecordBatchReader {
 public:
  explicit LanceReader(std::unique_ptr<BatchStream> stream) : stream_(std::move(stream)) {}
  std::shared_ptr<arrow::Schema> schema() const override { return stream_->schema(); }
  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override { return stream_->Next().Value(out); }

 private:
  std::unique_ptr<BatchStream> stream_;
};

}  // namespace

Result<ReaderPtr> OpenLance(const LocalInput& input, const IngestOptions& options, const ReadContext& ctx) {
  ReadContext reading = ctx;
  PILUM_ASSIGN_OR_RETURN(auto source, OpenLocalFile(input.path, reading));
  PILUM_ASSIGN_OR_RETURN(auto file, FileReader::Open(std::move(source), reading));
  BatchLimits limits;
  limits.rows = static_cast<uint64_t>(options.batch_rows);
  PILUM_ASSIGN_OR_RETURN(auto stream, file->Read(std::nullopt, RowSet::All(file->num_rows()), limits, reading));
  return std::make_shared<LanceReader>(std::move(stream));
}

}  // namespace pilum::ingest
