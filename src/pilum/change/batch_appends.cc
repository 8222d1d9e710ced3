#include "pilum/change/batch_appends.h"

#include <optional>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>

namespace pilum {

struct BatchAppends::Part {
  FitRows fit;
  std::vector<std::shared_ptr<arrow::RecordBatch>> rows;
};

struct BatchAppends::Group {
  std::shared_ptr<const ChangeBase> base;  // that its rows fit; null: it has none
  std::vector<Part> parts;
  uint64_t bytes = 0;    // of what is not in files yet
  NewFragments staged;   // what is
  bool all_wait = true;  // each of its rows has a caller that waits
  std::optional<Result<WrittenTable>> done;
};

BatchAppends::BatchAppends(WritableTable table, WriteTableOptions options, uint64_t most_bytes)
    : options_(std::move(options)),
      most_bytes_(most_bytes),
      table_(std::move(table)),
      open_(std::make_shared<Group>()) {}

BatchAppends::~BatchAppends() { Abandon(); }

void BatchAppends::Abandon() {
  std::lock_guard lock(mutex_);
  RemoveWritten(table_.store.get(), open_->staged.written);
  open_ = std::make_shared<Group>();
  broken_ = Status::OK();
}

Status BatchAppends::Begin(Group* group, ReadContext& ctx) {
  if (group->base) return Status::OK();
  PILUM_ASSIGN_OR_RETURN(ChangeBase base, BeginChange(table_, ctx));
  group->base = std::make_shared<const ChangeBase>(std::move(base));
  return Status::OK();
}

Result<std::shared_ptr<BatchAppends::Group>> BatchAppends::Add(const Rows& rows, bool waits, ReadContext& ctx) {
  std::lock_guard lock(mutex_);
  PILUM_RETURN_NOT_OK(broken_);
  const std::shared_ptr<Group> group = open_;
  PILUM_RETURN_NOT_OK(Begin(group.get(), ctx));
  std::vector<Part> parts;
  uint64_t bytes = 0;
  for (const auto& batch : rows) {
    PILUM_ASSIGN_OR_RETURN(FitRows fit, FitRows::Make(group->base->stored->read->schema, *batch->schema()));
    PILUM_ASSIGN_OR_RETURN(auto fitted, fit.Fit(*batch));
    if (fitted->num_rows() == 0) continue;
    PILUM_ASSIGN_OR_RETURN(const int64_t size, arrow::util::ReferencedBufferSize(*fitted));
    bytes += static_cast<uint64_t>(size);
    parts.push_back({std::move(fit), {std::move(fitted)}});
  }
  auto& all = group->parts;
  for (Part& part : parts) {
    if (!all.empty() && all.back().fit.schema()->Equals(*part.fit.schema(), true)) {
      all.back().rows.push_back(std::move(part.rows[0]));
    } else {
      all.push_back(std::move(part));
    }
  }
  group->all_wait &= waits;
  group->bytes += bytes;
  if (group->bytes > most_bytes_) {
    broken_ = Stage(group.get());
    PILUM_RETURN_NOT_OK(broken_);
  }
  return group;
}

// Into files that no version names yet.
Status BatchAppends::Stage(Group* group) const {
  const ChangeBase& base = *group->base;
  PILUM_ASSIGN_OR_RETURN(const FileVersion version, DataVersionOf(*base.stored, options_.data_version));
  for (const Part& part : group->parts) {
    FragmentWriterOptions how{version, options_.max_rows_per_file, options_.max_bytes_per_file, options_.page_bytes,
                              options_.checksums};
    how.blobs = options_.blobs;
    how.blobs.bases = base.stored->read->base_paths;
    how.blobs.storage = base.table->options();
    FragmentWriter writer(base.store, part.fit.schema(), part.fit.ids(), how);
    for (const auto& batch : part.rows) PILUM_RETURN_NOT_OK(writer.Write(*batch));
    PILUM_ASSIGN_OR_RETURN(NewFragments more, writer.Finish());
    group->staged.fragments.MergeFrom(more.fragments);
    group->staged.written.insert(group->staged.written.end(), more.written.begin(), more.written.end());
    group->staged.rows += more.rows;
  }
  group->parts.clear();
  group->bytes = 0;
  return Status::OK();
}

Result<WrittenTable> BatchAppends::Write(Group* group, ReadContext& ctx) {
  ObjectStore* store = group->base->store.get();
  const Status staged = Stage(group);
  if (!staged.ok()) {
    RemoveWritten(store, group->staged.written);
    return staged;
  }
  wire::Transaction t;
  *t.mutable_append()->mutable_fragments() = group->staged.fragments;
  auto done = CommitChange(*group->base, std::move(t), group->staged.written, std::nullopt, options_, ctx);
  if (done.ok()) return WrittenTable{done->version, group->staged.rows};
  // Where the commit may have happened all the same, the files stay: clean-up tells.
  if (MadeNoVersion(done.status())) RemoveWritten(store, group->staged.written);
  return done.status();
}

Result<WrittenTable> BatchAppends::CommitGroup(const std::shared_ptr<Group>& group, ReadContext& ctx) {
  std::lock_guard turn(turn_);
  if (group->done) return *group->done;
  {
    std::lock_guard lock(mutex_);
    PILUM_RETURN_NOT_OK(broken_);
    if (group->parts.empty() && group->staged.fragments.empty()) {
      return WrittenTable{table_.table->manifest().version, 0};
    }
    open_ = std::make_shared<Group>();  // who comes now is of the next
  }
  const Result<WrittenTable> done = Write(group.get(), ctx);
  group->done = done;
  group->parts.clear();
  group->staged = {};
  std::lock_guard lock(mutex_);
  if (!done.ok() && !group->all_wait) broken_ = done.status();
  auto next = table_.table->Reopen(done.ok() ? std::optional(done->version) : std::nullopt, ctx);
  if (next.ok()) table_.table = std::move(*next);
  return done;
}

Status BatchAppends::Put(const Rows& rows, ReadContext& ctx) { return Add(rows, /*waits=*/false, ctx).status(); }

Result<WrittenTable> BatchAppends::Append(const Rows& rows, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const auto group, Add(rows, /*waits=*/true, ctx));
  return CommitGroup(group, ctx);
}

Result<WrittenTable> BatchAppends::Commit(ReadContext& ctx) {
  std::shared_ptr<Group> group;
  {
    std::lock_guard lock(mutex_);
    group = open_;
  }
  return CommitGroup(group, ctx);
}

}  // namespace pilum
