// Is what a transaction from outside says true? Internal to raw_commit.cc.
#pragma once

#include <string>
#include <vector>

#include "pilum/change/change.h"

namespace pilum {

// `read`: the version it is committed on; null: there is no table. Gives the files it brings into `store`, which may not be
// durable yet. With `open_files` each of them is looked for.
Result<std::vector<std::string>> CheckTransaction(const wire::Transaction& transaction, const StoredVersion* read,
                                                  const std::shared_ptr<ObjectStore>& store,
                                                  const StoreOptions& storage, bool open_files, ReadContext& ctx);

}  // namespace pilum
