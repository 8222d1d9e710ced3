// MERGE: rows from outside matched with a table's by key columns; matched ones are updated, deleted or kept, new ones inserted,
// the table's others kept or deleted, all in one version. Called by cli and python. docs/walks/table_merge.md
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/change/bases.h"
#include "pilum/change/change.h"
#include "pilum/query/query.h"

namespace pilum {

enum class WhenMatched { kKeep, kUpdate, kDelete, kFail };

struct MergeOptions : ChangeOptions {
  std::vector<std::string> on;  // key columns; empty: the primary key that the schema declares
  WhenMatched matched = WhenMatched::kKeep;
  std::string update_if;       // of kUpdate: a predicate over source.x and target.x; empty: always
  bool insert = false;         // rows that match none of the table's
  bool delete_others = false;  // rows of the table that match none of these
  std::string delete_if;       // of those: only where this predicate over the table's columns is TRUE
  Params delete_params;
  // Rows that match stay where they are, and get new files of the columns that the new rows have: for few columns of wide
  // rows. kUsage where that cannot be: rows are inserted or deleted, or every column is given.
  bool rewrite_columns = false;
  BaseChoice targets;                        // which base paths new data files go to
  std::string data_version;                  // of new files; empty: the table's
  uint64_t held_bytes = uint64_t{64} << 20;  // of rows that stay in memory; beyond them all are put aside on disk
};

struct MergedRows {
  uint64_t version = 0;
  uint64_t inserted = 0, updated = 0, deleted = 0;
};

// `rows` are read once; they may lack columns of the table: an updated row keeps those as they were, a new one has NULL there.
// A key with a NULL in it matches none. Only key columns of the table are read to find what matches. Where others changed the
// same rows meanwhile, or inserted rows with the same keys, it is done again on theirs: of two that insert the same new key, the
// second updates it (or does what else it does with what matches).
// kUsage where the rows do not fit, a key column is not there, two of them match one row of the table, a row matches and
// may not (kFail), or nothing would be done by these options.
// Memory: the keys of `rows`, held_bytes of them, and one file's pages.
Result<MergedRows> MergeRows(WritableTable table, arrow::RecordBatchReader& rows, const MergeOptions& options,
                             ReadContext& ctx);

// Files that no version names yet, and the transaction that would put them into the table (raw_commit.h); rows.version is 0.
struct StagedMerge {
  wire::Transaction transaction;
  MergedRows rows;
};
// As MergeRows, without the commit: nothing is done again.
Result<StagedMerge> StageMerge(const WritableTable& table, arrow::RecordBatchReader& rows, const MergeOptions& options,
                               ReadContext& ctx);

}  // namespace pilum
