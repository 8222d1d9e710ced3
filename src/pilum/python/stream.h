// A stream of batches as Python sees it: one object over file reads and query results alike.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>

#include <arrow/type_fwd.h>
#include <nanobind/nanobind.h>

#include "pilum/base/context.h"

namespace pilum::python {

// What a stream pulls from. Used by one thread at a time (PyStream holds a lock).
struct BatchPull {
  std::shared_ptr<arrow::Schema> schema;
  std::function<Result<std::shared_ptr<arrow::RecordBatch>>()> next;  // nullptr at the end
  bool long_calls = false;  // one next() may take long before it checks in: watch for signals meanwhile
};

// Single use, thread-safe, lazy. Reading off its end gives the end again; after an error, the error again.
// A stream may have threads reading ahead, which a fork leaves behind: in the child it refuses to be read and is not
// torn down.
class PyStream : public std::enable_shared_from_this<PyStream> {
 public:
  // `stop`: the source whose token the engine work behind `pull` watches.
  PyStream(BatchPull pull, std::stop_source stop);
  ~PyStream();

  const std::shared_ptr<arrow::Schema>& arrow_schema() const { return pull_.schema; }
  nanobind::object schema() const;
  nanobind::object Next();       // pyarrow.RecordBatch, or None at the end
  nanobind::object ReadTable();  // pyarrow.Table of what is left
  nanobind::object Capsule();    // "arrow_array_stream"
  void Cancel() { stop_.request_stop(); }

  // Any thread, with or without the GIL, never throws. On the main thread Python's signal handlers run between batches;
  // when one raises, this gives kCancelled and the interrupt stays pending for Python.
  Result<std::shared_ptr<arrow::RecordBatch>> NextFromArrow();

 private:
  using Pulled = Result<std::shared_ptr<arrow::RecordBatch>>;
  Pulled Pull();             // without the GIL
  void PullAhead(bool all);  // without the GIL: what a thread made for it can read at once, or all that is left
  Pulled PullInterruptibly(bool all);                           // with the GIL
  std::shared_ptr<arrow::RecordBatch> PullForPython(bool all);  // with the GIL; in python_schema_

  BatchPull pull_;
  std::shared_ptr<arrow::Schema> python_schema_;  // pull_.schema, with extension types
  std::stop_source stop_;
  int process_;       // that made it
  std::mutex mutex_;  // waited for only without the GIL
  std::deque<Pulled> ahead_;
};

}  // namespace pilum::python
