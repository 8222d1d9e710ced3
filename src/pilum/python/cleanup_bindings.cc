// Clean-ups and upkeep, as functions of pilum._pilum over its Table. The Python over it is in pilum/upkeep.py.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "pilum/change/maintain.h"
#include "pilum/python/table_writes.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

using Micros = std::chrono::microseconds;

CleanupOptions ReadOptions(const nb::dict& options) {
  CleanupOptions out;
  std::optional<int64_t> older_than, in_flight;
  TakeOption(options, "older_than", &older_than);
  TakeOption(options, "in_flight", &in_flight);
  if (older_than) out.policy.older_than = Micros(*older_than);
  if (in_flight) out.policy.in_flight = Micros(*in_flight);
  TakeOption(options, "retain", &out.policy.retain);
  TakeOption(options, "versions", &out.policy.versions);
  TakeOption(options, "delete_unverified", &out.policy.delete_unverified);
  TakeOption(options, "roots", &out.policy.roots);
  TakeOption(options, "detached_too", &out.policy.detached_too);
  TakeOption(options, "nothing_younger", &out.policy.nothing_younger);
  TakeOption(options, "error_if_tagged", &out.error_if_tagged);
  TakeOption(options, "clones", &out.clones);
  TakeOption(options, "rate_limit", &out.rate_limit);
  return out;
}

nb::dict ToPython(const CleanupStats& s) {
  nb::dict out;
  out["bytes_removed"] = s.bytes_removed;
  out["old_versions"] = s.old_versions;
  out["data_files_removed"] = s.data_files_removed;
  out["transaction_files_removed"] = s.transaction_files_removed;
  out["index_files_removed"] = s.index_files_removed;
  out["deletion_files_removed"] = s.deletion_files_removed;
  out["temporary_files_removed"] = s.temporary_files_removed;
  out["failed_deletes"] = s.failed_deletes;
  out["first_failure"] = s.first_failure;
  return out;
}

nb::dict ToPython(const References& refs, const CleanupFile& f, bool goes) {
  const TableObject& o = refs.inventory.objects[f.object];
  nb::dict out;
  out["path"] = o.path;
  out["kind"] = std::string(ObjectKindKey(o.kind));
  out["bytes"] = o.size;
  out["goes"] = goes;
  out["named"] = refs.IsHeld(f.object);
  out["reason"] = std::string(CleanupReasonText(f.reason));
  return out;
}

nb::dict ToPython(const ForeseenCleanup& foreseen) {
  nb::dict out;
  out["stats"] = ToPython(StatsOf(foreseen));
  nb::list files, versions, branches;
  for (const CleanupFile& f : foreseen.plan.goes) files.append(ToPython(foreseen.refs, f, true));
  for (const CleanupFile& f : foreseen.plan.stays) files.append(ToPython(foreseen.refs, f, false));
  for (const uint32_t i : foreseen.plan.versions) versions.append(foreseen.refs.holders[i].version);
  for (const auto& [name, branch] : foreseen.refs.branches) {
    branches.append(nb::make_tuple(name, branch.parent_version));
  }
  out["files"] = files;
  out["versions"] = versions;
  out["tags"] = nb::cast(foreseen.plan.tags);
  out["branches"] = branches;
  return out;
}

nb::dict Cleanup(nb::handle table, const nb::dict& options, bool dry_run) {
  const std::shared_ptr<const Table> t = TableOf(table);
  const CleanupOptions how = ReadOptions(options);
  if (dry_run) return ToPython(RunChange([&](ReadContext& ctx) { return ForeseeCleanup(*t, how, ctx); }));
  const WritableTable writable = Writable(table);
  nb::dict out;
  out["stats"] = ToPython(RunChange([&](ReadContext& ctx) { return CleanUp(writable, how, ctx); }));
  return out;
}

nb::list UncoveredOf(const std::vector<UncoveredIndex>& uncovered) {
  nb::list out;
  for (const UncoveredIndex& index : uncovered) out.append(nb::make_tuple(index.name, index.fragments));
  return out;
}

MaintainPolicy ReadPolicy(const Table& table, const nb::dict& options) {
  MaintainPolicy out;
  out.compaction = Unwrap(CompactionDefaults(table.manifest()));
  TakeOption(options, "target_rows", &out.compaction.target_rows_per_fragment);
  std::optional<int64_t> older_than, in_flight;
  TakeOption(options, "older_than", &older_than);
  TakeOption(options, "in_flight", &in_flight);
  if (older_than) out.older_than = Micros(*older_than);
  if (in_flight) out.in_flight = Micros(*in_flight);
  TakeOption(options, "compact", &out.compact);
  TakeOption(options, "cleanup", &out.clean);
  TakeOption(options, "indexed_too", &out.indexed_too);
  TakeOption(options, "clones", &out.clones);
  return out;
}

nb::dict Maintain(nb::handle table, const nb::dict& options, bool dry_run) {
  const std::shared_ptr<const Table> t = TableOf(table);
  const MaintainPolicy policy = ReadPolicy(*t, options);
  nb::dict out;
  if (dry_run) {
    const MaintainPlan plan = RunChange([&](ReadContext& ctx) { return ForeseeMaintenance(*t, policy, ctx); });
    nb::list tasks;
    for (const CompactionTask& task : plan.compaction.tasks) {
      tasks.append(nb::make_tuple(nb::cast(task.fragments), task.rows, task.reason));
    }
    out["tasks"] = tasks;
    out["cleanup"] = ToPython(plan.cleanup);
    out["uncovered"] = UncoveredOf(plan.uncovered);
    return out;
  }
  const WritableTable writable = Writable(table);
  const Maintained done = RunChange([&](ReadContext& ctx) { return MaintainTable(writable, policy, {}, ctx); });
  out["version"] = done.version;
  out["fragments_removed"] = done.compacted.fragments_removed;
  out["fragments_added"] = done.compacted.fragments_added;
  out["stats"] = ToPython(done.cleaned);
  out["uncovered"] = UncoveredOf(done.uncovered);
  return out;
}

}  // namespace

void BindCleanup(nb::module_& m) {
  m.def("table_cleanup", &Cleanup, nb::arg("table"), nb::arg("options"), nb::arg("dry_run") = false);
  m.def("table_maintain", &Maintain, nb::arg("table"), nb::arg("options"), nb::arg("dry_run") = false);
}

}  // namespace pilum::python
