#include "pilum/change/compact_table.h"

#include <algorithm>

#include "pilum/base/for_each.h"
#include "pilum/table/commit/stored_version.h"

namespace pilum {
namespace {

using Fragments = google::protobuf::RepeatedPtrField<wire::DataFragment>;

// One group a result, as messages. kUsage where they cannot be of one table.
Result<wire::Transaction> RewriteOf(const ChangeBase& base, const std::vector<RewriteResult>& results) {
  wire::Transaction out;
  std::set<uint64_t> seen;
  for (const RewriteResult& result : results) {
    auto* group = out.mutable_rewrite()->add_groups();
    for (const uint64_t id : result.old_fragments) {
      if (!seen.insert(id).second) {
        return UsageError("{}: fragment {} is in two results of a compaction", base.table->uri(), id);
      }
      const auto* fragment = FindFragment(base.stored->manifest, id);
      if (!fragment) {
        return UsageError("{}: version {}, which the compaction read, has no fragment {}", base.table->uri(),
                          base.stored->version(), id);
      }
      *group->add_old_fragments() = *fragment;
    }
    for (const std::string& message : result.new_fragments) {
      PILUM_RETURN_NOT_OK(ParseWire(message, "new fragment of a compaction", group->add_new_fragments()));
    }
  }
  return out;
}

// Ids that nobody else has: the new fragments must be told apart from others' before they are in the table.
Status ReserveIds(const ChangeBase& base, const ChangeOptions& change, wire::Transaction* rewrite, ReadContext& ctx) {
  uint32_t wanted = 0;
  for (const auto& group : rewrite->rewrite().groups()) wanted += static_cast<uint32_t>(group.new_fragments_size());
  if (wanted == 0) return Status::OK();
  wire::Transaction reserve;
  reserve.mutable_reserve_fragments()->set_num_fragments(wanted);
  ChangeOptions how = change;
  how.properties.clear();
  PILUM_ASSIGN_OR_RETURN(const Committed done, CommitChange(base, std::move(reserve), {}, std::nullopt, how, ctx));
  PILUM_ASSIGN_OR_RETURN(auto reserved, LoadStored(*base.store, done.listed, ctx));
  uint64_t id = uint64_t{reserved->manifest.max_fragment_id()} + 1 - wanted;
  for (auto& group : *rewrite->mutable_rewrite()->mutable_groups()) {
    for (auto& fragment : *group.mutable_new_fragments()) fragment.set_id(id++);
  }
  return Status::OK();
}

// The version that the results were made of.
Result<WritableTable> AsRead(WritableTable table, const std::vector<RewriteResult>& results, ReadContext& ctx) {
  uint64_t read = results[0].read_version;
  for (const RewriteResult& r : results) read = std::min(read, r.read_version);
  if (read != table.table->manifest().version) {
    PILUM_ASSIGN_OR_RETURN(table.table, table.table->Reopen(read, ctx));
  }
  return table;
}

void RemoveFiles(const ChangeBase& base, const RewriteResult& result) {
  ReadContext ctx;  // also where the caller has been told to stop
  if (auto files = FilesOf(*base.table, result, ctx); files.ok()) RemoveWritten(base.store.get(), *files);
}

// One run of CompactTable.
class Compaction {
 public:
  Compaction(const CompactionOptions& options, const ChangeOptions& change, ReadContext& ctx)
      : options_(options), change_(change), ctx_(ctx) {}

  // true: others changed some of the fragments.
  Result<bool> Once(const WritableTable& table) {
    PILUM_ASSIGN_OR_RETURN(const ChangeBase base, BeginChange(table, ctx_));
    if (out_.version == 0) out_.version = base.stored->version();
    PILUM_ASSIGN_OR_RETURN(const CompactionPlan plan, PlanCompaction(*table.table, options_, ctx_));
    if (plan.tasks.empty()) return false;
    PILUM_ASSIGN_OR_RETURN(const auto results, Rewrite(base, plan));
    PILUM_ASSIGN_OR_RETURN(const bool whole, TryCommit(base, table, results));
    if (whole || results.size() == 1) return !whole;
    bool again = false;
    for (const RewriteResult& one : results) {
      PILUM_ASSIGN_OR_RETURN(const bool done, TryCommit(base, table, {one}));
      again |= !done;
    }
    return again;
  }

  const Compacted& out() const { return out_; }
  const Status& conflict() const { return conflict_; }

 private:
  Result<std::vector<RewriteResult>> Rewrite(const ChangeBase& base, const CompactionPlan& plan) {
    std::vector<RewriteResult> results(plan.tasks.size());
    const int threads = options_.threads > 0 ? options_.threads : ctx_.threads;
    const auto one = [&](size_t i) -> Status {
      PILUM_ASSIGN_OR_RETURN(results[i], RewriteFragments(base, plan.tasks[i], options_, ctx_));
      return Status::OK();
    };
    const Status st = ForEach(plan.tasks.size(), threads, one, 1);
    if (st.ok()) return results;
    for (const RewriteResult& r : results) RemoveFiles(base, r);
    return st;
  }

  // false: others changed some of the fragments. Files are removed where it is known that no version has them, and they
  // will not be tried again.
  Result<bool> TryCommit(const ChangeBase& base, const WritableTable& table,
                         const std::vector<RewriteResult>& results) {
    auto done = CommitCompaction(table, results, change_, ctx_);
    if (done.ok()) {
      out_.version = done->version;
      out_.metrics += done->metrics;
      return true;
    }
    const ErrorKind kind = KindOf(done.status());
    const bool tried_again = results.size() > 1 && kind == ErrorKind::kRetry;
    for (const RewriteResult& r : results) {
      if (MadeNoVersion(done.status()) && !tried_again) RemoveFiles(base, r);
    }
    if (kind != ErrorKind::kRetry) return done.status();
    conflict_ = done.status();
    return false;
  }

  const CompactionOptions& options_;
  const ChangeOptions& change_;
  ReadContext& ctx_;
  Compacted out_;
  Status conflict_;
};

}  // namespace

Result<Compacted> CommitCompaction(const WritableTable& table, const std::vector<RewriteResult>& results,
                                   const ChangeOptions& change, ReadContext& ctx) {
  Compacted out;
  out.version = table.table->manifest().version;
  if (results.empty()) return out;
  PILUM_ASSIGN_OR_RETURN(const WritableTable read, AsRead(table, results, ctx));
  PILUM_ASSIGN_OR_RETURN(const ChangeBase base, BeginChange(read, ctx));
  PILUM_ASSIGN_OR_RETURN(wire::Transaction rewrite, RewriteOf(base, results));
  std::vector<std::string> written;
  for (const RewriteResult& r : results) {
    PILUM_ASSIGN_OR_RETURN(const auto files, FilesOf(*base.table, r, ctx));
    written.insert(written.end(), files.begin(), files.end());
    out.metrics += r.metrics;
  }
  PILUM_RETURN_NOT_OK(ReserveIds(base, change, &rewrite, ctx));
  PILUM_ASSIGN_OR_RETURN(const Committed done,
                         CommitChange(base, std::move(rewrite), std::move(written), std::nullopt, change, ctx));
  out.version = done.version;
  return out;
}

Result<Compacted> CompactTable(WritableTable table, const CompactionOptions& options, const ChangeOptions& change,
                               ReadContext& ctx) {
  Compaction run(options, change, ctx);
  for (int done = 0;; ++done) {
    auto again = run.Once(table);
    const bool some = run.out().metrics.fragments_removed > 0;
    if (!again.ok()) return again.status();
    if (!*again) return run.out();
    if (done >= change.max_redo) return some ? Result<Compacted>(run.out()) : Result<Compacted>(run.conflict());
    PILUM_ASSIGN_OR_RETURN(table.table, table.table->Reopen(std::nullopt, ctx));
  }
}

}  // namespace pilum
