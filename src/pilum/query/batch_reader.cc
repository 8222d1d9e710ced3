#include <arrow/record_batch.h>

#include "pilum/query/query.h"

namespace pilum {
namespace {

class QueryBatchReader final : public arrow::RecordBatchReader {
 public:
  explicit QueryBatchReader(std::shared_ptr<QueryResult> result)
      : result_(std::move(result)), schema_(result_->schema()) {}
  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    out->reset();
    if (!result_) return Status::OK();
    return result_->Next().Value(out);
  }
  Status Close() override {
    result_.reset();
    return Status::OK();
  }

 private:
  std::shared_ptr<QueryResult> result_;
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace

std::shared_ptr<arrow::RecordBatchReader> MakeBatchReader(std::shared_ptr<QueryResult> result) {
  return std::make_shared<QueryBatchReader>(std::move(result));
}

}  // namespace pilum
