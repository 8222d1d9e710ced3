// Buffers of a memory pool, with room past their end. For whoever makes many small ones: one allocation beside the bytes,
// where Arrow's own make five for a pool that is not the default one.
#pragma once

#include <cstdint>
#include <memory>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace pilum {

// `size` bytes, and `slack` more that may be touched, none initialised. Resizes as Arrow's pool buffers do. The pool must
// outlive it. kMemory where the pool refuses. Not thread-safe while it is written or resized.
Result<std::shared_ptr<arrow::ResizableBuffer>> MakePoolBuffer(uint64_t size, uint64_t slack, arrow::MemoryPool* pool);

}  // namespace pilum
