// + - * / % of whole numbers that 64 bits hold, the usual case of arithmetic.cc: no detour over wider ones. Pure.
#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace pilum {

// Integers of any type but uint64.
bool FitsInt64(const arrow::DataType& type);
// int64, as many rows as each of `a` and `b` (FitsInt64). NULL where one of them is, and where the result does not exist.
Result<std::shared_ptr<arrow::Array>> ArithInt64(char op, const arrow::Array& a, const arrow::Array& b);

}  // namespace pilum
