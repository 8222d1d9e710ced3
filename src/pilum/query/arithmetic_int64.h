// + - * / % of whole numbers that 64 bits hold, the usual case of arithmetic.cc: no detour over wider ones. Pure.
#pragma once

#include <memory>
#include <optional>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace pilum {

// Integers of any type but uint64.
bool FitsInt64(const arrow::DataType& type);
// One side of an operation: a value a row, or one for all of them.
struct Int64Side {
  const arrow::Array* rows = nullptr;  // FitsInt64
  int64_t same = 0;                    // where there are no rows
};
// nullopt: the scalar is NULL or not of a type that FitsInt64.
std::optional<int64_t> Int64Of(const arrow::Scalar& scalar);
// int64, as many rows as `a` or `b` or both have; at least one has. NULL where one of them is, and where the result does not
// exist.
Result<std::shared_ptr<arrow::Array>> ArithInt64(char op, Int64Side a, Int64Side b);

}  // namespace pilum
