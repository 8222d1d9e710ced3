// Columns of Lance tables added, altered and dropped, as functions of pilum._pilum over its Table. The Python methods over
// them are in pilum/dataset_columns.py.
#include <optional>
#include <tuple>
#include <utility>

#include <arrow/python/common.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "pilum/change/add_columns.h"
#include "pilum/change/columns.h"
#include "pilum/change/join_columns.h"
#include "pilum/python/convert.h"
#include "pilum/python/table_writes.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

uint64_t Drop(nb::handle table, const std::vector<std::string>& columns, const nb::dict& options) {
  const ChangeOptions how = ReadChangeOptions(options);
  const WritableTable base = Writable(table);
  return RunChange([&](ReadContext& ctx) { return DropColumns(base, columns, how, ctx); }).version;
}

// (path, name, nullable, schema with one field of the type)
using Alteration = std::tuple<std::string, std::optional<std::string>, std::optional<bool>, nb::object>;

uint64_t Alter(nb::handle table, const std::vector<Alteration>& alterations, const nb::dict& options) {
  const ChangeOptions how = ReadChangeOptions(options);
  const WritableTable base = Writable(table);
  std::vector<ColumnAlteration> list;
  for (const auto& [path, name, nullable, type] : alterations) {
    list.push_back({path, name, nullable, type.is_none() ? nullptr : SchemaFromPython(type)->field(0)->type()});
  }
  return RunChange([&](ReadContext& ctx) { return AlterColumns(base, list, how, ctx); }).version;
}

uint64_t AddNulls(nb::handle table, nb::handle schema, const nb::dict& options) {
  const ChangeOptions how = ReadChangeOptions(options);
  const WritableTable base = Writable(table);
  const auto columns = SchemaFromPython(schema);
  return RunChange([&](ReadContext& ctx) { return AddNullColumns(base, *columns, how, ctx); }).version;
}

BatchLimits LimitsOf(std::optional<uint64_t> batch_size) {
  BatchLimits limits;
  if (batch_size) limits.rows = std::max<uint64_t>(*batch_size, 1);
  return limits;
}

uint64_t AddSql(nb::handle table, const std::vector<std::pair<std::string, std::string>>& columns,
                std::optional<uint64_t> batch_size, const nb::dict& options) {
  const ChangeOptions how = ReadChangeOptions(options);
  const WritableTable base = Writable(table);
  std::vector<StoredExpression> expressions;
  for (const auto& [name, sql] : columns) expressions.push_back({name, sql});
  const BatchLimits limits = LimitsOf(batch_size);
  return RunChange([&](ReadContext& ctx) { return AddColumns(base, expressions, limits, how, ctx); }).version;
}

uint64_t AddFromReader(nb::handle table, nb::handle schema, nb::handle batches, const nb::dict& options) {
  const ChangeOptions how = ReadChangeOptions(options);
  const WritableTable base = Writable(table);
  const auto reader = ReaderFromPython(schema, batches);
  return RunChange([&](ReadContext& ctx) { return AddColumns(base, *reader, how, ctx); }).version;
}

// Values that Python computes: `begin(version, fragments)` gives an iterator over batches of them.
class PythonValues final : public ColumnValues {
 public:
  PythonValues(std::shared_ptr<arrow::Schema> schema, nb::handle begin) : schema_(std::move(schema)), begin_(begin) {}

  Result<std::shared_ptr<arrow::Schema>> Schema(const Table&, ReadContext&) override { return schema_; }

  Status Begin(const Table& table, const std::vector<uint64_t>& fragments, ReadContext&) override {
    nb::gil_scoped_acquire locked;
    try {
      const nb::object batches = begin_(table.manifest().version, nb::cast(fragments));
      reader_ = ReaderFromPython(ToPython(schema_), batches);
    } catch (nb::python_error& raised) {
      raised.restore();
      return arrow::py::ConvertPyError();
    }
    return Status::OK();
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override { return reader_->Next(); }

 private:
  const std::shared_ptr<arrow::Schema> schema_;
  const nb::handle begin_;  // the caller holds it
  std::shared_ptr<arrow::RecordBatchReader> reader_;
};

uint64_t AddComputed(nb::handle table, nb::handle schema, nb::handle begin, const nb::dict& options) {
  const ChangeOptions how = ReadChangeOptions(options);
  const WritableTable base = Writable(table);
  PythonValues values(SchemaFromPython(schema), begin);
  return RunChange([&](ReadContext& ctx) { return AddColumns(base, values, how, ctx); }).version;
}

uint64_t Join(nb::handle table, nb::handle schema, nb::handle batches, const std::string& left_on,
              const std::string& right_on, const nb::dict& options) {
  const ChangeOptions how = ReadChangeOptions(options);
  const WritableTable base = Writable(table);
  const auto reader = ReaderFromPython(schema, batches);
  return RunChange([&](ReadContext& ctx) { return JoinColumns(base, *reader, left_on, right_on, how, ctx); }).version;
}

}  // namespace

void BindTableColumns(nb::module_& m) {
  const auto options = nb::arg("options") = nb::dict();
  m.def("table_drop_columns", &Drop, nb::arg("table"), nb::arg("columns"), options);
  m.def("table_alter_columns", &Alter, nb::arg("table"), nb::arg("alterations"), options);
  m.def("table_add_null_columns", &AddNulls, nb::arg("table"), nb::arg("schema"), options);
  m.def("table_add_sql_columns", &AddSql, nb::arg("table"), nb::arg("columns"), nb::arg("batch_size").none(), options);
  m.def("table_add_read_columns", &AddFromReader, nb::arg("table"), nb::arg("schema").none(), nb::arg("batches"),
        options);
  m.def("table_add_computed_columns", &AddComputed, nb::arg("table"), nb::arg("schema"), nb::arg("begin"), options);
  m.def("table_join_columns", &Join, nb::arg("table"), nb::arg("schema").none(), nb::arg("batches"), nb::arg("left_on"),
        nb::arg("right_on"), options);
}

}  // namespace pilum::python
