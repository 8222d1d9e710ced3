// All files of one version into another store, for a deep clone. Internal to clone.cc.
#pragma once

#include <string>
#include <vector>

#include "pilum/change/change.h"

namespace pilum {

// Data files with their blobs, deletion files, indices: wherever they lie, into the folders of a table of their own. Adds
// each path that may be there now to `written`; none is durable yet. Up to eight are copied at once where requests cost
// a round trip; memory: 4 MiB each. kCorrupt: one has another size than the manifest says; kUsage: two files would have
// one name.
Status CopyFiles(const Table& table, const StoredVersion& version, const std::shared_ptr<ObjectStore>& target,
                 std::vector<std::string>* written, ReadContext& ctx);

}  // namespace pilum
