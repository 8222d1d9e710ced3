// A new deletion file for a fragment. Called by rebase.cc and by the operations in change that delete rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pilum/base/row_set.h"
#include "pilum/io/object_store.h"
#include "pilum/table/commit/wire.h"

namespace pilum {

// `rows`: all that are deleted now, some but not all of the fragment's. The file becomes the fragment's own; it is durable
// once `table` was asked to sync what was added to `written`.
Status PutDeletions(const RowSet& rows, uint64_t read_version, ObjectStore* table, wire::DataFragment* fragment,
                    std::vector<std::string>* written);

}  // namespace pilum
