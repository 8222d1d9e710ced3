#include "pilum/cli/table/inputs.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

namespace pilum::cli {
namespace {

class Inputs final : public arrow::RecordBatchReader {
 public:
  Inputs(std::vector<std::string> paths, IngestOptions options, const ReadContext& ctx)
      : paths_(std::move(paths)), options_(std::move(options)), ctx_(ctx) {}

  Status Begin() {
    PILUM_ASSIGN_OR_RETURN(reader_, OpenInput(paths_[0], options_, ctx_));
    schema_ = reader_->schema();
    return Status::OK();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    for (;;) {
      PILUM_RETURN_NOT_OK(reader_->ReadNext(batch));
      if (*batch) return Fit(batch);
      if (++at_ == paths_.size()) return Status::OK();
      PILUM_ASSIGN_OR_RETURN(reader_, OpenInput(paths_[at_], options_, ctx_));
    }
  }

 private:
  Status Fit(std::shared_ptr<arrow::RecordBatch>* batch) const {
    if (at_ == 0) return Status::OK();
    const arrow::Schema& given = *(*batch)->schema();
    std::vector<int> places;
    for (const auto& field : schema_->fields()) {
      const int i = given.GetFieldIndex(field->name());
      if (i < 0) return UsageError("{}: it has no column '{}', which {} has", paths_[at_], field->name(), paths_[0]);
      if (!given.field(i)->type()->Equals(*field->type())) {
        return UsageError("{}: column '{}' is {}, but {} in {}; append them one by one", paths_[at_], field->name(),
                          given.field(i)->type()->ToString(), field->type()->ToString(), paths_[0]);
      }
      places.push_back(i);
    }
    if (places.size() < static_cast<size_t>(given.num_fields())) {
      return UsageError("{}: it has columns that {} has not: {}", paths_[at_], paths_[0], given.ToString());
    }
    PILUM_ASSIGN_OR_RETURN(auto columns, (*batch)->SelectColumns(places));
    *batch = arrow::RecordBatch::Make(schema_, columns->num_rows(), columns->columns());
    return Status::OK();
  }

  const std::vector<std::string> paths_;
  const IngestOptions options_;
  const ReadContext& ctx_;
  std::shared_ptr<arrow::RecordBatchReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
  size_t at_ = 0;
};

}  // namespace

Result<std::shared_ptr<arrow::RecordBatchReader>> OpenInputs(std::vector<std::string> paths,
                                                             const IngestOptions& options, const ReadContext& ctx) {
  if (paths.size() == 1) return OpenInput(paths[0], options, ctx);
  auto out = std::make_shared<Inputs>(std::move(paths), options, ctx);
  PILUM_RETURN_NOT_OK(out->Begin());
  return out;
}

}  // namespace pilum::cli
