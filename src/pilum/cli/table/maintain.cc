// pilum table maintain: compacts and cleans up by a stated policy.
#include "pilum/change/maintain.h"

#include "pilum/cli/table/cleanup_text.h"
#include "pilum/cli/table/compact_text.h"
#include "pilum/cli/table/verbs.h"
#include "pilum/cli/table/write_verb.h"

namespace pilum::cli {
namespace {

struct MaintainArgs : WriteArgs {
  std::optional<uint64_t> target_rows;
  std::string older_than, in_flight;
  std::vector<std::string> clones;
  bool no_compact = false, no_cleanup = false, indexed_too = false;
};

Result<MaintainPolicy> PolicyOf(const MaintainArgs& args, const Table& table) {
  MaintainPolicy out;
  PILUM_ASSIGN_OR_RETURN(out.compaction, CompactionDefaults(table.manifest()));
  if (args.target_rows) out.compaction.target_rows_per_fragment = *args.target_rows;
  if (!args.older_than.empty()) {
    PILUM_ASSIGN_OR_RETURN(out.older_than, ParseDuration(args.older_than));
  }
  if (!args.in_flight.empty()) {
    PILUM_ASSIGN_OR_RETURN(out.in_flight, ParseDuration(args.in_flight));
  }
  out.compact = !args.no_compact;
  out.clean = !args.no_cleanup;
  out.indexed_too = args.indexed_too;
  out.clones = args.clones;
  return out;
}

Json UncoveredJson(const std::vector<UncoveredIndex>& uncovered) {
  Json out = Json::array();
  for (const UncoveredIndex& index : uncovered) out.push_back({{"index", index.name}, {"fragments", index.fragments}});
  return out;
}

std::string UncoveredText(const std::vector<UncoveredIndex>& uncovered) {
  std::string out;
  for (const UncoveredIndex& index : uncovered) {
    out += fmt::format(
        "index {} does not cover {}; Pilum cannot cover them yet: ds.optimize.optimize_indices() of pylance does\n",
        index.name, Plural(index.fragments, "fragment"));
  }
  return out;
}

std::string RemovedText(const CleanupStats& stats) {
  return fmt::format("{} ({}) and {}", Plural(stats.files_removed, "file"), HumanBytes(stats.bytes_removed),
                     Plural(stats.old_versions, "old version"));
}

Result<int> DryRun(const MaintainArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenFor(args));
  PILUM_ASSIGN_OR_RETURN(const MaintainPolicy policy, PolicyOf(args, *opened.table));
  PILUM_ASSIGN_OR_RETURN(const MaintainPlan plan, ForeseeMaintenance(*opened.table, policy, opened.ctx()));
  const CleanupStats stats = StatsOf(plan.cleanup);
  if (args.json) {
    Json j = JsonHead(*opened.table);
    j["dry_run"] = true;
    j["compaction"] = TasksJson(plan.compaction);
    j["cleanup"] = policy.clean ? PlanJson(plan.cleanup.refs, plan.cleanup.plan, true) : Json();
    j["uncovered"] = UncoveredJson(plan.uncovered);
    return PrintJson(j);
  }
  PILUM_RETURN_NOT_OK(PrintTasks(plan.compaction));
  if (policy.clean) PILUM_RETURN_NOT_OK(PrintPlan(plan.cleanup.refs, plan.cleanup.plan));
  std::string text = UncoveredText(plan.uncovered);
  size_t fragments = 0;
  for (const CompactionTask& task : plan.compaction.tasks) fragments += task.fragments.size();
  text += fmt::format("dry run: would compact {}, remove {}\n", Plural(fragments, "fragment"), RemovedText(stats));
  PILUM_RETURN_NOT_OK(Print(text));
  return kExitOk;
}

Result<int> Maintain(const MaintainArgs& args) {
  if (args.dry_run) return DryRun(args);
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenToChange(args));
  PILUM_ASSIGN_OR_RETURN(const MaintainPolicy policy, PolicyOf(args, *opened.table.table));
  PILUM_ASSIGN_OR_RETURN(const Maintained done, MaintainTable(opened.table, policy, OptionsOf(args), opened.ctx()));
  Done out;
  out.words = fmt::format("{}; removed {}", MetricsText(done.compacted), RemovedText(done.cleaned));
  out.version = done.version;
  out.facts = {{"compaction", MetricsJson(done.compacted)},     {"files_removed", done.cleaned.files_removed},
               {"bytes_removed", done.cleaned.bytes_removed},   {"old_versions", done.cleaned.old_versions},
               {"failed_deletes", done.cleaned.failed_deletes}, {"uncovered", UncoveredJson(done.uncovered)}};
  out.more = UncoveredText(done.uncovered);
  PILUM_RETURN_NOT_OK(Tell(args, nullptr, out).status());
  if (done.cleaned.failed_deletes == 0) return kExitOk;
  return Status::IOError(args.table, ": ", Plural(done.cleaned.failed_deletes, "file"),
                         " could not be removed, the first: ", done.cleaned.first_failure);
}

}  // namespace

void AddMaintainVerb(CLI::App* group, Action* action) {
  auto verb = AddWriteVerb<MaintainArgs>(
      group, "maintain", "Upkeep to leave running: compacts, then removes old versions and leftovers",
      "pilum table maintain flights.lance --older-than 30d --dry-run", action, Maintain);
  MaintainArgs& args = *verb.args;
  CLI::App& command = *verb.command;
  command
      .add_option("--target-rows", args.target_rows, "Fragments of fewer rows are put together (default: 1,048,576)")
      ->type_name("N")
      ->check(WholeNumber());
  command.add_flag("--indexed-too", args.indexed_too, "Those too that an index would no longer cover afterwards");
  command.add_option("--older-than", args.older_than, "Versions older than that go (default: 14d)")->type_name("AGE");
  command.add_option("--in-flight", args.in_flight, "Nothing younger than this goes (default: 7d)")->type_name("AGE");
  command.add_option("--clone", args.clones, "A shallow clone of the table, whose files stay; again for more")
      ->type_name("TABLE")
      ->take_all()
      ->allow_extra_args(false);
  command.add_flag("--no-compact", args.no_compact, "Leave the fragments as they are");
  command.add_flag("--no-cleanup", args.no_cleanup, "Leave old versions and leftovers");
}

}  // namespace pilum::cli
