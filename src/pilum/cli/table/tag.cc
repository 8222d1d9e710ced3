// pilum table tag: names of versions, made, moved, taken away, listed.
#include "pilum/change/tags.h"

#include "pilum/cli/table/verbs.h"
#include "pilum/cli/table/write_verb.h"

namespace pilum::cli {
namespace {

struct TagArgs : WriteArgs {
  std::string name;
};

Result<int> TellOf(const TagArgs& args, const OpenedToWrite& opened, const std::string& words) {
  return Tell(args, opened.dry.get(),
              {words, 0, {{"tag", args.name}, {"tagged_version", opened.table.table->manifest().version}}, ""});
}

std::string Place(const OpenedToWrite& opened) {
  const Table& t = *opened.table.table;
  return fmt::format("version {}{}", t.manifest().version, t.branch().empty() ? "" : " of branch " + t.branch());
}

Result<int> Create(const TagArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenToChange(args));
  PILUM_RETURN_NOT_OK(CreateTag(opened.table, args.name, opened.ctx()));
  return TellOf(args, opened, fmt::format("tag {} names {}", args.name, Place(opened)));
}

Result<int> Update(const TagArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenToChange(args));
  PILUM_RETURN_NOT_OK(MoveTag(opened.table, args.name, opened.ctx()));
  return TellOf(args, opened, fmt::format("tag {} names {} now", args.name, Place(opened)));
}

Result<int> Delete(const TagArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenToChange(args));
  PILUM_RETURN_NOT_OK(DeleteTag(opened.table, args.name, opened.ctx()));
  return Tell(args, opened.dry.get(),
              {fmt::format("tag {} is gone; its version stays", args.name), 0, {{"tag", args.name}}, ""});
}

Result<int> List(const TableArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenFor(args));
  PILUM_ASSIGN_OR_RETURN(const auto tags, opened.table->Tags(opened.ctx()));
  if (args.json) {
    Json j;
    j["table"] = args.table;
    j["tags"] = Json::array();
    for (const auto& [name, tag] : tags) {
      j["tags"].push_back({{"tag", name},
                           {"branch", OrNull(tag.branch)},
                           {"version", tag.version},
                           {"created_at", tag.created_at.empty() ? Json() : Json(tag.created_at)},
                           {"updated_at", tag.updated_at.empty() ? Json() : Json(tag.updated_at)},
                           {"metadata", tag.metadata}});
    }
    return PrintJson(j);
  }
  Grid grid({{"tag", ""}, {"version", "", true}, {"branch", ""}, {"updated", ""}}, GridStyle::ForStdout());
  for (const auto& [name, tag] : tags) {
    PILUM_RETURN_NOT_OK(grid.Add({{name},
                                  {fmt::format("{}", tag.version)},
                                  {tag.branch.value_or("main")},
                                  {tag.updated_at.substr(0, 19), true}}));
  }
  PILUM_RETURN_NOT_OK(grid.Finish());
  return kExitOk;
}

void AddName(const Verb<TagArgs>& verb, bool version) {
  verb.command->add_option("name", verb.args->name, "The tag")->required()->type_name("TAG");
  if (!version) return;
  verb.command
      ->add_option("--version", verb.args->version.version,
                   "The version that it names: a number, or another tag "
                   "(default: the newest)")
      ->type_name("N|TAG");
}

}  // namespace

void AddTagVerbs(CLI::App* group, Action* action) {
  CLI::App* tag = group->add_subcommand("tag", "Names of versions, which a clean-up spares");
  tag->require_subcommand(1);
  tag->footer("Example:\n  pilum table tag create flights.lance january --version 7");
  AddName(AddWriteVerb<TagArgs>(tag, "create", "Names a version",
                                "pilum table tag create flights.lance january --version 7", action, Create, false),
          true);
  AddName(AddWriteVerb<TagArgs>(tag, "update", "Lets a tag name another version",
                                "pilum table tag update flights.lance january", action, Update, false),
          true);
  AddName(AddWriteVerb<TagArgs>(tag, "delete", "Takes a tag away; its version stays until a clean-up",
                                "pilum table tag delete flights.lance january", action, Delete, false),
          false);
  AddVerb<TableArgs>(tag, "list", "All tags, and the versions that they name", "pilum table tag list flights.lance",
                     action, List);
}

}  // namespace pilum::cli
