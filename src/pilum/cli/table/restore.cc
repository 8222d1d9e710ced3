// pilum table restore: an older version is the newest again.
#include "pilum/change/restore.h"

#include "pilum/cli/table/verbs.h"
#include "pilum/cli/table/write_verb.h"

namespace pilum::cli {
namespace {

struct RestoreArgs : WriteArgs {
  std::string at;
};

Result<int> Restore(const RestoreArgs& given) {
  RestoreArgs args = given;
  PILUM_RETURN_NOT_OK(TakeVersion(args.at, &args.version));
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenToChange(args));
  const uint64_t from = opened.table.table->manifest().version;
  const TableTotals totals = TotalsOf(opened.table.table->manifest());
  args.version.branch = opened.table.table->branch();
  PILUM_ASSIGN_OR_RETURN(const Committed committed, RestoreTable(opened.table, OptionsOf(args), opened.ctx()));
  const uint64_t rows = totals.rows;
  return Tell(args, opened.dry.get(),
              {fmt::format("restored version {}, {}", from, Plural(rows, "row")),
               committed.version,
               {{"restored", from}, {"rows", rows}},
               ""});
}

}  // namespace

void AddRestoreVerb(CLI::App* group, Action* action) {
  auto verb = AddWriteVerb<RestoreArgs>(group, "restore", "Makes an older version the newest again, as a new version",
                                        "pilum table restore flights.lance 7", action, Restore);
  verb.command->add_option("version", verb.args->at, "A version by number, or by the name of a tag")
      ->required()
      ->type_name("N|TAG");
}

}  // namespace pilum::cli
