// JSON columns as text. Called by given_unit.cc and change.
#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "pilum/base/context.h"
#include "pilum/base/status.h"

namespace pilum {

// The texts (utf8) of JSONB, which is large_binary. kCorrupt: a value is none.
Result<std::shared_ptr<arrow::Array>> JsonTexts(const arrow::Array& stored, ReadContext& ctx);

}  // namespace pilum
