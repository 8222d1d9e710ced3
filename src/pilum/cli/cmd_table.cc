// pilum table …: a look into a Lance table, and what changes one. Verbs that look are given no store that could write
// (io/read_only_store.h); those that change it are in cli/table/write_verb.h.
#include <CLI/CLI.hpp>

#include "pilum/cli/common.h"
#include "pilum/cli/table/verbs.h"

namespace pilum::cli {

void AddTableCommands(CLI::App& app, Action* action) {
  CLI::App* group = app.add_subcommand(
      "table", "Lance tables: their versions, what made them, what is on disk; rows added and taken away, upkeep");
  group->require_subcommand(1);
  group->footer("Example:\n  pilum table log flights.lance -n 5");
  AddShowVerb(group, action);
  AddLogVerb(group, action);
  AddManifestVerb(group, action);
  AddTxnVerb(group, action);
  AddTakeVerb(group, action);
  AddFragmentsVerb(group, action);
  AddFilesVerb(group, action);
  AddColumnsVerb(group, action);
  AddLsVerb(group, action);
  AddSpaceVerb(group, action);
  AddCheckVerb(group, action);
  AddDiffVerb(group, action);
  AddReportVerb(group, action);
  AddAppendVerb(group, action);
  AddDeleteVerb(group, action);
  AddUpdateVerb(group, action);
  AddUpsertVerb(group, action);
  AddRestoreVerb(group, action);
  AddTagVerbs(group, action);
  AddBranchVerbs(group, action);
  AddCompactVerb(group, action);
  AddCleanupVerb(group, action);
  AddMaintainVerb(group, action);
}

}  // namespace pilum::cli
