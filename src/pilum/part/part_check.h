// Every fault of one part and its sidecars, found by reading all of it. Used by PartStore::Check.
#pragma once

#include <vector>

#include "pilum/part/part_files.h"

namespace pilum {

// Appends to `faults`. An error only for what must stop a read (deadline, stop, memory).
Status CheckPart(const DatasetFiles& files, const PartFile& part, ReadContext& ctx, std::vector<Status>* faults);

}  // namespace pilum
