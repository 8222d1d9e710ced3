// Compaction of Lance tables, as functions of pilum._pilum over its Table. The Python classes over them are in
// pilum/optimize.py.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "pilum/change/compact_table.h"
#include "pilum/python/bindings.h"
#include "pilum/python/table_writes.h"
#include "pilum/python/transaction_convert.h"
#include "pilum/python/transaction_parts.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

// What is given, over what the table's config says.
CompactionOptions ReadOptions(const Table& table, const nb::dict& given) {
  CompactionOptions out = Unwrap(CompactionDefaults(table.manifest()));
  TakeOption(given, "target_rows_per_fragment", &out.target_rows_per_fragment);
  TakeOption(given, "max_bytes_per_file", &out.max_bytes_per_file);
  TakeOption(given, "materialize_deletions", &out.materialize_deletions);
  TakeOption(given, "materialize_deletions_threshold", &out.materialize_deletions_threshold);
  TakeOption(given, "batch_size", &out.batch_rows);
  TakeOption(given, "num_threads", &out.threads);
  TakeOption(given, "max_source_fragments", &out.max_source_fragments);
  TakeOption(given, "max_source_rows", &out.max_source_rows);
  TakeOption(given, "max_source_bytes", &out.max_source_bytes);
  TakeOption(given, "data_version", &out.data_version);
  TakeOption(given, "leave_indexed", &out.leave_indexed);
  std::vector<uint64_t> excluded;
  TakeOption(given, "excluded_fragment_ids", &excluded);
  out.excluded_fragments = {excluded.begin(), excluded.end()};
  return out;
}

nb::dict ToPython(const CompactionMetrics& m) {
  nb::dict out;
  out["fragments_removed"] = m.fragments_removed;
  out["fragments_added"] = m.fragments_added;
  out["files_removed"] = m.files_removed;
  out["files_added"] = m.files_added;
  return out;
}

nb::tuple ToPython(const Compacted& done) { return nb::make_tuple(done.version, ToPython(done.metrics)); }

nb::list Plan(nb::handle table, const nb::dict& given) {
  const auto at = TableOf(table);
  const CompactionOptions options = ReadOptions(*at, given);
  const CompactionPlan plan = RunChange([&](ReadContext& ctx) { return PlanCompaction(*at, options, ctx); });
  nb::list out;
  for (const CompactionTask& task : plan.tasks) {
    nb::dict one;
    one["fragments"] = task.fragments;
    one["rows"] = task.rows;
    one["deleted"] = task.deleted;
    one["bytes"] = task.bytes;
    one["reason"] = task.reason;
    one["uncovered"] = task.uncovered;
    out.append(one);
  }
  return out;
}

// {"fragments": the new ones, "metrics": …}
nb::dict Execute(nb::handle table, const std::vector<uint64_t>& fragments, const nb::dict& given) {
  const WritableTable at = Writable(table);
  const CompactionOptions options = ReadOptions(*at.table, given);
  const ChangeOptions change = ReadChangeOptions(given);
  CompactionTask task;
  task.fragments = fragments;
  const RewriteResult done = RunChange([&](ReadContext& ctx) -> Result<RewriteResult> {
    PILUM_ASSIGN_OR_RETURN(const ChangeBase base, BeginChange(at, ctx));
    PILUM_ASSIGN_OR_RETURN(RewriteResult result, RewriteFragments(base, task, options, ctx));
    PILUM_ASSIGN_OR_RETURN(const auto files, FilesOf(*at.table, result, ctx));
    if (change.sync) PILUM_RETURN_NOT_OK(at.store->Sync(files));
    return result;
  });
  Repeated<wire::DataFragment> added;
  for (const std::string& message : done.new_fragments) added.Add()->ParseFromString(message);
  nb::dict out;
  out["fragments"] = FragmentsToPython(added);
  out["metrics"] = ToPython(done.metrics);
  return out;
}

nb::tuple Commit(nb::handle table, const nb::list& results, const nb::dict& given) {
  const WritableTable at = Writable(table);
  const ChangeOptions change = ReadChangeOptions(given);
  std::vector<RewriteResult> all;
  for (const nb::handle item : results) {
    const auto one = nb::cast<nb::dict>(item);
    RewriteResult result;
    TakeOption(one, "read_version", &result.read_version);
    TakeOption(one, "old_fragments", &result.old_fragments);
    Repeated<wire::DataFragment> fragments;
    FragmentsFromPython(one["fragments"], &fragments);
    for (const auto& f : fragments) result.new_fragments.push_back(SerializeWire(f));
    const auto metrics = nb::cast<nb::dict>(one["metrics"]);
    TakeOption(metrics, "fragments_removed", &result.metrics.fragments_removed);
    TakeOption(metrics, "fragments_added", &result.metrics.fragments_added);
    TakeOption(metrics, "files_removed", &result.metrics.files_removed);
    TakeOption(metrics, "files_added", &result.metrics.files_added);
    all.push_back(std::move(result));
  }
  return ToPython(RunChange([&](ReadContext& ctx) { return CommitCompaction(at, all, change, ctx); }));
}

nb::tuple Compact(nb::handle table, const nb::dict& given) {
  const WritableTable at = Writable(table);
  const CompactionOptions options = ReadOptions(*at.table, given);
  const ChangeOptions change = ReadChangeOptions(given);
  return ToPython(RunChange([&](ReadContext& ctx) { return CompactTable(at, options, change, ctx); }));
}

}  // namespace

void BindCompaction(nb::module_& m) {
  m.def("table_compaction_plan", &Plan, nb::arg("table"), nb::arg("options"));
  m.def("table_compaction_execute", &Execute, nb::arg("table"), nb::arg("fragments"), nb::arg("options"));
  m.def("table_compaction_commit", &Commit, nb::arg("table"), nb::arg("results"), nb::arg("options"));
  m.def("table_compact", &Compact, nb::arg("table"), nb::arg("options"));
}

}  // namespace pilum::python
