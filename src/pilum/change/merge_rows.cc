#include "pilum/change/merge_rows.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/change/inserted_keys.h"
#include "pilum/change/merge_columns.h"
#include "pilum/change/merge_plan.h"
#include "pilum/change/merge_source.h"
#include "pilum/change/merge_write.h"
#include "pilum/change/moved_rows.h"

namespace pilum {
namespace {

bool SameButCase(const std::string& a, const std::string& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// The table's name for it; upper and lower case do not matter where that is clear.
Result<std::string> KeyColumn(const arrow::Schema& schema, const std::string& name) {
  if (schema.GetFieldIndex(name) >= 0) return name;
  std::vector<std::string> like;
  for (const auto& f : schema.fields()) {
    if (SameButCase(f->name(), name)) like.push_back(f->name());
  }
  if (like.size() == 1) return like[0];
  return UsageError("Merge insert key column '{}' does not exist in schema; the table has {}", name,
                    fmt::join(schema.field_names(), ", "));
}

Result<std::vector<std::string>> KeyColumns(const ChangeBase& base, const std::vector<std::string>& asked) {
  const FileSchema& schema = base.stored->read->schema;
  std::vector<std::string> out;
  for (const auto& name : asked) {
    PILUM_ASSIGN_OR_RETURN(out.emplace_back(), KeyColumn(*schema.schema, name));
  }
  for (const int32_t id : asked.empty() ? PrimaryKeyOf(base.stored->manifest) : std::vector<int32_t>()) {
    for (size_t i = 0; i < schema.ids.children.size(); ++i) {
      if (schema.ids.children[i].id == id) out.push_back(schema.schema->field(static_cast<int>(i))->name());
    }
  }
  if (out.empty()) {
    return UsageError(
        "A merge insert operation requires join keys: specify `on` columns explicitly or configure a primary key in "
        "the "
        "dataset schema");
  }
  for (const auto& name : out) {
    PILUM_RETURN_NOT_OK(MergeKeys::CheckType(name, *schema.schema->GetFieldByName(name)->type()));
  }
  return out;
}

std::vector<int32_t> FieldsOf(const ChangeBase& base, const std::vector<std::string>& columns) {
  const FileSchema& schema = base.stored->read->schema;
  std::vector<int32_t> out;
  for (const auto& name : columns) {
    out.push_back(schema.ids.children[static_cast<size_t>(schema.schema->GetFieldIndex(name))].id);
  }
  return out;
}

class Merge {
 public:
  Merge(const MergeOptions& options, ReadContext& ctx) : options_(options), ctx_(ctx) {}

  Status Collect(const ChangeBase& base, arrow::RecordBatchReader& rows) {
    PILUM_RETURN_NOT_OK(CheckRowsMove(*base.table));
    PILUM_ASSIGN_OR_RETURN(on_, KeyColumns(base, options_.on));
    PILUM_ASSIGN_OR_RETURN(files_.version, DataVersionOf(*base.stored, options_.data_version));
    files_.blobs = {.outside = true, .bases = base.stored->read->base_paths};
    MergeSource::Options how;
    how.files = files_;
    how.held_bytes = options_.held_bytes;
    PILUM_ASSIGN_OR_RETURN(files_.targets,
                           TargetsOf(options_.targets, base.stored->read->base_paths, base.table->options()));
    PILUM_ASSIGN_OR_RETURN(source_, MergeSource::Collect(base.store, base.stored->read->schema, on_, rows, how, ctx_));
    fields_met_ = FieldsMet(base);
    return options_.rewrite_columns ? CheckRewritesColumns(*base.table, *source_, on_, options_) : Status::OK();
  }

  Result<Committed> Run(const ChangeBase& base, MergedRows* out) {
    PILUM_ASSIGN_OR_RETURN(Made made, Make(base, out));
    InsertedKeysCheck check(base, on_, source_->keys(), made.plan);
    CommitCheck look;
    if (options_.insert) look = [&](const StoredVersion& newest) { return check.Check(newest, ctx_); };
    // Of rewritten columns nobody could say which rows of a fragment they are.
    auto taken = options_.rewrite_columns ? std::nullopt : std::optional(made.plan.taken);
    auto committed =
        CommitChange(base, std::move(made.transaction), made.written, std::move(taken), options_, ctx_, look);
    if (committed.ok() || !MadeNoVersion(committed.status())) {
      // A version may have it, or has.
      if (made.of_source) source_->HandOver();
      return committed;
    }
    Abandon(base, made);
    return committed;
  }

  Result<StagedMerge> Stage(const ChangeBase& base) {
    StagedMerge out;
    PILUM_ASSIGN_OR_RETURN(Made made, Make(base, &out.rows));
    if (options_.sync) PILUM_RETURN_NOT_OK(base.store->Sync(made.written));
    if (made.of_source) source_->HandOver();
    out.transaction = std::move(made.transaction);
    SetStaged(options_, base.stored->version(), &out.transaction);
    return out;
  }

 private:
  // The table's fields that the source has a part in, as the rows were made to fit them.
  std::string FieldsMet(const ChangeBase& base) const {
    std::set<int32_t> met;
    std::string out;
    for (const auto& f : base.stored->manifest.fields()) {
      const bool of_source =
          f.parent_id() < 0 ? source_->schema()->GetFieldIndex(f.name()) >= 0 : met.contains(f.parent_id());
      if (!of_source) continue;
      met.insert(f.id());
      out += fmt::format("{} {} {} {} {}\n", f.id(), f.parent_id(), f.name(), f.logical_type(), f.nullable());
    }
    return out;
  }

  struct Made {
    MergePlan plan;
    wire::Transaction transaction;
    std::vector<std::string> written;
    std::vector<FileElsewhere> elsewhere;
    size_t of_source = 0;  // so many of them, from the first on, are the source's own
  };

  // The source's own files are needed for the next time.
  static void Abandon(const ChangeBase& base, const Made& made) {
    RemoveWritten(base.store.get(),
                  {made.written.begin() + static_cast<std::ptrdiff_t>(made.of_source), made.written.end()});
    RemoveWritten(made.elsewhere);
  }

  // All but the commit.
  Result<Made> Make(const ChangeBase& base, MergedRows* out) {
    if (FieldsMet(base) != fields_met_) {
      return MakeError(ErrorKind::kConflict, "others changed columns that the rows to merge have; merge them again");
    }
    Made made;
    PILUM_ASSIGN_OR_RETURN(made.plan, PlanMerge(*base.table, *source_, on_, options_, ctx_));
    const MergePlan& plan = made.plan;
    if (options_.rewrite_columns) {
      PILUM_ASSIGN_OR_RETURN(RewrittenColumns rewritten, RewriteColumns(base, *source_, plan, on_, ctx_));
      *out = {0, 0, plan.updates.size(), 0};
      made.transaction = std::move(rewritten.transaction);
      made.written = std::move(rewritten.written);
      return made;
    }
    PILUM_ASSIGN_OR_RETURN(const MergeFragments rows, WriteMerge(base, *source_, plan, files_, ctx_));
    *out = {0, plan.inserts.size(), plan.updates.size(), plan.deleted};
    made.written = rows.added.written;
    made.elsewhere = rows.added.elsewhere;
    if (rows.of_source) made.of_source = made.written.size();
    auto taken_away = TakeAway(base, plan.taken, ctx_);
    if (!taken_away.ok()) Abandon(base, made);
    PILUM_ASSIGN_OR_RETURN(const TakenAway taken, std::move(taken_away));
    made.written.insert(made.written.end(), taken.written.begin(), taken.written.end());
    std::vector<int32_t> fields;
    for (const auto& f : base.stored->manifest.fields()) fields.push_back(f.id());
    made.transaction = MovedRows(taken, rows.added, fields);
    const auto key = FieldsOf(base, on_);
    if (key == PrimaryKeyOf(base.stored->manifest)) {
      PILUM_RETURN_NOT_OK(SetInsertedKeys(key, on_, *source_, plan, ctx_, made.transaction.mutable_update()));
    }
    return made;
  }

  const MergeOptions& options_;
  ReadContext& ctx_;
  std::vector<std::string> on_;
  FragmentWriterOptions files_;
  std::unique_ptr<MergeSource> source_;
  std::string fields_met_;  // when the rows were made to fit them
};

Status CheckDoesSomething(const MergeOptions& options) {
  if (options.matched != WhenMatched::kKeep || options.insert || options.delete_others) return Status::OK();
  return UsageError("The merge insert job is not configured to change the data in any way");
}

}  // namespace

Result<MergedRows> MergeRows(WritableTable table, arrow::RecordBatchReader& rows, const MergeOptions& options,
                             ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(CheckDoesSomething(options));
  Merge merge(options, ctx);
  PILUM_ASSIGN_OR_RETURN(const ChangeBase first, BeginChange(table, ctx));
  PILUM_RETURN_NOT_OK(merge.Collect(first, rows));
  MergedRows out;
  PILUM_ASSIGN_OR_RETURN(const Committed committed, Redo(std::move(table), options, ctx, [&](const ChangeBase& base) {
                           return merge.Run(base, &out);
                         }));
  out.version = committed.version;
  return out;
}

Result<StagedMerge> StageMerge(const WritableTable& table, arrow::RecordBatchReader& rows, const MergeOptions& options,
                               ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(CheckDoesSomething(options));
  Merge merge(options, ctx);
  PILUM_ASSIGN_OR_RETURN(const ChangeBase base, BeginChange(table, ctx));
  PILUM_RETURN_NOT_OK(merge.Collect(base, rows));
  return merge.Stage(base);
}

}  // namespace pilum
