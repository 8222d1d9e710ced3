#include "pilum/change/change.h"

#include <chrono>

#include "pilum/change/auto_cleanup.h"
#include "pilum/table/commit/names.h"

namespace pilum {

Result<WritableTable> OpenToWrite(std::shared_ptr<const Table> table) {
  PILUM_ASSIGN_OR_RETURN(auto main, ObjectStore::Open(table->uri(), table->options()));
  if (table->branch().empty()) return WritableTable{std::move(table), main, main};
  PILUM_ASSIGN_OR_RETURN(auto store, ObjectStore::Open(table->store().uri(), table->options()));
  return WritableTable{std::move(table), std::move(store), std::move(main)};
}

Result<WritableTable> OpenToWrite(std::shared_ptr<ObjectStore> store, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto table, Table::Open(store, {}, ctx));
  return WritableTable{std::move(table), store, store};
}

Result<ChangeBase> BeginChange(const WritableTable& table, ReadContext& ctx) {
  const Table& t = *table.table;
  PILUM_ASSIGN_OR_RETURN(auto stored, LoadStored(*table.store, t.listed(), t.context().manifest, ctx));
  const Status writable = CheckWritable(*stored);
  if (!writable.ok()) return WithContext(t.uri(), writable);
  return ChangeBase{table.table, table.store, std::move(stored), table.main};
}

void SetProperties(const ChangeOptions& options, wire::Transaction* transaction) {
  for (const auto& [key, value] : options.properties) (*transaction->mutable_transaction_properties())[key] = value;
}

void SetStaged(const ChangeOptions& options, uint64_t read_version, wire::Transaction* transaction) {
  transaction->set_read_version(read_version);
  transaction->set_uuid(RandomUuid());
  SetProperties(options, transaction);
}

bool MadeNoVersion(const Status& status) {
  const ErrorKind kind = KindOf(status);
  return kind == ErrorKind::kRetry || kind == ErrorKind::kConflict || kind == ErrorKind::kUsage;
}

Result<Committed> CommitChange(const ChangeBase& base, wire::Transaction transaction, std::vector<std::string> written,
                               std::optional<TakenRows> taken, const ChangeOptions& options, ReadContext& ctx,
                               CommitCheck check) {
  CommitOptions how;
  how.sync = options.sync;
  SetProperties(options, &transaction);
  Committer committer(base.store, base.stored, how);
  committer.AddWritten(std::move(written));
  if (taken) committer.SetTaken(std::move(*taken));
  if (check) committer.SetCheck(std::move(check));
  return CommitAndClean(&committer, std::move(transaction), base.writable(), options.clean_up, ctx);
}

Result<Committed> CommitAndClean(Committer* committer, wire::Transaction transaction, const WritableTable& table,
                                 bool clean_up, ReadContext& ctx) {
  auto committed = committer->Commit(std::move(transaction), ctx);
  if (committed.ok() && clean_up) CleanUpAfter(table, *committed, ctx);
  return committed;
}

namespace {

// What others did has made an error of it: both are said.
Status AfterConflict(const Status& conflict, const Status& then) {
  const ErrorKind kind = KindOf(then);
  if (conflict.ok() || (kind != ErrorKind::kUsage && kind != ErrorKind::kNotFound)) return then;
  return MakeError(ErrorKind::kRetry, fmt::format("{} Done again, it failed: {}", conflict.message(), then.message()));
}

}  // namespace

Result<Committed> Redo(WritableTable table, const ChangeOptions& options, ReadContext& ctx,
                       const std::function<Result<Committed>(const ChangeBase&)>& change) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  Status conflict;
  for (int done = 0;; ++done) {
    PILUM_ASSIGN_OR_RETURN(const ChangeBase base, BeginChange(table, ctx));
    auto committed = change(base);
    if (committed.ok()) return committed;
    if (KindOf(committed.status()) != ErrorKind::kRetry) return AfterConflict(conflict, committed.status());
    const std::chrono::duration<double> spent = Clock::now() - begin;
    if (done >= options.max_redo || spent.count() > options.redo_seconds) return committed;
    conflict = committed.status();
    PILUM_ASSIGN_OR_RETURN(table.table, table.table->Reopen(std::nullopt, ctx));
  }
}

}  // namespace pilum
