// The first version of a clone or a branch: another version's manifest, in a folder that has none. Called by change.
// Format: docs/formats/table.md, "Base paths", "Tags and branches".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pilum/table/commit/commit.h"

namespace pilum {

// `clone`: a Transaction with a Clone operation. Shallow: files of `source` are named below its ref_path from then on. Deep:
// they are in `target`, whoever copied them there put their paths into `written`. The version has `source`'s number.
// `source_store`: of the branch that `source` is of. `also_flags`: put into
// both words of feature flags, so that a reader who does not know them keeps out. kUsage: there is a table in `target`; nothing was changed.
Result<Committed> CommitClone(const std::shared_ptr<ObjectStore>& target, const ReadOnlyStore& source_store,
                              const StoredVersion& source, wire::Transaction clone, std::vector<std::string> written,
                              bool sync, ReadContext& ctx, uint64_t also_flags = 0);

}  // namespace pilum
