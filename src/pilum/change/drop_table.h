// A table with all its versions, branches and files taken away. Called by python.
#pragma once

#include <string>

#include "pilum/change/change.h"

namespace pilum {

// Everything below the folder, its manifests last, so that what was interrupted can be done again. Files below base paths stay.
// kNotFound: there is nothing. kUsage: there is something, and it is no table that opens.
Status DropTable(const std::string& uri, const StoreOptions& storage, ReadContext& ctx);

}  // namespace pilum
