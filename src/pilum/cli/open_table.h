// Options that name one version of a Lance table, and opening it. Used by the table and query commands.
#pragma once

#include <memory>
#include <string>

#include "pilum/cli/common.h"
#include "pilum/table/table.h"

namespace pilum::cli {

struct VersionOptions {
  std::string version, branch;  // a number or the name of a tag; both may be empty
};
void AddVersionOptions(CLI::App& command, VersionOptions* options);

// Does a local folder look like a table? (Whether there is one at a URI is told by opening it.)
bool IsTableFolder(const std::string& path);
Result<std::shared_ptr<const Table>> OpenTable(const std::string& uri, const VersionOptions& options, ReadContext& ctx);

}  // namespace pilum::cli
