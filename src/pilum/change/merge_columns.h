// A merge whose rows stay where they are: the columns that the new rows have are written anew beside the others. Called by
// merge_rows.cc.
#pragma once

#include <string>
#include <vector>

#include "pilum/change/merge_plan.h"

namespace pilum {

// kUsage, in pylance's words, where that cannot be: rows would be inserted or deleted, or the new rows have every column or
// none beside the keys.
Status CheckRewritesColumns(const Table& table, const MergeSource& source, const std::vector<std::string>& on,
                            const MergeOptions& options);

struct RewrittenColumns {
  wire::Transaction transaction;     // an Update of kind REWRITE_COLUMNS
  std::vector<std::string> written;  // for the commit to make durable
};
// The updates of `plan`: one new file a fragment that has some. Memory: a batch. What fails leaves no files.
Result<RewrittenColumns> RewriteColumns(const ChangeBase& base, const MergeSource& source, const MergePlan& plan,
                                        const std::vector<std::string>& on, ReadContext& ctx);

}  // namespace pilum
