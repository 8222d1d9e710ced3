// Whose the bytes of a dataset are: each byte of each object belongs to one column and family. Used by part_store.
#pragma once

#include <vector>

#include "pilum/part/part_files.h"
#include "pilum/part/part_store.h"

namespace pilum {

// kNotFound: no dataset here. A sidecar that cannot be read is one row; a part that cannot be is an error.
Result<std::vector<AttributedBytes>> Attribute(const DatasetFiles& files, ReadContext& ctx);

}  // namespace pilum
