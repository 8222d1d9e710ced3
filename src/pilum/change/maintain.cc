#include "pilum/change/maintain.h"

#include <map>

namespace pilum {
namespace {

Status CheckPolicy(const MaintainPolicy& policy) {
  if (policy.in_flight.count() < 0) return UsageError("in_flight: an age is not negative");
  if (policy.older_than < policy.in_flight) {
    return UsageError(
        "older_than is shorter than in_flight, the window in which nothing goes; give a shorter in_flight too");
  }
  return Status::OK();
}

CompactionOptions CompactionOf(const MaintainPolicy& policy) {
  CompactionOptions out = policy.compaction;
  out.leave_indexed = !policy.indexed_too;
  return out;
}

CleanupOptions CleanupOf(const MaintainPolicy& policy) {
  CleanupOptions out;
  out.policy.rules = CleanupRules::kPilum;
  out.policy.older_than = policy.older_than;
  out.policy.in_flight = policy.in_flight;
  out.policy.nothing_younger = true;
  out.error_if_tagged = false;
  out.clones = policy.clones;
  return out;
}

Result<std::vector<UncoveredIndex>> UncoveredOf(const Table& table, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const auto segments, table.Indices(ctx));
  std::map<std::string, RowSet> covered;
  for (const TableIndex& index : segments) {
    if (index.fields.empty() || !index.fragments) continue;  // Lance's own notes; old ones do not tell
    RowSet& set = covered[index.name];
    set = set.Union(*index.fragments);
  }
  std::vector<UncoveredIndex> out;
  for (const auto& [name, set] : covered) {
    UncoveredIndex one{name, 0};
    for (const Fragment& f : table.manifest().fragments) one.fragments += !set.Contains(f.id);
    if (one.fragments > 0) out.push_back(one);
  }
  return out;
}

}  // namespace

Result<MaintainPlan> ForeseeMaintenance(const Table& table, const MaintainPolicy& policy, ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(CheckPolicy(policy));
  MaintainPlan out;
  out.compaction.read_version = table.manifest().version;
  if (policy.compact) {
    PILUM_ASSIGN_OR_RETURN(out.compaction, PlanCompaction(table, CompactionOf(policy), ctx));
  }
  if (policy.clean) {
    PILUM_ASSIGN_OR_RETURN(out.cleanup, ForeseeCleanup(table, CleanupOf(policy), ctx));
  }
  PILUM_ASSIGN_OR_RETURN(out.uncovered, UncoveredOf(table, ctx));
  return out;
}

Result<Maintained> MaintainTable(WritableTable table, const MaintainPolicy& policy, const ChangeOptions& change,
                                 ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(CheckPolicy(policy));
  Maintained out;
  out.version = table.table->manifest().version;
  if (policy.compact) {
    PILUM_ASSIGN_OR_RETURN(const Compacted done, CompactTable(table, CompactionOf(policy), change, ctx));
    out.version = done.version;
    out.compacted = done.metrics;
  }
  if (out.version != table.table->manifest().version) {
    PILUM_ASSIGN_OR_RETURN(table.table, table.table->Reopen(std::nullopt, ctx));
  }
  if (policy.clean) {
    PILUM_ASSIGN_OR_RETURN(out.cleaned, CleanUp(table, CleanupOf(policy), ctx));
  }
  PILUM_ASSIGN_OR_RETURN(out.uncovered, UncoveredOf(*table.table, ctx));
  return out;
}

}  // namespace pilum
