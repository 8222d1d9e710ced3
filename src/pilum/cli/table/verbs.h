// The verbs of `pilum table`, one a room, in the order of its help. Called by cmd_table.cc.
#pragma once

#include "pilum/cli/common.h"

namespace pilum::cli {

void AddShowVerb(CLI::App* group, Action* action);
void AddLogVerb(CLI::App* group, Action* action);
void AddManifestVerb(CLI::App* group, Action* action);
void AddTxnVerb(CLI::App* group, Action* action);
void AddTakeVerb(CLI::App* group, Action* action);
void AddFragmentsVerb(CLI::App* group, Action* action);
void AddFilesVerb(CLI::App* group, Action* action);
void AddColumnsVerb(CLI::App* group, Action* action);
void AddLsVerb(CLI::App* group, Action* action);
void AddSpaceVerb(CLI::App* group, Action* action);
void AddCheckVerb(CLI::App* group, Action* action);
void AddDiffVerb(CLI::App* group, Action* action);
void AddReportVerb(CLI::App* group, Action* action);
// Those that change it (write_verb.h):
void AddAppendVerb(CLI::App* group, Action* action);
void AddDeleteVerb(CLI::App* group, Action* action);
void AddRestoreVerb(CLI::App* group, Action* action);
void AddTagVerbs(CLI::App* group, Action* action);
void AddUpdateVerb(CLI::App* group, Action* action);
void AddUpsertVerb(CLI::App* group, Action* action);
void AddCompactVerb(CLI::App* group, Action* action);
void AddBranchVerbs(CLI::App* group, Action* action);
void AddCleanupVerb(CLI::App* group, Action* action);
void AddMaintainVerb(CLI::App* group, Action* action);

}  // namespace pilum::cli
