#include "pilum/change/merge_write.h"

#include <algorithm>
#include <unordered_map>

#include <arrow/array.h>
#include <arrow/compute/api.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/change/moved_rows.h"
#include "pilum/change/read_rows.h"

namespace pilum {
namespace {

// The ids of the rows that are updated, by pair.
Result<std::vector<uint64_t>> IdsOf(const Table& table, const MergePlan& plan, ReadContext& ctx) {
  std::unordered_map<uint64_t, uint64_t> by_address;
  PILUM_RETURN_NOT_OK(ReadRows(table, ByFragment(plan.updates), {FieldPath{{"_rowid"}}}, {}, ctx,
                               [&](uint64_t fragment, const RowSet& places, const arrow::RecordBatch& batch) {
                                 const auto& ids = static_cast<const arrow::UInt64Array&>(*batch.column(0));
                                 int64_t i = 0;
                                 for (const uint64_t place : places.ToVector()) {
                                   by_address[fragment << 32 | place] = ids.Value(i++);
                                 }
                                 return Status::OK();
                               }));
  std::vector<uint64_t> out;
  for (const MergePair& p : plan.updates) out.push_back(by_address[p.address]);
  return out;
}

// The source has every column: its rows are written as they are.
class WholeRows {
 public:
  WholeRows(const MergeSource& source, const MergePlan& plan) : source_(source), plan_(plan) {
    for (size_t i = 0; i < plan.updates.size(); ++i) order_.push_back(i);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return plan.updates[a].row < plan.updates[b].row; });
  }

  // Pairs in the order in which their rows are written.
  const std::vector<size_t>& order() const { return order_; }

  // Each row once, those that are updated first if they have to be.
  bool IsSource(bool updates_first) const {
    const size_t updates = order_.size();
    if (updates + plan_.inserts.size() != source_.keys().num_rows()) return false;
    for (size_t i = 1; i < updates; ++i) {
      if (Row(i) == Row(i - 1)) return false;
    }
    return !updates_first || updates == 0 || plan_.inserts.empty() || Row(updates - 1) < plan_.inserts.front();
  }

  Status Write(bool updates, bool inserts, FragmentWriter* writer, ReadContext& ctx) const {
    size_t at_update = 0, at_insert = 0;
    return source_.Read(ctx, [&](uint64_t first, const arrow::RecordBatch& batch) -> Status {
      const uint64_t end = first + static_cast<uint64_t>(batch.num_rows());
      std::vector<int64_t> rows;
      while (true) {
        const uint64_t update = updates && at_update < order_.size() ? Row(at_update) : UINT64_MAX;
        const uint64_t insert = inserts && at_insert < plan_.inserts.size() ? plan_.inserts[at_insert] : UINT64_MAX;
        const uint64_t row = std::min(update, insert);
        if (row >= end) break;
        ++(update <= insert ? at_update : at_insert);
        rows.push_back(static_cast<int64_t>(row - first));
      }
      return WriteRows(batch, rows, writer);
    });
  }

 private:
  uint64_t Row(size_t i) const { return plan_.updates[order_[i]].row; }

  static Status WriteRows(const arrow::RecordBatch& batch, const std::vector<int64_t>& rows, FragmentWriter* writer) {
    if (rows.empty()) return Status::OK();
    const bool one_run = rows.back() - rows.front() + 1 == static_cast<int64_t>(rows.size()) &&
                         std::adjacent_find(rows.begin(), rows.end()) == rows.end();
    if (one_run) return writer->Write(*batch.Slice(rows.front(), static_cast<int64_t>(rows.size())));
    PILUM_ASSIGN_OR_RETURN(const auto taken, TakeRows(batch, rows));
    return writer->Write(*taken);
  }

  const MergeSource& source_;
  const MergePlan& plan_;
  std::vector<size_t> order_;
};

// The source lacks columns: those of updated rows are read from the table.
class PartialRows {
 public:
  PartialRows(const Table& table, const MergeSource& source, const MergePlan& plan, const FitRows& fit)
      : table_(table), source_(source), plan_(plan), fit_(fit), given_(source.schema()->field_names()) {
    for (const auto& field : fit.schema()->fields()) {
      if (source.schema()->GetFieldIndex(field->name()) < 0) missing_.push_back(field->name());
    }
  }

  Status Write(FragmentWriter* writer, ReadContext& ctx) const {
    PILUM_RETURN_NOT_OK(ReadPairs(table_, source_, plan_.updates, missing_, given_, ctx,
                                  [&](size_t, const arrow::RecordBatch& target, const arrow::RecordBatch& source) {
                                    return WriteBeside(&target, source, writer);
                                  }));
    return source_.Take(given_, plan_.inserts, ctx,
                        [&](size_t, const arrow::RecordBatch& source) { return WriteBeside(nullptr, source, writer); });
  }

 private:
  Status WriteBeside(const arrow::RecordBatch* target, const arrow::RecordBatch& source, FragmentWriter* writer) const {
    arrow::ArrayVector columns;
    for (const auto& field : fit_.schema()->fields()) {
      auto column = source.GetColumnByName(field->name());
      if (!column && target) column = target->GetColumnByName(field->name());
      if (!column) {
        PILUM_ASSIGN_OR_RETURN(column, arrow::MakeArrayOfNull(field->type(), source.num_rows()));
      }
      columns.push_back(std::move(column));
    }
    const auto all = arrow::RecordBatch::Make(fit_.schema(), source.num_rows(), std::move(columns));
    PILUM_ASSIGN_OR_RETURN(auto fitted, fit_.Fit(*all));
    return writer->Write(*fitted);
  }

  const Table& table_;
  const MergeSource& source_;
  const MergePlan& plan_;
  const FitRows& fit_;
  const std::vector<std::string> given_;
  std::vector<std::string> missing_;
};

}  // namespace

Result<MergeFragments> WriteMerge(const ChangeBase& base, const MergeSource& source, const MergePlan& plan,
                                  const FragmentWriterOptions& files, ReadContext& ctx) {
  MergeFragments out;
  const bool stable = base.stored->read->has_stable_row_ids();
  std::vector<uint64_t> ids;
  if (stable) {
    PILUM_ASSIGN_OR_RETURN(ids, IdsOf(*base.table, plan, ctx));
  }
  PILUM_ASSIGN_OR_RETURN(const FitRows fit, FitRows::MakeForNew(base.stored->read->schema));
  FragmentWriter writer(base.store, fit.schema(), fit.ids(), files);
  if (source.schema()->num_fields() < fit.schema()->num_fields()) {
    PILUM_RETURN_NOT_OK(PartialRows(*base.table, source, plan, fit).Write(&writer, ctx));
    PILUM_ASSIGN_OR_RETURN(out.added, writer.Finish());
    SetMovedIds(ids, &out.added);
    return out;
  }
  const WholeRows rows(source, plan);
  std::vector<uint64_t> ordered;
  for (size_t i = 0; stable && i < ids.size(); ++i) ordered.push_back(ids[rows.order()[i]]);
  // Those are files of the table's own folder.
  out.of_source = files.targets.empty() && source.files() && rows.IsSource(stable);
  if (out.of_source) {
    out.added = *source.files();
  } else {
    PILUM_RETURN_NOT_OK(rows.Write(true, !stable, &writer, ctx));
    if (stable) PILUM_RETURN_NOT_OK(rows.Write(false, true, &writer, ctx));
    PILUM_ASSIGN_OR_RETURN(out.added, writer.Finish());
  }
  SetMovedIds(ordered, &out.added);
  return out;
}

}  // namespace pilum
