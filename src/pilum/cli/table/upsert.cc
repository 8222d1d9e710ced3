// pilum table upsert: rows of files matched with the table's by key: those that match are updated, the others added.
#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>

#include "pilum/change/merge_rows.h"
#include "pilum/cli/progress.h"
#include "pilum/cli/table/inputs.h"
#include "pilum/cli/table/verbs.h"
#include "pilum/cli/table/write_verb.h"

namespace pilum::cli {
namespace {

struct UpsertArgs : WriteArgs {
  std::vector<std::string> inputs, on;
  bool only_new = false, only_matched = false, delete_others = false;
  InputOptions input;
};

Result<MergeOptions> MergeOptionsOf(const UpsertArgs& args) {
  MergeOptions out;
  SetMessage(args, &out);
  out.on = args.on;
  if (args.only_new && args.only_matched) return UsageError("--only-new and --only-matched: give one of them");
  out.matched = args.only_new ? WhenMatched::kKeep : WhenMatched::kUpdate;
  out.insert = !args.only_matched;
  out.delete_others = args.delete_others;
  return out;
}

Result<int> Upsert(const UpsertArgs& args) {
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  PILUM_ASSIGN_OR_RETURN(const MergeOptions how, MergeOptionsOf(args));
  PILUM_ASSIGN_OR_RETURN(auto reading, ToIngestOptions(args.input));
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenToChange(args));
  reading.known_schema = opened.table.table->schema();
  MergedRows merged;
  {
    PILUM_ASSIGN_OR_RETURN(auto rows, OpenInputs(args.inputs, reading, opened.ctx()));
    Progress progress("upserting");
    rows = WithProgress(std::move(rows), &progress);
    PILUM_ASSIGN_OR_RETURN(merged, MergeRows(opened.table, *rows, how, opened.ctx()));
  }
  Done done;
  done.words = fmt::format("{} inserted, {} updated", Plural(merged.inserted, "row"), Thousands(merged.updated));
  if (args.delete_others) done.words += fmt::format(", {} deleted", Thousands(merged.deleted));
  done.version = merged.version;
  done.facts = {{"inserted", merged.inserted}, {"updated", merged.updated}, {"deleted", merged.deleted}};
  return Tell(args, opened.dry.get(), done);
}

}  // namespace

void AddUpsertVerb(CLI::App* group, Action* action) {
  auto verb = AddWriteVerb<UpsertArgs>(group, "upsert", "Adds rows of files, or updates those that have their keys",
                                       "pilum table upsert flights.lance today.parquet --on id", action, Upsert);
  UpsertArgs& args = *verb.args;
  CLI::App& command = *verb.command;
  command.add_option("file", args.inputs, "Parquet, CSV, JSON lines, Arrow IPC or Lance files; - is standard input")
      ->required()
      ->type_name("FILE");
  command.add_option("--on", args.on, "The key: columns that together tell a row (default: the table's primary key)")
      ->type_name("COLUMN,…")
      ->delimiter(',');
  command.add_flag("--only-new", args.only_new, "Rows whose key is there stay as they are");
  command.add_flag("--only-matched", args.only_matched, "Rows whose key is not there are passed over");
  command.add_flag("--delete-others", args.delete_others, "Rows of the table whose key is not in the files go");
  AddInputOptions(command, &args.input);
}

}  // namespace pilum::cli
