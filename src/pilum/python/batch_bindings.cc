// Appends that are committed together, as pilum._pilum.BatchAppends; pilum/batch.py is over it.
#include <memory>

#include <arrow/record_batch.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>

#include "pilum/change/batch_appends.h"
#include "pilum/python/convert.h"
#include "pilum/python/table_writes.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

using Done = std::pair<uint64_t, uint64_t>;

class PyBatchAppends {
 public:
  PyBatchAppends(WritableTable table, WriteTableOptions options, uint64_t most_bytes)
      : appends_(std::move(table), std::move(options), most_bytes) {}

  void Put(nb::handle schema, nb::handle batches) {
    auto reader = ReaderFromPython(schema, batches);
    RunChange([&](ReadContext& ctx) -> Result<bool> {
      PILUM_ASSIGN_OR_RETURN(const auto rows, reader->ToRecordBatches());
      PILUM_RETURN_NOT_OK(appends_.Put(rows, ctx));
      return true;
    });
  }
  Done Append(nb::handle schema, nb::handle batches) {
    auto reader = ReaderFromPython(schema, batches);
    return AsPair(RunChange([&](ReadContext& ctx) -> Result<WrittenTable> {
      PILUM_ASSIGN_OR_RETURN(const auto rows, reader->ToRecordBatches());
      return appends_.Append(rows, ctx);
    }));
  }
  Done Commit() {
    return AsPair(RunChange([&](ReadContext& ctx) { return appends_.Commit(ctx); }));
  }
  void Abandon() { appends_.Abandon(); }

 private:
  static Done AsPair(const WrittenTable& done) { return {done.version, done.rows}; }
  BatchAppends appends_;
};

std::shared_ptr<PyBatchAppends> Open(nb::handle table, const nb::dict& options, uint64_t most_bytes) {
  return std::make_shared<PyBatchAppends>(Writable(table), ReadWriteOptions(options), most_bytes);
}

}  // namespace

void BindBatches(nb::module_& m) {
  nb::class_<PyBatchAppends>(m, "BatchAppends", "Rows that are committed together; thread-safe.")
      .def("put", &PyBatchAppends::Put, nb::arg("schema").none(), nb::arg("batches"))
      .def("append", &PyBatchAppends::Append, nb::arg("schema").none(), nb::arg("batches"))
      .def("commit", &PyBatchAppends::Commit)
      .def("abandon", &PyBatchAppends::Abandon, nb::call_guard<nb::gil_scoped_release>());
  m.def("table_batch", &Open, nb::arg("table"), nb::arg("options"), nb::arg("most_bytes"));
}

}  // namespace pilum::python
