// pilum table cleanup: old versions go, and what nothing needs.
#include "pilum/change/cleanup.h"

#include <unistd.h>

#include <iostream>

#include "pilum/cli/table/cleanup_text.h"
#include "pilum/cli/table/verbs.h"
#include "pilum/cli/table/write_verb.h"

namespace pilum::cli {
namespace {

struct CleanupArgs : WriteArgs {
  std::string older_than, in_flight;
  std::optional<uint64_t> retain, rate;
  std::vector<uint64_t> versions, keep;
  std::vector<std::string> clones;
  bool unverified = false, detached = false, yes = false;
};

Result<CleanupOptions> CleanupOptionsOf(const CleanupArgs& args) {
  CleanupOptions out;
  CleanupPolicy& policy = out.policy;
  policy.rules = CleanupRules::kPilum;
  if (!args.older_than.empty()) {
    PILUM_ASSIGN_OR_RETURN(policy.older_than, ParseDuration(args.older_than));
  }
  if (!args.in_flight.empty()) {
    PILUM_ASSIGN_OR_RETURN(policy.in_flight, ParseDuration(args.in_flight));
  }
  policy.retain = args.retain;
  if (!args.versions.empty()) policy.versions = args.versions;
  if (!policy.older_than && !policy.retain && !policy.versions) policy.older_than = std::chrono::hours(14 * 24);
  policy.delete_unverified = args.unverified;
  policy.detached_too = args.detached;
  policy.roots = args.keep;
  out.clones = args.clones;
  out.rate_limit = args.rate;
  out.error_if_tagged = false;  // they stay
  return out;
}

// On a terminal; elsewhere --yes is the answer.
Result<bool> Confirmed(const CleanupArgs& args, uint64_t files) {
  if (args.yes || files == 0) return true;
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0) {
    return UsageError(
        "{}: a clean-up cannot be undone; where nobody can be asked, say --yes (or --dry-run to look first)",
        args.table);
  }
  std::cerr << "Remove them? [y/N] ";
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

std::string Words(const CleanupStats& stats, const char* done) {
  return fmt::format("{} {}, {} of {}", done, Plural(stats.files_removed, "file"), HumanBytes(stats.bytes_removed),
                     Plural(stats.old_versions, "version"));
}

Json FactsOf(const CleanupStats& stats) {
  return {{"files_removed", stats.files_removed},
          {"bytes_removed", stats.bytes_removed},
          {"old_versions", stats.old_versions},
          {"data_files_removed", stats.data_files_removed},
          {"transaction_files_removed", stats.transaction_files_removed},
          {"index_files_removed", stats.index_files_removed},
          {"deletion_files_removed", stats.deletion_files_removed},
          {"temporary_files_removed", stats.temporary_files_removed},
          {"failed_deletes", stats.failed_deletes}};
}

Json HeadOf(const CleanupArgs& args, const CleanupStats& stats) {
  Json j;
  j["table"] = args.table;
  j["branch"] = args.version.branch.empty() ? Json() : Json(args.version.branch);
  j["dry_run"] = args.dry_run;
  j.update(FactsOf(stats));
  return j;
}

Result<int> DryRun(const CleanupArgs& args, const CleanupOptions& options) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenFor(args));
  PILUM_ASSIGN_OR_RETURN(const auto foreseen, ForeseeCleanup(*opened.table, options, opened.ctx()));
  const CleanupStats stats = StatsOf(foreseen);
  if (args.json) {
    Json j = HeadOf(args, stats);
    j["plan"] = PlanJson(foreseen.refs, foreseen.plan, true);
    return PrintJson(j);
  }
  PILUM_RETURN_NOT_OK(PrintPlan(foreseen.refs, foreseen.plan));
  PILUM_RETURN_NOT_OK(Print(fmt::format("dry run: {}\n", Words(stats, "would remove"))));
  return kExitOk;
}

Result<int> Cleanup(const CleanupArgs& args) {
  PILUM_ASSIGN_OR_RETURN(const CleanupOptions options, CleanupOptionsOf(args));
  if (args.dry_run) return DryRun(args, options);
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenToChange(args));
  PILUM_ASSIGN_OR_RETURN(auto foreseen, ForeseeCleanup(*opened.table.table, options, opened.ctx()));
  const CleanupStats wanted = StatsOf(foreseen);
  if (!args.yes && wanted.files_removed > 0) std::cerr << Words(wanted, "would remove") << "\n";
  PILUM_ASSIGN_OR_RETURN(const bool go, Confirmed(args, wanted.files_removed));
  if (!go) {
    PILUM_RETURN_NOT_OK(Print("nothing removed\n"));
    return kExitOk;
  }
  PILUM_ASSIGN_OR_RETURN(const CleanupStats stats, CleanUp(opened.table, std::move(foreseen), options, opened.ctx()));
  if (args.json) {
    PILUM_RETURN_NOT_OK(PrintJson(HeadOf(args, stats)).status());
  } else {
    PILUM_RETURN_NOT_OK(Print(Words(stats, "removed") + "\n"));
  }
  if (stats.failed_deletes == 0) return kExitOk;
  return Status::IOError(args.table, ": ", Plural(stats.failed_deletes, "file"),
                         " could not be removed, the first: ", stats.first_failure,
                         "; what is kept is whole, clean up again");
}

}  // namespace

void AddCleanupVerb(CLI::App* group, Action* action) {
  auto verb = AddWriteVerb<CleanupArgs>(
      group, "cleanup", "Removes old versions, and files that nothing needs; tags and branches are safe",
      "pilum table cleanup flights.lance --older-than 30d --dry-run", action, Cleanup, false);
  CleanupArgs& args = *verb.args;
  CLI::App& command = *verb.command;
  command.add_option("--older-than", args.older_than, "Versions older than 0s, 12h, 7d … (default: 14d)")
      ->type_name("AGE");
  command.add_option("--retain", args.retain, "All but the newest N versions")->type_name("N")->check(WholeNumber());
  command.add_option("--versions", args.versions, "These versions and no others, detached ones too: 3,4,7")
      ->type_name("N,…")
      ->delimiter(',');
  command.add_option("--keep", args.keep, "Versions that stay whatever the rest says")
      ->type_name("N,…")
      ->delimiter(',');
  command.add_flag("--detached", args.detached, "Detached versions go by the same rules (else they stay)");
  command.add_option("--clone", args.clones, "A shallow clone of the table, whose files stay; again for more")
      ->type_name("TABLE")
      ->take_all()
      ->allow_extra_args(false);
  command.add_flag("--unverified", args.unverified,
                   "Also what no version ever named, at any age: only where nobody is writing");
  command.add_option("--in-flight", args.in_flight, "Else such files go at this age (default: 7d)")->type_name("AGE");
  command.add_option("--rate", args.rate, "Files a second, at most")->type_name("N")->check(WholeNumber());
  command.add_flag("--yes", args.yes, "Do not ask; needed where there is no terminal");
}

}  // namespace pilum::cli
