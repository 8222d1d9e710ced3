#include "pilum/source/masked_unit.h"

#include <algorithm>

#include <arrow/record_batch.h>

namespace pilum {
namespace {

// Row numbers of `all` as ranks among `mask`, of which they are members.
RowSet Ranks(const RowSet& all, const RowSet& mask) {
  RowSet out;
  uint64_t before = 0;  // members of the mask before the range
  auto range = all.ranges().begin();
  for (const RowRange& m : mask.ranges()) {
    for (; range != all.ranges().end() && range->begin < m.end; ++range) {
      out.Append(before + range->begin - m.begin, before + range->end - m.begin);
    }
    before += m.size();
  }
  return out;
}

// Row numbers that are ranks among `mask`, as members of it. One pass: both may have a range for every other row.
RowSet Members(const RowSet& ranks, const RowSet& mask) {
  RowSet out;
  uint64_t before = 0;  // members of the mask before the range
  auto range = ranks.ranges().begin();
  for (const RowRange& m : mask.ranges()) {
    const uint64_t end = before + m.size();
    for (; range != ranks.ranges().end() && range->begin < end; ++range) {
      out.Append(m.begin + std::max(range->begin, before) - before, m.begin + std::min(range->end, end) - before);
      if (range->end > end) break;
    }
    before = end;
  }
  return out;
}

class MaskedStream final : public BatchStream {
 public:
  MaskedStream(std::unique_ptr<BatchStream> inner, std::shared_ptr<const Unit> unit, RowSet mask)
      : inner_(std::move(inner)), unit_(std::move(unit)), mask_(std::move(mask)) {}
  const std::shared_ptr<arrow::Schema>& schema() const override { return inner_->schema(); }
  const RowSet& rows() const override { return rows_; }
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    PILUM_ASSIGN_OR_RETURN(auto batch, inner_->Next());
    rows_ = batch ? Ranks(inner_->rows(), mask_) : RowSet();
    return batch;
  }

 private:
  std::unique_ptr<BatchStream> inner_;
  const std::shared_ptr<const Unit> unit_;
  const RowSet mask_;
  RowSet rows_;
};

class MaskedUnit final : public Unit {
 public:
  MaskedUnit(std::shared_ptr<const Unit> unit, RowSet rows)
      : unit_(std::move(unit)), mask_(std::move(rows)), num_rows_(mask_.size()) {}

  const std::string& name() const override { return unit_->name(); }
  uint64_t num_rows() const override { return num_rows_; }
  Result<bool> MayMatch(const Probe& probe, ReadContext& ctx) const override {
    if (num_rows_ == 0) return false;
    return unit_->MayMatch(probe, ctx);
  }
  Result<Candidates> Narrow(const Probe& probe, ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(const Candidates found, unit_->Narrow(probe, ctx));
    return Candidates{Own(found.certain), Own(found.possible), Own(found.maybe_null)};
  }
  std::string index_note() const override { return unit_->index_note(); }
  Result<std::unique_ptr<BatchStream>> Read(const std::vector<FieldPath>& columns, const RowSet& rows,
                                            const BatchLimits& limits, const ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(auto stream, unit_->Read(columns, Members(rows, mask_), limits, ctx));
    return std::make_unique<MaskedStream>(std::move(stream), unit_, mask_);
  }
  void OpenAhead(const std::vector<FieldPath>& columns, ReadContext& ctx) const override {
    unit_->OpenAhead(columns, ctx);
  }
  Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> Take(const std::vector<FieldPath>& columns,
                                                                const RowSet& rows, ReadContext& ctx) const override {
    return unit_->Take(columns, Members(rows, mask_), ctx);
  }

 private:
  RowSet Own(const RowSet& rows) const { return Ranks(rows.Intersect(mask_), mask_); }

  const std::shared_ptr<const Unit> unit_;
  const RowSet mask_;
  const uint64_t num_rows_;
};

}  // namespace

std::shared_ptr<const Unit> MakeMaskedUnit(std::shared_ptr<const Unit> unit, RowSet rows) {
  return std::make_shared<MaskedUnit>(std::move(unit), std::move(rows));
}

}  // namespace pilum
