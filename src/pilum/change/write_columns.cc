#include "pilum/change/write_columns.h"

#include <algorithm>
#include <map>
#include <set>

#include <arrow/record_batch.h>

#include "pilum/change/column_file.h"
#include "pilum/change/fragment_writer.h"
#include "pilum/table/commit/schema_fields.h"
#include "pilum/table/fragment.h"

namespace pilum {
namespace {

// Batches of as many rows as are wanted.
class Values {
 public:
  explicit Values(ColumnValues* source) : source_(source) {}

  // At most `rows`; null: there are no more.
  Result<std::shared_ptr<arrow::RecordBatch>> Take(uint64_t rows) {
    while (!batch_ || batch_->num_rows() == 0) {
      PILUM_ASSIGN_OR_RETURN(batch_, source_->Next());
      if (!batch_) return nullptr;
    }
    const auto n = static_cast<int64_t>(std::min(rows, static_cast<uint64_t>(batch_->num_rows())));
    auto out = n == batch_->num_rows() ? batch_ : batch_->Slice(0, n);
    batch_ = batch_->Slice(n);
    return out;
  }

  Status CheckEnd() {
    PILUM_ASSIGN_OR_RETURN(const auto more, Take(1));
    return more ? UsageError("Stream produced more values than expected for dataset") : Status::OK();
  }

 private:
  ColumnValues* const source_;
  std::shared_ptr<arrow::RecordBatch> batch_;
};

Result<wire::DataFile> WriteOne(const ChangeBase& base, const Fragment& fragment, const FitRows& fit,
                                FileVersion version, Values* values, std::string* path, uint64_t* rows,
                                ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto physical, PhysicalFragment::Make(base.table->context(), fragment, ctx));
  PILUM_ASSIGN_OR_RETURN(RowSet deleted, physical->ReadDeletions(ctx));
  *rows = physical->num_rows();
  ColumnFile file(base.store, fit, version, *rows, std::move(deleted));
  while (file.live_left() > 0) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    PILUM_ASSIGN_OR_RETURN(const auto batch, values->Take(file.live_left()));
    if (!batch) return UsageError("Stream ended before producing values for all rows in dataset");
    PILUM_RETURN_NOT_OK(file.Write(*batch));
  }
  return file.Finish(path);
}

std::string FilesOf(const wire::DataFragment& fragment) {
  wire::DataFragment files;
  *files.mutable_files() = fragment.files();
  return SerializeWire(files);
}

std::string BytesOf(const WireFields& fields) {
  wire::Schema schema;
  *schema.mutable_fields() = fields;
  return SerializeWire(schema);
}

// One change of columns, from its first attempt to the commit.
class ColumnsWriter {
 public:
  ColumnsWriter(const PlanColumns& plan, ColumnValues& values, const ChangeOptions& options, ReadContext& ctx)
      : plan_(plan), values_(values), options_(options), ctx_(ctx) {}

  Result<Committed> Attempt(const ChangeBase& base) {
    PILUM_ASSIGN_OR_RETURN(const ColumnPlan plan, plan_(base));
    KeepWhatStands(base);
    if (plan.fields.file.schema->num_fields() > 0) PILUM_RETURN_NOT_OK(Write(base, plan.fields.file));
    wire::Transaction t;
    auto* op = t.mutable_merge();
    *op->mutable_schema() = plan.fields.all;
    op->set_preserves_nullability(plan.preserves_nullability);
    std::vector<std::string> paths;
    for (const auto& f : base.stored->manifest.fragments()) {
      auto* fragment = op->add_fragments();
      *fragment = f;
      const auto at = done_.find(f.id());
      if (at == done_.end()) continue;
      fragment->set_physical_rows(at->second.rows);
      PutFile(at->second.file, fragment);
      paths.push_back(at->second.path);
    }
    auto committed = CommitChange(base, std::move(t), std::move(paths), std::nullopt, options_, ctx_);
    unsure_ = !committed.ok() && !MadeNoVersion(committed.status());
    return committed;
  }

  // Of a change that failed; where it may have been committed all the same, the files stay.
  void Abandon(ObjectStore* store) {
    for (const auto& [id, done] : done_) {
      if (!unsure_) (void)store->Remove(done.path);
    }
  }

 private:
  struct Done {
    std::string before;  // files of the fragment that the values are for
    wire::DataFile file;
    std::string path;
    uint64_t rows = 0;
  };

  // Files of an earlier attempt. With another schema the values may mean something else, and ids are taken.
  void KeepWhatStands(const ChangeBase& base) {
    const std::string schema = BytesOf(base.stored->manifest.fields());
    std::map<uint64_t, Done> kept;
    for (const auto& f : base.stored->manifest.fragments()) {
      const auto at = done_.find(f.id());
      if (at == done_.end() || schema != schema_ || at->second.before != FilesOf(f)) continue;
      kept.insert(done_.extract(at));
    }
    Abandon(base.store.get());
    done_ = std::move(kept);
    schema_ = schema;
  }

  Status Write(const ChangeBase& base, const FileSchema& schema) {
    PILUM_ASSIGN_OR_RETURN(const FileVersion version, DataVersionOf(*base.stored));
    PILUM_ASSIGN_OR_RETURN(const FitRows fit, FitRows::MakeForNew(schema));
    std::vector<uint64_t> todo;
    for (const auto& f : base.stored->manifest.fragments()) {
      if (!done_.contains(f.id())) todo.push_back(f.id());
    }
    if (todo.empty() && !done_.empty()) return Status::OK();
    PILUM_RETURN_NOT_OK(values_.Begin(*base.table, todo, ctx_));
    Values values(&values_);
    for (int i = 0; i < base.stored->manifest.fragments_size(); ++i) {
      const auto& f = base.stored->manifest.fragments(i);
      if (done_.contains(f.id())) continue;
      Done done;
      done.before = FilesOf(f);
      PILUM_ASSIGN_OR_RETURN(done.file, WriteOne(base, base.table->manifest().fragments[static_cast<size_t>(i)], fit,
                                                 version, &values, &done.path, &done.rows, ctx_));
      done_.emplace(f.id(), std::move(done));
    }
    return values.CheckEnd();
  }

  const PlanColumns& plan_;
  ColumnValues& values_;
  const ChangeOptions& options_;
  ReadContext& ctx_;
  std::map<uint64_t, Done> done_;  // by fragment
  std::string schema_;             // of the table, that they were written for
  bool unsure_ = false;
};

}  // namespace

void PutFile(const wire::DataFile& file, wire::DataFragment* fragment) {
  TakeFields(file, fragment);
  auto* files = fragment->mutable_files();
  const auto is_empty = [](const wire::DataFile& old) {
    return std::all_of(old.fields().begin(), old.fields().end(), [](int32_t id) { return id == DataFile::kTombstone; });
  };
  files->erase(std::remove_if(files->begin(), files->end(), is_empty), files->end());
  *files->Add() = file;
}

Result<Committed> WriteColumns(WritableTable table, const PlanColumns& plan, ColumnValues& values,
                               const ChangeOptions& options, ReadContext& ctx) {
  const auto store = table.store;
  ColumnsWriter writer(plan, values, options, ctx);
  auto committed = Redo(std::move(table), options, ctx, [&](const ChangeBase& base) { return writer.Attempt(base); });
  if (!committed.ok()) writer.Abandon(store.get());
  return committed;
}

Result<WrittenFragment> WriteFragmentColumns(const ChangeBase& base, uint64_t fragment, const FileSchema& schema,
                                             ColumnValues& values, ReadContext& ctx) {
  const Fragment* found = base.table->manifest().FindFragment(fragment);
  if (!found) return NotFoundError("{}: there is no fragment {}", base.table->uri(), fragment);
  PILUM_ASSIGN_OR_RETURN(const FileVersion version, DataVersionOf(*base.stored));
  PILUM_ASSIGN_OR_RETURN(const FitRows fit, FitRows::MakeForNew(schema));
  PILUM_RETURN_NOT_OK(values.Begin(*base.table, {fragment}, ctx));
  Values cut(&values);
  WrittenFragment out;
  uint64_t rows = 0;
  PILUM_ASSIGN_OR_RETURN(const wire::DataFile file, WriteOne(base, *found, fit, version, &cut, &out.path, &rows, ctx));
  const Status end = cut.CheckEnd();
  if (!end.ok()) {
    (void)base.store->Remove(out.path);
    return end;
  }
  out.fragment = *FindFragment(base.stored->manifest, fragment);
  out.fragment.set_physical_rows(rows);
  PutFile(file, &out.fragment);
  return out;
}

}  // namespace pilum
