// Columns of single fragments of Lance tables, written for somebody else to commit, as functions of pilum._pilum. The Python
// methods over them are in pilum/fragment_columns.py.
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "pilum/change/fragment_columns.h"
#include "pilum/change/join_columns.h"
#include "pilum/python/convert.h"
#include "pilum/python/table_writes.h"
#include "pilum/python/transaction_convert.h"
#include "pilum/table/roaring.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

// As a Merge of the one fragment.
nb::dict Add(nb::handle table, uint64_t fragment, ColumnValues& values) {
  const WritableTable base = Writable(table);
  AddedFragment added = RunChange([&](ReadContext& ctx) { return AddFragmentColumns(base, fragment, values, ctx); });
  wire::Transaction t;
  *t.mutable_merge()->add_fragments() = std::move(added.fragment);
  *t.mutable_merge()->mutable_schema() = std::move(added.schema);
  return TransactionToPython(t);
}

nb::dict AddSql(nb::handle table, uint64_t fragment, const std::vector<std::pair<std::string, std::string>>& columns,
                std::optional<uint64_t> batch_size) {
  std::vector<StoredExpression> expressions;
  for (const auto& [name, sql] : columns) expressions.push_back({name, sql});
  BatchLimits limits;
  if (batch_size) limits.rows = std::max<uint64_t>(*batch_size, 1);
  return Add(table, fragment, *ValuesOfSql(std::move(expressions), limits));
}

nb::dict AddRead(nb::handle table, uint64_t fragment, nb::handle schema, nb::handle batches) {
  const auto reader = ReaderFromPython(schema, batches);
  return Add(table, fragment, *ValuesOfReader(reader.get()));
}

nb::dict Join(nb::handle table, uint64_t fragment, nb::handle schema, nb::handle batches, const std::string& left_on,
              const std::string& right_on) {
  const auto reader = ReaderFromPython(schema, batches);
  const auto base = TableOf(table);
  const auto rows = RunChange([&](ReadContext& ctx) -> Result<std::shared_ptr<const JoinedRows>> {
    PILUM_RETURN_NOT_OK(CheckJoin(*base, *reader->schema(), left_on, right_on));
    return JoinedRows::Read(*reader, right_on, ctx);
  });
  return Add(table, fragment, *ValuesByKey(rows, left_on));
}

// (fragment, ids of fields, places of the rows as a Roaring bitmap)
nb::tuple Update(nb::handle table, uint64_t fragment, nb::handle schema, nb::handle batches, const std::string& left_on,
                 const std::string& right_on) {
  const auto reader = ReaderFromPython(schema, batches);
  const WritableTable base = Writable(table);
  const UpdatedFragment done = RunChange(
      [&](ReadContext& ctx) { return UpdateFragmentColumns(base, fragment, *reader, left_on, right_on, ctx); });
  const std::string rows = SerializeRoaring32(done.rows);
  return nb::make_tuple(FragmentToPython(done.fragment), done.fields, nb::bytes(rows.data(), rows.size()));
}

}  // namespace

void BindFragmentWrites(nb::module_& m) {
  const auto table = nb::arg("table"), fragment = nb::arg("fragment"), batches = nb::arg("batches");
  m.def("table_fragment_add_sql", &AddSql, table, fragment, nb::arg("columns"), nb::arg("batch_size").none());
  m.def("table_fragment_add_read", &AddRead, table, fragment, nb::arg("schema").none(), batches);
  m.def("table_fragment_join", &Join, table, fragment, nb::arg("schema").none(), batches, nb::arg("left_on"),
        nb::arg("right_on"));
  m.def("table_fragment_update", &Update, table, fragment, nb::arg("schema").none(), batches, nb::arg("left_on"),
        nb::arg("right_on"));
}

}  // namespace pilum::python
