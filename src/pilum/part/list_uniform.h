// Lists a folder whose names are hex digits spread evenly, as content hashes are. Used inside part/ only.
#pragma once

#include <string>
#include <vector>

#include "pilum/io/object_store.h"

namespace pilum {

// As ObjectStore::List, but where that takes several requests, ranges of names are listed at once: in no order of time. The
// first request tells how dense the names lie. Any other names are listed too, only slower.
Result<std::vector<ObjectInfo>> ListUniform(const ObjectStore& store, const std::string& prefix, ReadContext& ctx);

}  // namespace pilum
