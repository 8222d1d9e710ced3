#include "pilum/python/errors.h"

#include <arrow/python/common.h>

#include "pilum/base/status.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

const char* ClassOf(const Status& status) {
  switch (KindOf(status)) {
    case ErrorKind::kCorrupt: return "CorruptError";
    case ErrorKind::kUnsupported: return "UnsupportedError";
    case ErrorKind::kQuery: return "QueryError";
    case ErrorKind::kUsage: return "UsageError";
    case ErrorKind::kNotFound: return "NotFound";
    case ErrorKind::kDeadline: return "DeadlineError";
    case ErrorKind::kCancelled: return "CancelledError";
    case ErrorKind::kMemory: return "MemoryLimitError";
    case ErrorKind::kRetry: return "RetryableConflictError";
    case ErrorKind::kConflict: return "ConflictError";
    case ErrorKind::kOther: break;
  }
  if (status.IsIOError()) return "StorageError";
  if (status.IsNotImplemented()) return "UnsupportedError";
  return "Error";
}

}  // namespace

void Raise(const Status& status) {
  if (arrow::py::IsPyError(status)) {
    arrow::py::RestorePyError(status);
    RaisePending();
  }
  nb::object cls = nb::module_::import_("pilum.errors").attr(ClassOf(status));
  nb::object message = nb::steal(PyUnicode_DecodeUTF8(status.message().data(), status.message().size(), "replace"));
  if (!message.is_valid()) RaisePending();
  PyErr_SetObject(cls.ptr(), message.ptr());
  RaisePending();
}

}  // namespace pilum::python
