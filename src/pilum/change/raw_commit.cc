#include "pilum/change/raw_commit.h"

#include <algorithm>
#include <set>

#include "pilum/change/raw_commit_check.h"

namespace pilum {
namespace {

bool MakesTable(const wire::Transaction& t) { return t.has_overwrite(); }

// The one that all of its new data files have; empty where they differ, or there are none.
std::string DataVersionOf(const wire::Transaction& t) {
  std::set<std::string> versions;
  for (const auto& fragment : t.overwrite().fragments()) {
    for (const auto& f : fragment.files()) {
      DataFile file;
      file.major = f.file_major_version();
      file.minor = f.file_minor_version();
      versions.insert(file.version());
    }
  }
  return versions.size() == 1 ? *versions.begin() : std::string();
}

// `table`: empty where there is none yet.
Result<Committed> Commit(const std::shared_ptr<ObjectStore>& store, std::shared_ptr<const StoredVersion> read,
                         const WritableTable& table, const wire::Transaction& t, const RawCommitOptions& options,
                         const StoreOptions& storage, ReadContext& ctx) {
  if (t.has_clone()) {
    return UsageError(
        "a Clone cannot be committed: it makes another table; use shallow_clone, deep_clone or create_branch");
  }
  auto brought = CheckTransaction(t, read.get(), store, storage, options.check_files, ctx);
  if (!brought.ok()) return WithContext(store->uri(), brought.status());
  CommitOptions how;
  how.max_retries = options.max_retries;
  how.detached = options.detached;
  how.sync = options.sync;
  how.v1_names = options.v1_names;
  how.stable_row_ids = options.stable_row_ids;
  how.data_version = DataVersionOf(t);
  Committer committer(store, std::move(read), how);
  if (options.check_files) committer.AddWritten(std::move(*brought));
  auto done = CommitAndClean(&committer, t, table, options.clean_up, ctx);
  if (done.ok() || KindOf(done.status()) != ErrorKind::kRetry || options.max_retries > 0) return done;
  return MakeError(ErrorKind::kRetry,
                   fmt::format("Commit conflict for version {}: Failed to commit the transaction after "
                               "0 retries: {}",
                               t.read_version() + 1, done.status().message()));
}

}  // namespace

Result<Committed> CommitTransaction(const WritableTable& table, const wire::Transaction& t,
                                    const RawCommitOptions& options, ReadContext& ctx) {
  WritableTable at = table;
  const bool newest = t.read_version() == 0 && (t.has_overwrite() || t.has_restore());
  if (newest || table.table->manifest().version != t.read_version()) {
    const std::optional<uint64_t> wanted = newest ? std::nullopt : std::optional(t.read_version());
    PILUM_ASSIGN_OR_RETURN(at.table, table.table->Reopen(wanted, ctx));
  }
  if ((at.table->manifest().version & kDetachedBit) != 0 && !options.detached) {
    return UsageError("{}: version {} is detached: what follows on it must be so too", table.table->uri(),
                      at.table->manifest().version);
  }
  PILUM_ASSIGN_OR_RETURN(ChangeBase base, BeginChange(at, ctx));
  return Commit(base.store, base.stored, base.writable(), t, options, table.table->options(), ctx);
}

Result<Committed> CommitTransaction(const std::string& uri, const wire::Transaction& t, const RawCommitOptions& options,
                                    const StoreOptions& storage, ReadContext& ctx) {
  auto table = Table::Open(uri, {}, storage, ctx);
  if (table.ok()) {
    PILUM_ASSIGN_OR_RETURN(const WritableTable writable, OpenToWrite(*table));
    return CommitTransaction(writable, t, options, ctx);
  }
  if (KindOf(table.status()) != ErrorKind::kNotFound) return table.status();
  if (!MakesTable(t)) {
    return NotFoundError("{}: The dataset must already exist unless the operation is Overwrite", uri);
  }
  PILUM_ASSIGN_OR_RETURN(auto store, ObjectStore::Open(uri, storage));
  return Commit(store, nullptr, {}, t, options, storage, ctx);
}

Result<wire::Transaction> MergeAppends(const std::vector<wire::Transaction>& transactions) {
  if (transactions.empty()) return UsageError("No transactions to commit");
  wire::Transaction out;
  out.set_read_version(UINT64_MAX);
  for (const auto& t : transactions) {
    if (!t.has_append()) return Unsupported("Only append transactions are supported in batch commits");
    out.set_read_version(std::min(out.read_version(), t.read_version()));
    out.mutable_append()->mutable_fragments()->MergeFrom(t.append().fragments());
    for (const auto& [key, value] : t.transaction_properties()) (*out.mutable_transaction_properties())[key] = value;
  }
  return out;
}

}  // namespace pilum
