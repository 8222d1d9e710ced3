// A column put together from what several data files hold of it, and NULLs for what none does. Called by fragment.cc. Pure.
#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace pilum {

// `parts`: arrays of `length` rows, each of `type` with some fields of structs left out; no field is in two. kCorrupt
// where they disagree about their lists, or about a type.
Result<std::shared_ptr<arrow::Array>> AssembleColumn(const std::shared_ptr<arrow::DataType>& type,
                                                     const std::vector<std::shared_ptr<arrow::Array>>& parts,
                                                     int64_t length, arrow::MemoryPool* pool);

}  // namespace pilum
