// 32-bit Roaring bitmaps in their portable form, as deletion files and fragment bitmaps hold them. Pure.
#pragma once

#include <string>
#include <string_view>

#include "pilum/base/row_set.h"
#include "pilum/base/status.h"

namespace pilum {

// All of `bytes` must be the bitmap. kCorrupt says at which byte it is wrong. Takes at most 16 bytes a value.
Result<RowSet> ParseRoaring32(std::string_view bytes);
// Each container in the smallest of its three forms. All values must have 32 bits.
std::string SerializeRoaring32(const RowSet& values);

}  // namespace pilum
