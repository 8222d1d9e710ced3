// Which rows of an array are valid, apart from where it begins in its buffers. Pure.
#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace pilum {

// The array's own validity from bit 0 on, so that it can stand beside children that start at 0: a copy where it begins
// further down. Null where all are valid.
Result<std::shared_ptr<arrow::Buffer>> ValidityFromZero(const arrow::Array& array, arrow::MemoryPool* pool);

}  // namespace pilum
