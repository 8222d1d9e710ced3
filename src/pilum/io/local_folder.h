// What only local stores can be asked (local_store.cc); those that stand before one, as of a dry run, are not local.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pilum/io/read_only_store.h"

namespace pilum {

// Where `folder` of a local store lies; nullopt of other stores.
std::optional<std::string> LocalFolder(const ReadOnlyStore& store, const std::string& folder);
// ListPaths("FOLDER/") of a local store. `plain`: it holds files alone, no folders and no links.
Result<std::vector<std::string>> ListLocalFolder(const ReadOnlyStore& store, const std::string& folder, bool* plain,
                                                 ReadContext& ctx);

}  // namespace pilum
