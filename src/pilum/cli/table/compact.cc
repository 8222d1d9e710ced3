// pilum table compact: small fragments, and those with many deleted rows, written anew together.
#include "pilum/cli/table/compact_text.h"
#include "pilum/cli/table/verbs.h"

namespace pilum::cli {
namespace {

struct CompactArgs : WriteArgs {
  std::optional<uint64_t> target_rows;
  std::string max_bytes;
  std::optional<float> deletions;
  bool keep_covered = false;
};

Result<CompactionOptions> CompactionOptionsOf(const CompactArgs& args, const Table& table) {
  PILUM_ASSIGN_OR_RETURN(CompactionOptions out, CompactionDefaults(table.manifest()));
  if (args.target_rows) out.target_rows_per_fragment = *args.target_rows;
  if (!args.max_bytes.empty()) {
    PILUM_ASSIGN_OR_RETURN(out.max_bytes_per_file, ParseBytes(args.max_bytes));
  }
  if (args.deletions) out.materialize_deletions_threshold = *args.deletions;
  out.leave_indexed = args.keep_covered;
  return out;
}

Result<int> DryRun(const CompactArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenFor(args));
  PILUM_ASSIGN_OR_RETURN(const auto options, CompactionOptionsOf(args, *opened.table));
  PILUM_ASSIGN_OR_RETURN(const CompactionPlan plan, PlanCompaction(*opened.table, options, opened.ctx()));
  if (args.json) {
    Json j = JsonHead(*opened.table);
    j["dry_run"] = true;
    j["tasks"] = TasksJson(plan);
    return PrintJson(j);
  }
  PILUM_RETURN_NOT_OK(PrintTasks(plan));
  size_t fragments = 0;
  uint64_t rows = 0;
  for (const CompactionTask& task : plan.tasks) fragments += task.fragments.size(), rows += task.rows;
  PILUM_RETURN_NOT_OK(Print(plan.tasks.empty()
                                ? std::string("dry run: nothing to compact\n")
                                : fmt::format("dry run: would write {} of {} anew, in {}\n", Plural(rows, "row"),
                                              Plural(fragments, "fragment"), Plural(plan.tasks.size(), "task"))));
  return kExitOk;
}

Result<int> Compact(const CompactArgs& args) {
  if (args.dry_run) return DryRun(args);
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenToChange(args));
  PILUM_ASSIGN_OR_RETURN(const auto options, CompactionOptionsOf(args, *opened.table.table));
  PILUM_ASSIGN_OR_RETURN(const Compacted done, CompactTable(opened.table, options, OptionsOf(args), opened.ctx()));
  return Tell(args, nullptr, {MetricsText(done.metrics), done.version, MetricsJson(done.metrics), ""});
}

}  // namespace

void AddCompactVerb(CLI::App* group, Action* action) {
  auto verb = AddWriteVerb<CompactArgs>(group, "compact", "Puts small fragments together, and takes deleted rows out",
                                        "pilum table compact flights.lance --target-rows 1000000", action, Compact);
  verb.command
      ->add_option("--target-rows", verb.args->target_rows,
                   "Fragments of fewer rows are put together (default: 1,048,576)")
      ->type_name("N")
      ->check(WholeNumber());
  verb.command->add_option("--max-bytes", verb.args->max_bytes, "Most bytes of a new data file, about")
      ->type_name("SIZE");
  verb.command
      ->add_option(
          "--deletions", verb.args->deletions,
          "A fragment of which a larger share is deleted is written anew though it stands alone (default: 0.1)")
      ->type_name("SHARE")
      ->check(CLI::Range(0.0F, 1.0F));
  verb.command->add_flag("--keep-covered", verb.args->keep_covered,
                         "Leave fragments that an index would no longer cover afterwards");
}

}  // namespace pilum::cli
