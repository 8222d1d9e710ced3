// Status -> Python exception. Every function here needs the GIL.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>
#include <nanobind/nanobind.h>

namespace pilum::python {

// Throws (as nanobind::python_error) the exception class of pilum/errors.py that KindOf(status) names. A Python
// exception that travelled through Arrow inside the status (an input generator failed) is raised as it was.
[[noreturn]] void Raise(const arrow::Status& status);

inline void Check(const arrow::Status& status) {
  if (!status.ok()) Raise(status);
}

template <typename T>
T Unwrap(arrow::Result<T>&& result) {
  if (!result.ok()) Raise(result.status());
  return std::move(result).MoveValueUnsafe();
}

// Throws the Python error that is set now.
[[noreturn]] inline void RaisePending() { throw nanobind::python_error(); }

}  // namespace pilum::python
