// A small object that is read whole, in one request, and let go of: reads of it are answered from memory.
#pragma once

#include <memory>

#include "pilum/io/byte_source.h"

namespace pilum {

// `source` in memory. Reads of the result are no requests any more.
Result<std::shared_ptr<const ByteSource>> HoldWhole(const ByteSource& source, ReadContext& ctx);

}  // namespace pilum
