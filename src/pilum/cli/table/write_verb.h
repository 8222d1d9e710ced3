// What the verbs of `pilum table` that change a table share: the only ones that are handed a store which can write, and
// only where it is no dry run. A dry run is the same work in a store in which writes come to nothing (dry_store.h).
#pragma once

#include <memory>
#include <string>

#include "pilum/change/change.h"
#include "pilum/cli/table/dry_store.h"
#include "pilum/cli/table/verb.h"

namespace pilum::cli {

// Arguments of every such verb; of `version` only those have that say so.
struct WriteArgs : TableArgs {
  bool dry_run = false;
  std::string message;
};

struct OpenedToWrite {
  std::unique_ptr<Session> session;
  WritableTable table;
  std::shared_ptr<DryLog> dry;  // null: it is meant
  ReadContext& ctx() const { return session->ctx(); }
};
// The newest version of the branch, or that which `version` names.
Result<OpenedToWrite> OpenToChange(const WriteArgs& args);
// A store of main, of a table that need not be there. `log`: none where it is meant.
Result<std::shared_ptr<ObjectStore>> OpenStoreToWrite(const std::string& uri, std::shared_ptr<DryLog> log);
// With the message of --message.
ChangeOptions OptionsOf(const WriteArgs& args);
void SetMessage(const WriteArgs& args, ChangeOptions* options);

// What was done, as it is told.
struct Done {
  std::string words;  // "5 rows deleted": after "would be done: " in a dry run
  uint64_t version = 0;
  Json facts = Json::object();  // in JSON: "rows"
  std::string more;             // lines below
};
// "5 rows deleted: version 8", and of a dry run which files it would write and remove; the exit code.
Result<int> Tell(const WriteArgs& args, const DryLog* dry, const Done& done);

// A command with --branch, --dry-run, --message, --json and the run's options.
CLI::App* AddWriteCommand(CLI::App* group, const char* name, const char* help, const char* example, bool message,
                          WriteArgs* args);

template <typename Args>
Verb<Args> AddWriteVerb(CLI::App* group, const char* name, const char* help, const char* example, Action* action,
                        Result<int> (*run)(const Args&), bool message = true) {
  auto args = std::make_shared<Args>();
  CLI::App* command = AddWriteCommand(group, name, help, example, message, args.get());
  command->callback([=] { *action = [=] { return run(*args); }; });
  return {command, args};
}

}  // namespace pilum::cli
