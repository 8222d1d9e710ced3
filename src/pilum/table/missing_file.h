// A file of a table that is gone: which other version can do without it. For messages. Called by table_files.cc.
#pragma once

#include <cstdint>
#include <string>

#include "pilum/io/read_only_store.h"

namespace pilum {

// `missing`, which was met in reading `version`, with what can be done: the newest version, where that does not name the file
// (then this one was cleaned up meanwhile), else the last before the file came. `path`: below the table's root. Reads a
// manifest for each halving of the versions.
Status WithVersionWithout(const std::string& path, const ReadOnlyStore& table, uint64_t version, const Status& missing,
                          ReadContext& ctx);

}  // namespace pilum
