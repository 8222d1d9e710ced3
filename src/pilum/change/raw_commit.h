// Transactions that were put together elsewhere, in other processes or by hand, committed. Called by python.
// What they name is looked at first: files must be there, with the size that is said, and hold fields that are known.
#pragma once

#include <string>
#include <vector>

#include "pilum/change/change.h"

namespace pilum {

struct RawCommitOptions {
  int max_retries = 20;     // attempts after the first, each on a newer version
  bool detached = false;    // beside the history, found by its number alone; may follow on a detached one
  bool clean_up = true;     // after the commit, as the table's config asks for
  bool sync = true;         // durable before it is acknowledged, with all files that it brings
  bool check_files = true;  // false: what it brings is neither looked for nor synced
  // Of new tables alone:
  bool v1_names = false;
  bool stable_row_ids = false;
};

// On the version that it says it read; an overwrite or restore that says none, on the newest. Its uuid is kept if it has
// one. kUsage says what does not fit, kNotFound which file or version is not there; kRetry, kConflict as in commit.h (which
// rows it takes is not known, so two deletions in one fragment are kRetry).
Result<Committed> CommitTransaction(const WritableTable& table, const wire::Transaction& transaction,
                                    const RawCommitOptions& options, ReadContext& ctx);
// The same on main; an overwrite makes a table where there is none.
Result<Committed> CommitTransaction(const std::string& uri, const wire::Transaction& transaction,
                                    const RawCommitOptions& options, const StoreOptions& storage, ReadContext& ctx);

// Several appends as one, of the oldest version that any of them read. kUnsupported names what else is among them.
Result<wire::Transaction> MergeAppends(const std::vector<wire::Transaction>& transactions);

}  // namespace pilum
