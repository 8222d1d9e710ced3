// May a transaction still be committed, although others committed since the version that it read? The matrix of
// docs/formats/table.md, "Conflicts". Called by commit.cc. Pure.
#pragma once

#include <cstdint>
#include <set>

#include "pilum/table/commit/wire.h"

namespace pilum {

// `ours` against `theirs`, which made `their_version`. OK: it may, where rebase.h finds nothing in the fragments
// themselves. kRetry: the same again on the newest version may do. kConflict: it makes no sense any more.
// `knows_rows`: of a delete or update it is known which rows it takes away, so that others may have taken away others.
Status JudgeConflict(const wire::Transaction& ours, bool knows_rows, const wire::Transaction& theirs,
                     uint64_t their_version);

// Fragments whose rows or files a transaction changes or takes away.
std::set<uint64_t> ChangedFragments(const wire::Transaction& transaction);

}  // namespace pilum
