// A fragment from its message in a manifest. A table has thousands of them, and each version tells all of them anew, so they
// are read without the generated classes. Pure. Called by manifest.cc and version_list.cc.
#pragma once

#include <string_view>

#include "pilum/table/manifest.h"

namespace pilum {

// Into an empty one. kCorrupt or kUnsupported, naming the fragment. `stable_row_ids`: the table's rows have ids, so that this one must too.
Status ParseFragment(std::string_view message, bool stable_row_ids, Fragment* out);

}  // namespace pilum
