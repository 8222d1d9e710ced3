// Decodes all of a file, page by page, and collects what is wrong. Called by file_reader.cc.
#pragma once

#include <vector>

#include "pilum/base/context.h"
#include "pilum/file/unit.h"

namespace pilum {

// Every fault with its column, page and rows; at most kMaxFaults. An error only where the check itself cannot go on
// (cancelled, out of time).
inline constexpr size_t kMaxFaults = 1000;
Result<std::vector<Status>> CheckFile(const OpenFile& file, ReadContext& ctx);

}  // namespace pilum
