#include "pilum/python/stream.h"

#include <unistd.h>

#include <arrow/record_batch.h>
#include <arrow/table.h>

#include "pilum/python/convert.h"
#include "pilum/python/run.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

class ArrowReader : public arrow::RecordBatchReader {
 public:
  explicit ArrowReader(std::shared_ptr<PyStream> stream) : stream_(std::move(stream)) {}
  std::shared_ptr<arrow::Schema> schema() const override { return stream_->arrow_schema(); }
  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    PILUM_ASSIGN_OR_RETURN(*out, stream_->NextFromArrow());
    return Status::OK();
  }

 private:
  std::shared_ptr<PyStream> stream_;
};

}  // namespace

PyStream::PyStream(BatchPull pull, std::stop_source stop)
    : pull_(std::move(pull)),
      python_schema_(WithExtensionTypes(pull_.schema)),
      stop_(std::move(stop)),
      process_(getpid()) {}

PyStream::~PyStream() {
  if (process_ == getpid()) return;
  // Waiting for its threads would never end here.
  static_cast<void>(new auto(std::move(pull_.next)));
}

Result<std::shared_ptr<arrow::RecordBatch>> PyStream::Pull() {
  if (process_ != getpid()) {
    return UsageError("this stream was begun in another process, before a fork; start the read again in this one");
  }
  std::lock_guard lock(mutex_);
  return pull_.next();
}

Result<std::shared_ptr<arrow::RecordBatch>> PyStream::PullInterruptibly() {
  CheckSignals();
  if (pull_.long_calls) return Interruptibly(stop_, [this] { return Pull(); });
  return WithoutGil([this] { return Pull(); });
}

std::shared_ptr<arrow::RecordBatch> PyStream::PullForPython() {
  auto batch = Unwrap(PullInterruptibly());
  if (!batch || python_schema_ == pull_.schema) return batch;
  return WithExtensionTypes(batch, python_schema_);
}

nb::object PyStream::schema() const { return ToPython(python_schema_); }

nb::object PyStream::Next() {
  auto batch = PullForPython();
  return batch ? ToPython(batch) : nb::none();
}

nb::object PyStream::ReadTable() {
  arrow::RecordBatchVector batches;
  while (auto batch = PullForPython()) batches.push_back(std::move(batch));
  return ToPython(Unwrap(arrow::Table::FromRecordBatches(python_schema_, std::move(batches))));
}

nb::object PyStream::Capsule() { return StreamCapsule(std::make_shared<ArrowReader>(shared_from_this())); }

Result<std::shared_ptr<arrow::RecordBatch>> PyStream::NextFromArrow() {
  if (!OnMainThread()) {
    if (!PyGILState_Check()) return Pull();
    return WithoutGil([this] { return Pull(); });
  }
  nb::gil_scoped_acquire locked;
  try {
    return PullInterruptibly();
  } catch (nb::python_error& raised) {
    std::string text = raised.what();
    if (raised.matches(PyExc_KeyboardInterrupt))
      PyErr_SetInterrupt();  // last: any Python code from here on would get it
    return MakeError(ErrorKind::kCancelled, "stopped: " + text.substr(0, text.find('\n')));
  }
}

}  // namespace pilum::python
