#include "pilum/change/update_rows.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/change/blob_columns.h"
#include "pilum/change/expressions.h"
#include "pilum/change/find_rows.h"
#include "pilum/change/fit_rows.h"
#include "pilum/change/moved_rows.h"
#include "pilum/change/read_rows.h"
#include "pilum/table/column_forms.h"

namespace pilum {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

Status NoColumn(const arrow::Schema& schema, const std::string& name) {
  if (name.find('.') != std::string::npos) {
    return Unsupported("Nested column references are not yet supported. Referenced: {}", name);
  }
  return UsageError("Column '{}' does not exist; the table has {}", name, fmt::join(schema.field_names(), ", "));
}

// One update of one version.
class Update {
 public:
  Update(const ChangeBase& base, const Values& values, const UpdateOptions& options, ReadContext& ctx)
      : base_(base), values_(values), options_(options), ctx_(ctx) {}

  Status Bind() {
    PILUM_RETURN_NOT_OK(CheckRowsMove(*base_.table));
    const arrow::Schema& schema = *base_.table->schema();
    if (values_.empty()) return UsageError("No updates provided");
    std::vector<Assignment> assignments;
    for (const auto& [name, sql] : values_) {
      const int at = schema.GetFieldIndex(name);
      if (at < 0) return NoColumn(schema, name);
      if (HasBlobV2(*schema.field(at)))
        return Unsupported(
            "Direct updates to column '{}' containing blob v2 values are not supported; a merge gives them", name);
      const auto& stored = base_.table->columns().stored()->field(at);
      // JSON is computed as text, and becomes what is stored as rows are fitted.
      const auto type = IsBlobColumn(*schema.field(at)) ? schema.field(at)->type() : stored->type();  // blobs: of bytes
      assignments.push_back({name, sql, IsJsonField(*stored) ? arrow::utf8() : type});
      columns_.push_back(at);
      fields_.push_back(base_.stored->read->schema.ids.children[static_cast<size_t>(at)].id);
    }
    PILUM_ASSIGN_OR_RETURN(expressions_, Expressions::Make(schema, std::move(assignments)));
    return Status::OK();
  }

  Result<Committed> Run(TakenRows rows) {
    PILUM_ASSIGN_OR_RETURN(const FitRows fit, FitRows::MakeForNew(base_.stored->read->schema));
    FragmentWriterOptions how;
    PILUM_ASSIGN_OR_RETURN(how.version, DataVersionOf(*base_.stored, options_.data_version));
    how.blobs = {.outside = true, .bases = base_.stored->read->base_paths};
    FragmentWriter writer(base_.store, fit.schema(), fit.ids(), how);
    PILUM_RETURN_NOT_OK(Write(rows, fit, &writer));
    PILUM_ASSIGN_OR_RETURN(NewFragments added, writer.Finish());
    SetMovedIds(ids_, &added);
    auto committed = Commit(std::move(rows), &added);
    if (!committed.ok() && (!asked_ || MadeNoVersion(committed.status()))) {
      RemoveWritten(base_.store.get(), added.written);
    }
    return committed;
  }

 private:
  Status Write(const TakenRows& rows, const FitRows& fit, FragmentWriter* writer) {
    auto columns = AllColumns(*base_.table);
    const int num_columns = static_cast<int>(columns.size());
    const bool stable = base_.stored->read->has_stable_row_ids();
    if (stable) columns.push_back({{"_rowid"}});
    const auto take = [&](uint64_t, const RowSet&, const arrow::RecordBatch& batch) -> Status {
      if (stable) {
        const auto& ids = static_cast<const arrow::UInt64Array&>(*batch.column(num_columns));
        ids_.insert(ids_.end(), ids.raw_values(), ids.raw_values() + ids.length());
      }
      PILUM_ASSIGN_OR_RETURN(auto computed, expressions_.Evaluate(batch, ctx_));
      auto changed = batch.columns();
      for (size_t i = 0; i < columns_.size(); ++i) changed[static_cast<size_t>(columns_[i])] = std::move(computed[i]);
      changed.resize(static_cast<size_t>(num_columns));
      const auto all = arrow::RecordBatch::Make(fit.schema(), batch.num_rows(), std::move(changed));
      PILUM_ASSIGN_OR_RETURN(auto fitted, fit.Fit(*all));
      return writer->Write(*fitted);
    };
    return ReadRows(*base_.table, rows, columns, {}, ctx_, take);
  }

  Result<Committed> Commit(TakenRows rows, NewFragments* added) {
    PILUM_ASSIGN_OR_RETURN(const TakenAway taken, TakeAway(base_, rows, ctx_));
    added->written.insert(added->written.end(), taken.written.begin(), taken.written.end());
    asked_ = true;
    return CommitChange(base_, MovedRows(taken, *added, fields_), added->written, std::move(rows), options_, ctx_);
  }

  const ChangeBase& base_;
  const Values& values_;
  const UpdateOptions& options_;
  ReadContext& ctx_;
  Expressions expressions_;
  std::vector<int> columns_;     // that get new values, in the schema
  std::vector<int32_t> fields_;  // the same by field id
  std::vector<uint64_t> ids_;    // of the rows, where those are stable
  bool asked_ = false;           // for the commit: before that none can have happened
};

uint64_t CountOf(const TakenRows& rows) {
  uint64_t out = 0;
  for (const auto& [fragment, places] : rows) out += places.size();
  return out;
}

}  // namespace

Result<UpdatedRows> UpdateRows(WritableTable table, const Values& values, const std::string& predicate,
                               const UpdateOptions& options, ReadContext& ctx, const Params& params) {
  UpdatedRows out;
  const auto once = [&](const ChangeBase& base) -> Result<Committed> {
    Update update(base, values, options, ctx);
    PILUM_RETURN_NOT_OK(update.Bind());
    PILUM_ASSIGN_OR_RETURN(TakenRows rows, FindRows(*base.table, predicate, ctx, params));
    out.rows = CountOf(rows);
    return update.Run(std::move(rows));
  };
  PILUM_ASSIGN_OR_RETURN(const Committed committed, Redo(std::move(table), options, ctx, once));
  out.version = committed.version;
  return out;
}

}  // namespace pilum
