// A transaction made for one version, made fit for a later one that it does not conflict with. Called by commit.cc.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "pilum/base/row_set.h"
#include "pilum/io/object_store.h"
#include "pilum/table/commit/stored_version.h"
#include "pilum/table/table_files.h"

namespace pilum {

// Of each fragment that a delete or update takes rows away from, the rows that it takes (not those deleted before).
using TakenRows = std::map<uint64_t, RowSet>;

struct RebaseInput {
  const StoredVersion* read = nullptr;           // the version that the transaction was made for; null: it is gone
  const StoredVersion* current = nullptr;        // the newest
  std::vector<const wire::Transaction*> theirs;  // what made the versions between
  const TakenRows* taken = nullptr;              // null: not known
};

// Deletes and updates: rows that others deleted in the same fragments are deleted too; new deletion files are put into
// `table` (not yet durable) and added to `written`. Merges and projections: metadata that others set is kept. Appends: kRetry
// where a column of theirs is another one now. kRetry where others took the same rows, or changed more than deletions.
Status Rebase(const RebaseInput& input, ObjectStore* table, wire::Transaction* transaction,
              std::vector<std::string>* written, ReadContext& ctx);

}  // namespace pilum
