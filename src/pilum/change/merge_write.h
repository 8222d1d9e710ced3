// The rows of a merge as new fragments. Called by merge_rows.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "pilum/change/merge_plan.h"

namespace pilum {

struct MergeFragments {
  NewFragments added;
  bool of_source = false;  // the source's own files (MergeSource::files), of which it takes care
};

// Updated rows, then or among them new ones. With stable row ids updated ones come first and have theirs.
Result<MergeFragments> WriteMerge(const ChangeBase& base, const MergeSource& source, const MergePlan& plan,
                                  const FragmentWriterOptions& files, ReadContext& ctx);

}  // namespace pilum
