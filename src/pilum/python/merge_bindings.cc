// Merges into Lance tables, as functions of pilum._pilum over its Table. The Python over them is pilum/merge.py.
#include <tuple>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "pilum/change/merge_rows.h"
#include "pilum/python/convert.h"
#include "pilum/python/table_writes.h"
#include "pilum/python/transaction_convert.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

WhenMatched MatchedOf(const std::string& what) {
  if (what == "update") return WhenMatched::kUpdate;
  if (what == "delete") return WhenMatched::kDelete;
  return what == "fail" ? WhenMatched::kFail : WhenMatched::kKeep;
}

MergeOptions ReadMergeOptions(const nb::dict& options, nb::handle delete_params) {
  MergeOptions out;
  static_cast<ChangeOptions&>(out) = ReadChangeOptions(options);
  out.on = Option<std::vector<std::string>>(options, "on", {});
  out.matched = MatchedOf(Option<std::string>(options, "matched", ""));
  out.update_if = Option<std::string>(options, "update_if", "");
  out.insert = Option(options, "insert", false);
  out.delete_others = Option(options, "delete_others", false);
  out.delete_if = Option<std::string>(options, "delete_if", "");
  out.delete_params = ParamsFromPython(delete_params);
  out.targets = ReadTargets(options);
  out.rewrite_columns = Option(options, "rewrite_columns", false);
  out.data_version = Option<std::string>(options, "data_version", "");
  // What is in memory anyway stays there.
  if (Option(options, "rows_in_memory", false)) out.held_bytes = UINT64_MAX;
  return out;
}

// The version, and how many rows were inserted, updated, deleted.
std::tuple<uint64_t, uint64_t, uint64_t, uint64_t> Merge(nb::handle table, nb::handle schema, nb::handle batches,
                                                         const nb::dict& options, nb::handle delete_params) {
  const MergeOptions how = ReadMergeOptions(options, delete_params);
  const WritableTable base = Writable(table);
  auto reader = ReaderFromPython(schema, batches);
  const MergedRows done = RunChange([&](ReadContext& ctx) { return MergeRows(base, *reader, how, ctx); });
  return {done.version, done.inserted, done.updated, done.deleted};
}

// The transaction that was not committed, and how many rows it inserts, updates, deletes.
std::tuple<nb::dict, uint64_t, uint64_t, uint64_t> Stage(nb::handle table, nb::handle schema, nb::handle batches,
                                                         const nb::dict& options, nb::handle delete_params) {
  const MergeOptions how = ReadMergeOptions(options, delete_params);
  const WritableTable base = Writable(table);
  auto reader = ReaderFromPython(schema, batches);
  const StagedMerge done = RunChange([&](ReadContext& ctx) { return StageMerge(base, *reader, how, ctx); });
  return {TransactionToPython(done.transaction), done.rows.inserted, done.rows.updated, done.rows.deleted};
}

}  // namespace

void BindMerges(nb::module_& m) {
  m.def("table_merge", &Merge, nb::arg("table"), nb::arg("schema").none(), nb::arg("batches"), nb::arg("options"),
        nb::arg("delete_params").none() = nb::none());
  m.def("table_stage_merge", &Stage, nb::arg("table"), nb::arg("schema").none(), nb::arg("batches"), nb::arg("options"),
        nb::arg("delete_params").none() = nb::none());
}

}  // namespace pilum::python
