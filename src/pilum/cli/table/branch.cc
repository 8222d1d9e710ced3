// pilum table branch: lines of versions beside main, made, taken away, listed.
#include "pilum/change/branches.h"

#include "pilum/cli/table/verbs.h"
#include "pilum/cli/table/write_verb.h"

namespace pilum::cli {
namespace {

struct BranchArgs : WriteArgs {
  std::string name;
};

Result<int> Create(const BranchArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenToChange(args));
  const Table& from = *opened.table.table;
  PILUM_ASSIGN_OR_RETURN(const Committed made, CreateBranch(opened.table, args.name, true, opened.ctx()));
  Done done;
  done.words = fmt::format("branch {} begins at version {}{}", args.name, from.manifest().version,
                           from.branch().empty() ? "" : " of branch " + from.branch());
  done.version = made.version;
  done.facts = {{"created", args.name}, {"from_version", from.manifest().version}};
  return Tell(args, opened.dry.get(), done);
}

Result<int> Delete(const BranchArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenToChange(args));
  if (opened.dry) {  // so that no empty folder is taken for one that it emptied
    const Table& t = *opened.table.table;
    PILUM_ASSIGN_OR_RETURN(auto root, ReadOnlyStore::Open(t.uri(), t.options()));
    opened.table.main = MakeDryStore(std::move(root), "", opened.dry, "dry-run://" + t.uri());
  }
  PILUM_RETURN_NOT_OK(DeleteBranch(opened.table, args.name, opened.ctx()));
  return Tell(args, opened.dry.get(),
              {fmt::format("branch {} is gone, with its versions", args.name), 0, {{"deleted", args.name}}, ""});
}

Result<int> List(const TableArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenFor(args));
  PILUM_ASSIGN_OR_RETURN(const auto branches, opened.table->Branches(opened.ctx()));
  if (args.json) {
    Json j;
    j["table"] = args.table;
    j["branches"] = Json::array();
    for (const auto& [name, branch] : branches) {
      j["branches"].push_back({{"branch", name},
                               {"parent", OrNull(branch.parent)},
                               {"parent_version", branch.parent_version},
                               {"created_at", JsonTime(branch.created_at * 1000000000)},
                               {"metadata", branch.metadata}});
    }
    return PrintJson(j);
  }
  Grid grid({{"branch", ""}, {"begins at", "", true}, {"of", ""}, {"created", ""}}, GridStyle::ForStdout());
  for (const auto& [name, branch] : branches) {
    PILUM_RETURN_NOT_OK(grid.Add({{name},
                                  {fmt::format("{}", branch.parent_version)},
                                  {branch.parent.value_or("main")},
                                  {TimeText(branch.created_at * 1000000000), true}}));
  }
  PILUM_RETURN_NOT_OK(grid.Finish());
  return kExitOk;
}

}  // namespace

void AddBranchVerbs(CLI::App* group, Action* action) {
  CLI::App* branch = group->add_subcommand("branch", "Lines of versions beside main");
  branch->require_subcommand(1);
  branch->footer("Example:\n  pilum table branch create flights.lance dev --version 7");
  auto create =
      AddWriteVerb<BranchArgs>(branch, "create", "Begins a branch at a version",
                               "pilum table branch create flights.lance dev --version 7", action, Create, false);
  create.command->add_option("name", create.args->name, "The branch")->required()->type_name("NAME");
  create.command
      ->add_option("--version", create.args->version.version,
                   "Where it begins: a number or a tag (default: the newest)")
      ->type_name("N|TAG");
  auto gone = AddWriteVerb<BranchArgs>(branch, "delete", "Takes a branch away, with its versions",
                                       "pilum table branch delete flights.lance dev", action, Delete, false);
  gone.command->add_option("name", gone.args->name, "The branch")->required()->type_name("NAME");
  AddVerb<TableArgs>(branch, "list", "All branches, and where they began", "pilum table branch list flights.lance",
                     action, List);
}

}  // namespace pilum::cli
