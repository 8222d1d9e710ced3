// pilum table update: other values in the rows for which a predicate is true.
#include <arrow/compute/initialize.h>

#include "pilum/change/update_rows.h"
#include "pilum/cli/params.h"
#include "pilum/cli/table/verbs.h"
#include "pilum/cli/table/write_verb.h"

namespace pilum::cli {
namespace {

struct UpdateArgs : WriteArgs {
  std::vector<std::string> sets, params;
  std::string where;
};

Result<std::vector<std::pair<std::string, std::string>>> ValuesOf(const std::vector<std::string>& sets) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& text : sets) {
    const size_t equals = text.find('=');
    if (equals == text.npos || equals == 0 || equals + 1 == text.size()) {
      return UsageError("--set '{}': COLUMN=EXPRESSION is wanted, such as price=price*2 or name=upper(name)", text);
    }
    out.emplace_back(text.substr(0, text.find_last_not_of(' ', equals - 1) + 1), text.substr(equals + 1));
  }
  return out;
}

Result<int> Update(const UpdateArgs& args) {
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  PILUM_ASSIGN_OR_RETURN(const auto values, ValuesOf(args.sets));
  PILUM_ASSIGN_OR_RETURN(const Params params, ParseParams(args.params));
  UpdateOptions how;
  SetMessage(args, &how);
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenToChange(args));
  PILUM_ASSIGN_OR_RETURN(const UpdatedRows updated,
                         UpdateRows(opened.table, values, args.where, how, opened.ctx(), params));
  return Tell(args, opened.dry.get(),
              {fmt::format("{} updated", Plural(updated.rows, "row")), updated.version, {{"rows", updated.rows}}, ""});
}

}  // namespace

void AddUpdateVerb(CLI::App* group, Action* action) {
  auto verb = AddWriteVerb<UpdateArgs>(group, "update", "Gives columns of some rows other values",
                                       "pilum table update flights.lance --set 'dep_delay=0' --where 'dep_delay < 0'",
                                       action, Update);
  verb.command
      ->add_option("--set", verb.args->sets, "COLUMN=EXPRESSION, SQL over the row as it was; again for more columns")
      ->required()
      ->type_name("COLUMN=EXPR")
      ->take_all()
      ->allow_extra_args(false);
  verb.command->add_option("--where", verb.args->where, "Only rows for which this is true (default: all)")
      ->type_name("PREDICATE");
  AddParamOption(*verb.command, &verb.args->params);
}

}  // namespace pilum::cli
