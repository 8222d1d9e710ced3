// pilum table delete: the rows for which a predicate is true.
#include <arrow/compute/initialize.h>

#include "pilum/change/delete_rows.h"
#include "pilum/cli/params.h"
#include "pilum/cli/table/verbs.h"
#include "pilum/cli/table/write_verb.h"

namespace pilum::cli {
namespace {

struct DeleteArgs : WriteArgs {
  std::string where;
  std::vector<std::string> params;
};

Result<int> Delete(const DeleteArgs& args) {
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  PILUM_ASSIGN_OR_RETURN(const Params params, ParseParams(args.params));
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenToChange(args));
  PILUM_ASSIGN_OR_RETURN(const DeletedRows deleted,
                         DeleteRows(opened.table, args.where, OptionsOf(args), opened.ctx(), params));
  return Tell(args, opened.dry.get(),
              {fmt::format("{} deleted", Plural(deleted.rows, "row")), deleted.version, {{"rows", deleted.rows}}, ""});
}

}  // namespace

void AddDeleteVerb(CLI::App* group, Action* action) {
  auto verb = AddWriteVerb<DeleteArgs>(group, "delete", "Deletes the rows for which a predicate is true",
                                       "pilum table delete flights.lance --where 'dep_delay > 600'", action, Delete);
  verb.command->add_option("--where", verb.args->where, "A SQL predicate; 'true' deletes all rows")
      ->required()
      ->type_name("PREDICATE");
  AddParamOption(*verb.command, &verb.args->params);
}

}  // namespace pilum::cli
