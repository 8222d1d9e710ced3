// Several files as one stream of rows. Called by verbs that put rows into a table.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/cli/common.h"

namespace pilum::cli {

// In order, each opened when the one before it ends; columns are those of the first, by name. kUsage names a file that
// has others.
Result<std::shared_ptr<arrow::RecordBatchReader>> OpenInputs(std::vector<std::string> paths,
                                                             const IngestOptions& options, const ReadContext& ctx);

}  // namespace pilum::cli
