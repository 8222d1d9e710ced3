// pilum store stats, explain-build and attribute: what the sidecars of a dataset say, and whose its bytes are. For
// cmd_store.cc.
#pragma once

#include "pilum/cli/common.h"

namespace pilum::cli {

Result<int> StoreStats(const std::string& dataset, bool json, const RunOptions& run);
// `by`: some of part, object, column, family, comma-separated; bytes are summed over the others.
Result<int> Attribute(const std::string& dataset, const std::string& by, bool json, const RunOptions& run);
Result<int> ExplainBuild(const std::string& dataset, bool full_names, const RunOptions& run);

}  // namespace pilum::cli
