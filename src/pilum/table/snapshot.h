// A version of a table as the seam sees it: fragments as units, in the manifest's order. Called by table.cc.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "pilum/source/snapshot.h"
#include "pilum/table/fragment.h"

namespace pilum {

// `fragments`: only these, in this order; kNotFound for an id that the version has not. Reads nothing, unless the
// manifest does not say how many rows there are.
Result<std::shared_ptr<const Snapshot>> MakeTableSnapshot(TableContext table,
                                                          const std::optional<std::vector<uint64_t>>& fragments,
                                                          ReadContext& ctx);

}  // namespace pilum
