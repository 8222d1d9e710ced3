// What every change of a table takes and gives, and the loop that does one again when others were first.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "pilum/table/commit/commit.h"
#include "pilum/table/table.h"

namespace pilum {

// A version of a table, and the stores that the next one is written to. What is given only a Table cannot write.
struct WritableTable {
  std::shared_ptr<const Table> table;
  std::shared_ptr<ObjectStore> store;  // of its branch
  std::shared_ptr<ObjectStore> main;   // where tags and branches are kept
};
Result<WritableTable> OpenToWrite(std::shared_ptr<const Table> table);
// The newest version of main, in a store that is open.
Result<WritableTable> OpenToWrite(std::shared_ptr<ObjectStore> store, ReadContext& ctx);

struct ChangeOptions {
  // Kept with the transaction; "__lance_commit_message" is what people read.
  std::map<std::string, std::string> properties;
  // How often a change is done again from the start, on the newest version, because others were first.
  int max_redo = 10;
  double redo_seconds = 30;  // and not begun again after so long
  bool sync = true;          // durable before it is acknowledged
  bool clean_up = true;      // after the commit, as the table's config asks for
};

// A table as a change begins: one version, and where the next one goes.
struct ChangeBase {
  std::shared_ptr<const Table> table;
  std::shared_ptr<ObjectStore> store;
  std::shared_ptr<const StoredVersion> stored;
  std::shared_ptr<ObjectStore> main;  // where tags and branches are kept
  WritableTable writable() const { return {table, store, main}; }
};
Result<ChangeBase> BeginChange(const WritableTable& table, ReadContext& ctx);

// `transaction` on that version. `written`, `taken`, `check`: as in commit.h.
Result<Committed> CommitChange(const ChangeBase& base, wire::Transaction transaction, std::vector<std::string> written,
                               std::optional<TakenRows> taken, const ChangeOptions& options, ReadContext& ctx,
                               CommitCheck check = {});

// The transaction carries the properties of these options.
void SetProperties(const ChangeOptions& options, wire::Transaction* transaction);
// A transaction that others commit later, on the version that it was made for (0: there is no table yet).
void SetStaged(const ChangeOptions& options, uint64_t read_version, wire::Transaction* transaction);
// Of a commit that failed: no version has anything of it, so that its files may go. Else it may have happened all the same.
bool MadeNoVersion(const Status& status);

// The last step of every change: the commit, and then, unless `clean_up` is false, the clean-up that the table's config
// may ask for. `table`: as the change began; without a Table where there is none yet.
Result<Committed> CommitAndClean(Committer* committer, wire::Transaction transaction, const WritableTable& table,
                                 bool clean_up, ReadContext& ctx);

// `change` on `table`, then, as long as it gives kRetry, on the newest version of the same branch.
Result<Committed> Redo(WritableTable table, const ChangeOptions& options, ReadContext& ctx,
                       const std::function<Result<Committed>(const ChangeBase&)>& change);

}  // namespace pilum
