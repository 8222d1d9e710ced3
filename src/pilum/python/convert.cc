#include "pilum/python/convert.h"

#include <algorithm>

#include <arrow/api.h>
#include <arrow/c/bridge.h>
#include <arrow/python/common.h>
#include <arrow/python/pyarrow.h>
#include <nanobind/stl/string.h>

#include "pilum/python/errors.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

nb::object Own(PyObject* object) {
  if (object == nullptr) RaisePending();
  return nb::steal(object);
}

template <typename T>
T UnwrapOrTypeError(arrow::Result<T>&& result, const char* wanted, nb::handle got) {
  if (result.ok()) return std::move(result).MoveValueUnsafe();
  PyErr_Format(PyExc_TypeError, "expected a %s, got %s", wanted, Py_TYPE(got.ptr())->tp_name);
  RaisePending();
}

// Pulls batches out of a Python iterator, on whatever thread the engine reads.
class IteratorReader : public arrow::RecordBatchReader {
 public:
  IteratorReader(std::shared_ptr<arrow::Schema> schema, nb::object iterator)
      : schema_(std::move(schema)), iterator_(iterator.release().ptr()) {}
  ~IteratorReader() override {
    nb::gil_scoped_acquire locked;
    Py_XDECREF(iterator_);
  }
  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    nb::gil_scoped_acquire locked;
    PyObject* item = PyIter_Next(iterator_);
    if (item == nullptr) {
      out->reset();
      return PyErr_Occurred() ? arrow::py::ConvertPyError() : Status::OK();
    }
    auto batch = arrow::py::unwrap_batch(item);
    Py_DECREF(item);
    if (!batch.ok()) return UsageError("the input gave something that is not a pyarrow.RecordBatch");
    *out = *batch;
    return Status::OK();
  }

 private:
  std::shared_ptr<arrow::Schema> schema_;
  PyObject* iterator_;
};

bool NamesExtension(const arrow::Field& field) {
  if (field.HasMetadata() && field.metadata()->Contains("ARROW:extension:name")) return true;
  return std::any_of(field.type()->fields().begin(), field.type()->fields().end(),
                     [](const auto& child) { return NamesExtension(*child); });
}

std::shared_ptr<arrow::Scalar> ScalarFromPython(nb::handle value) {
  return UnwrapOrTypeError(arrow::py::unwrap_scalar(value.ptr()), "pyarrow.Scalar", value);
}

}  // namespace

nb::object ToPython(const std::shared_ptr<arrow::RecordBatch>& batch) { return Own(arrow::py::wrap_batch(batch)); }
nb::object ToPython(const std::shared_ptr<arrow::Table>& table) {
  const auto schema = WithExtensionTypes(table->schema());
  if (schema == table->schema()) return Own(arrow::py::wrap_table(table));
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  arrow::TableBatchReader reader(*table);
  while (auto batch = Unwrap(reader.Next())) batches.push_back(WithExtensionTypes(batch, schema));
  return Own(arrow::py::wrap_table(Unwrap(arrow::Table::FromRecordBatches(schema, std::move(batches)))));
}
nb::object ToPython(const std::shared_ptr<arrow::Schema>& schema) {
  return Own(arrow::py::wrap_schema(WithExtensionTypes(schema)));
}

// The C data interface does the work: its import side looks extension names up, at every depth.
std::shared_ptr<arrow::Schema> WithExtensionTypes(const std::shared_ptr<arrow::Schema>& schema) {
  bool any =
      std::any_of(schema->fields().begin(), schema->fields().end(), [](const auto& f) { return NamesExtension(*f); });
  if (!any) return schema;
  ArrowSchema exported;
  Check(arrow::ExportSchema(*schema, &exported));
  // Parameters that their type cannot read (of a damaged file, say) do no harm: the columns come in their storage types.
  return arrow::ImportSchema(&exported).ValueOr(schema);
}

std::shared_ptr<arrow::RecordBatch> WithExtensionTypes(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                       const std::shared_ptr<arrow::Schema>& schema) {
  if (schema == batch->schema()) return batch;
  ArrowArray exported;
  Check(arrow::ExportRecordBatch(*batch, &exported));
  return Unwrap(arrow::ImportRecordBatch(&exported, schema));
}

std::shared_ptr<arrow::Schema> SchemaFromPython(nb::handle schema) {
  return UnwrapOrTypeError(arrow::py::unwrap_schema(schema.ptr()), "pyarrow.Schema", schema);
}

std::shared_ptr<arrow::RecordBatch> BatchFromPython(nb::handle batch) {
  return UnwrapOrTypeError(arrow::py::unwrap_batch(batch.ptr()), "pyarrow.RecordBatch", batch);
}

std::shared_ptr<arrow::RecordBatchReader> ReaderFromPython(nb::handle schema, nb::handle batches) {
  if (arrow::py::is_table(batches.ptr())) {
    auto table = Unwrap(arrow::py::unwrap_table(batches.ptr()));
    return std::make_shared<arrow::TableBatchReader>(std::move(table));
  }
  nb::object iterator = Own(PyObject_GetIter(batches.ptr()));
  return std::make_shared<IteratorReader>(SchemaFromPython(schema), std::move(iterator));
}

std::vector<uint64_t> RowsFromPython(nb::handle rows) {
  nb::object list = Own(PySequence_Fast(rows.ptr(), "row numbers must be a sequence of integers"));
  Py_ssize_t n = PySequence_Fast_GET_SIZE(list.ptr());
  PyObject** items = PySequence_Fast_ITEMS(list.ptr());
  std::vector<uint64_t> out;
  out.reserve(n);
  for (Py_ssize_t i = 0; i < n; ++i) {
    uint64_t row;
    if (PyLong_CheckExact(items[i])) {
      row = PyLong_AsUnsignedLongLong(items[i]);
    } else {
      nb::object index = Own(PyNumber_Index(items[i]));
      row = PyLong_AsUnsignedLongLong(index.ptr());
    }
    if (row == ~uint64_t{0} && PyErr_Occurred()) RaisePending();
    out.push_back(row);
  }
  return out;
}

Params ParamsFromPython(nb::handle params) {
  Params out;
  if (params.is_none()) return out;
  if (nb::isinstance<nb::dict>(params)) {
    for (auto [key, value] : nb::borrow<nb::dict>(params)) {
      out.named.emplace(nb::cast<std::string>(key), ScalarFromPython(value));
    }
  } else {
    for (nb::handle value : params) out.positional.push_back(ScalarFromPython(value));
  }
  return out;
}

nb::object StreamCapsule(std::shared_ptr<arrow::RecordBatchReader> reader) {
  auto stream = std::make_unique<ArrowArrayStream>();
  Check(arrow::ExportRecordBatchReader(std::move(reader), stream.get()));
  nb::object capsule = Own(PyCapsule_New(stream.get(), "arrow_array_stream", [](PyObject* capsule) {
    auto* owned = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, "arrow_array_stream"));
    if (owned == nullptr) return;
    if (owned->release != nullptr) owned->release(owned);
    delete owned;
  }));
  stream.release();
  return capsule;
}

nb::dict StatsToPython(const ReadStats& stats) {
  nb::dict decoded;
  for (const auto& [column, values] : stats.decoded()) decoded[column.c_str()] = values;
  nb::dict out;
  out["opens"] = stats.opens.load();
  out["requests"] = stats.requests.load();
  out["bytes"] = stats.bytes.load();
  out["decoded"] = decoded;
  return out;
}

}  // namespace pilum::python
