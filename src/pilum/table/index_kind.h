// The kind of an index whose manifest does not tell it, from its files. Called by table.cc.
#pragma once

#include <string>
#include <vector>

#include "pilum/table/indices.h"
#include "pilum/table/table_files.h"

namespace pilum {

// Sets `index->kind` where it is "Unknown" for want of details, or "Vector" for want of what is in them. Files that are
// missing or damaged tell nothing, and that is no error here, where nothing is to be read of them.
Status LearnIndexKind(const TableFiles& files, TableIndex* index, ReadContext& ctx);
// The kind that the names of an index's files tell: "BTree"; "Unknown".
std::string IndexKindOfFiles(const std::vector<std::string>& names);

}  // namespace pilum
