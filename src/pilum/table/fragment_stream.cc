#include "pilum/table/fragment_stream.h"

#include <algorithm>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/table/assemble.h"

namespace pilum {
namespace {

class FragmentStream final : public BatchStream {
 public:
  FragmentStream(FragmentStreamParts parts, const ReadContext& ctx)
      : parts_(std::move(parts)), current_(parts_.own.size()), left_(parts_.rows.size()), ctx_(ctx) {}
  const std::shared_ptr<arrow::Schema>& schema() const override { return parts_.schema; }
  const RowSet& rows() const override { return rows_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (!failed_.ok()) return failed_;
    auto batch = NextBatch();
    if (!batch.ok()) failed_ = batch.status();
    return batch;
  }

 private:
  // What a stream gave and was not given out yet.
  struct Rest {
    std::shared_ptr<arrow::RecordBatch> batch;
    int64_t used = 0;
    int64_t rows() const { return batch ? batch->num_rows() - used : 0; }
  };

  Result<std::shared_ptr<arrow::RecordBatch>> NextBatch() {
    PILUM_RETURN_NOT_OK(ctx_.Check());
    if (left_ == 0) return nullptr;
    auto n = static_cast<int64_t>(std::min(left_, parts_.own.empty() ? parts_.limits.rows : left_));
    for (size_t i = 0; i < current_.size(); ++i) {
      PILUM_RETURN_NOT_OK(Fill(i));
      n = std::min(n, current_[i].rows());
    }
    rows_ = parts_.rows.SliceByRank(given_, static_cast<uint64_t>(n));
    std::vector<std::shared_ptr<arrow::RecordBatch>> slices;
    for (Rest& rest : current_) {
      slices.push_back(rest.batch->Slice(rest.used, n));
      rest.used += n;
    }
    given_ += static_cast<uint64_t>(n);
    left_ -= static_cast<uint64_t>(n);
    return Assemble(slices, n);
  }

  Status Fill(size_t i) {
    Rest& rest = current_[i];
    while (rest.rows() == 0) {
      PILUM_ASSIGN_OR_RETURN(rest.batch, parts_.own[i]->Next());
      rest.used = 0;
      if (!rest.batch) return Status::Invalid(parts_.name, ": a data file ended before its rows");
    }
    return Status::OK();
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Assemble(const std::vector<std::shared_ptr<arrow::RecordBatch>>& slices,
                                                       int64_t n) {
    arrow::ArrayVector columns;
    for (const auto& field : parts_.schema->fields()) {
      PILUM_ASSIGN_OR_RETURN(auto column, parts_.system(*field, rows_));
      if (!column) {
        std::vector<std::shared_ptr<arrow::Array>> held;
        for (const auto& slice : slices) {
          if (auto array = slice->GetColumnByName(field->name())) held.push_back(std::move(array));
        }
        auto whole = AssembleColumn(field->type(), held, n, ctx_.memory_pool());
        if (!whole.ok()) {
          return WithContext(fmt::format("{}: column '{}'", parts_.name, field->name()), whole.status());
        }
        column = std::move(*whole);
      }
      columns.push_back(std::move(column));
    }
    return arrow::RecordBatch::Make(parts_.schema, n, std::move(columns));
  }

  const FragmentStreamParts parts_;
  std::vector<Rest> current_;
  RowSet rows_;
  uint64_t given_ = 0, left_;
  ReadContext ctx_;
  Status failed_;
};

}  // namespace

std::unique_ptr<BatchStream> MakeFragmentStream(FragmentStreamParts parts, const ReadContext& ctx) {
  return std::make_unique<FragmentStream>(std::move(parts), ctx);
}

}  // namespace pilum
