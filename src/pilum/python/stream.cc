#include "pilum/python/stream.h"

#include <unistd.h>

#include <chrono>

#include <arrow/record_batch.h>
#include <arrow/table.h>

#include "pilum/python/convert.h"
#include "pilum/python/run.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

// What one thread reads, so that small batches need not have one each.
constexpr int64_t kAheadRows = 1 << 18;
constexpr std::chrono::milliseconds kAheadTime{5};

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

PyStream::Pulled PyStream::Pull() {
  if (process_ != getpid()) {
    return UsageError("this stream was begun in another process, before a fork; start the read again in this one");
  }
  std::lock_guard lock(mutex_);
  if (ahead_.empty()) return pull_.next();
  Pulled next = std::move(ahead_.front());
  ahead_.pop_front();
  return next;
}

void PyStream::PullAhead(bool all) {
  if (process_ != getpid()) return;
  std::lock_guard lock(mutex_);
  const auto start = std::chrono::steady_clock::now();
  for (int64_t rows = 0; ahead_.empty() || all || rows < kAheadRows;) {
    ahead_.push_back(pull_.next());
    if (!ahead_.back().ok() || !*ahead_.back()) return;
    rows += (**ahead_.back()).num_rows();
    if (!all && std::chrono::steady_clock::now() - start > kAheadTime) return;
  }
}

PyStream::Pulled PyStream::PullInterruptibly(bool all) {
  CheckSignals();
  if (!pull_.long_calls) return WithoutGil([this] { return Pull(); });
  if (std::unique_lock lock(mutex_, std::try_to_lock); lock && !ahead_.empty() && process_ == getpid()) {
    Pulled next = std::move(ahead_.front());
    ahead_.pop_front();
    return next;
  }
  return Interruptibly(stop_, [this, all] {
    PullAhead(all);
    return Pull();
  });
}

std::shared_ptr<arrow::RecordBatch> PyStream::PullForPython(bool all) {
  auto batch = Unwrap(PullInterruptibly(all));
  if (!batch || python_schema_ == pull_.schema) return batch;
  return WithExtensionTypes(batch, python_schema_);
}

nb::object PyStream::schema() const { return ToPython(python_schema_); }

nb::object PyStream::Next() {
  auto batch = PullForPython(/*all=*/false);
  return batch ? ToPython(batch) : nb::none();
}

nb::object PyStream::ReadTable() {
  arrow::RecordBatchVector batches;
  while (auto batch = PullForPython(/*all=*/true)) batches.push_back(std::move(batch));
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
    return PullInterruptibly(/*all=*/false);
  } catch (nb::python_error& raised) {
    std::string text = raised.what();
    if (raised.matches(PyExc_KeyboardInterrupt))
      PyErr_SetInterrupt();  // last: any Python code from here on would get it
    return MakeError(ErrorKind::kCancelled, "stopped: " + text.substr(0, text.find('\n')));
  }
}

}  // namespace pilum::python
