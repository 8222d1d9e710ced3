// pilum store stats and explain-build: what the .stats sidecars of a dataset say. For cmd_store.cc.
#pragma once

#include "pilum/cli/common.h"

namespace pilum::cli {

Result<int> StoreStats(const std::string& dataset, bool json, const RunOptions& run);
Result<int> ExplainBuild(const std::string& dataset, bool full_names, const RunOptions& run);

}  // namespace pilum::cli
