#include "pilum/cli/table/write_verb.h"

#include <algorithm>

#include "pilum/table/folder/inventory.h"
#include "pilum/table/transaction.h"

namespace pilum::cli {
namespace {

Result<WritableTable> DryTable(std::shared_ptr<const Table> table, const std::shared_ptr<DryLog>& log) {
  PILUM_ASSIGN_OR_RETURN(auto root, ReadOnlyStore::Open(table->uri(), table->options()));
  WritableTable out;
  out.main = out.store = MakeDryStore(root, "", log);
  if (!table->branch().empty()) {
    PILUM_ASSIGN_OR_RETURN(auto branch, ReadOnlyStore::Open(table->store().uri(), table->options()));
    out.store = MakeDryStore(branch, BranchFolder(table->branch()) + "/", log);
  }
  out.table = std::move(table);
  return out;
}

Inventory PutOf(const DryLog& log) {
  Inventory out;
  for (const auto& [path, bytes] : log.put()) out.objects.push_back(ClassifyObject({path, bytes, {}, {}}));
  return out;
}

// "1 deletion file (1.0 kB), 1 transaction (123 B), …"
std::string PutText(const DryLog& log) {
  std::string out;
  for (const KindTotals& t : TotalsByKind(PutOf(log))) {
    out +=
        fmt::format("{}{} ({})", out.empty() ? "" : ", ", Plural(t.count, ObjectKindName(t.kind)), HumanBytes(t.bytes));
  }
  return out.empty() ? "nothing" : out;
}

Json PutJson(const DryLog& log) {
  Json out = Json::array();
  for (const KindTotals& t : TotalsByKind(PutOf(log))) {
    out.push_back({{"kind", ObjectKindKey(t.kind)}, {"files", t.count}, {"bytes", t.bytes}});
  }
  return out;
}

}  // namespace

Result<OpenedToWrite> OpenToChange(const WriteArgs& args) {
  OpenedToWrite out;
  PILUM_ASSIGN_OR_RETURN(out.session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto table, OpenTable(args.table, args.version, out.ctx()));
  if (args.dry_run) {
    out.dry = std::make_shared<DryLog>();
    PILUM_ASSIGN_OR_RETURN(out.table, DryTable(std::move(table), out.dry));
  } else {
    PILUM_ASSIGN_OR_RETURN(out.table, OpenToWrite(std::move(table)));
  }
  return out;
}

Result<std::shared_ptr<ObjectStore>> OpenStoreToWrite(const std::string& uri, std::shared_ptr<DryLog> log) {
  if (!log) return ObjectStore::Open(uri);
  PILUM_ASSIGN_OR_RETURN(auto root, ReadOnlyStore::Open(uri));
  return MakeDryStore(std::move(root), "", std::move(log));
}

void SetMessage(const WriteArgs& args, ChangeOptions* options) {
  if (!args.message.empty()) options->properties[kCommitMessageKey] = args.message;
}

ChangeOptions OptionsOf(const WriteArgs& args) {
  ChangeOptions out;
  SetMessage(args, &out);
  return out;
}

Result<int> Tell(const WriteArgs& args, const DryLog* dry, const Done& done) {
  if (args.json) {
    Json j;
    j["table"] = args.table;
    j["branch"] = args.version.branch.empty() ? Json() : Json(args.version.branch);
    j["version"] = done.version > 0 ? Json(done.version) : Json();
    j["dry_run"] = dry != nullptr;
    j.update(done.facts);
    if (dry != nullptr) {
      j["writes"] = PutJson(*dry);
      j["removes"] = dry->removed();
    }
    return PrintJson(j);
  }
  std::string text = dry != nullptr ? "dry run: " : "";
  text += done.words;
  if (done.version > 0) text += fmt::format(": version {}", done.version);
  text += "\n" + done.more;
  if (dry != nullptr) {
    text += fmt::format("would write {}\n", PutText(*dry));
    for (const std::string& path : dry->removed()) text += fmt::format("would remove {}\n", path);
  }
  PILUM_RETURN_NOT_OK(Print(text));
  return kExitOk;
}

CLI::App* AddWriteCommand(CLI::App* group, const char* name, const char* help, const char* example, bool message,
                          WriteArgs* args) {
  CLI::App* command = group->add_subcommand(name, help);
  command->footer(std::string("Example:\n  ") + example);
  command->add_option("table", args->table, "The table's folder or URI")->required()->type_name("TABLE");
  command->add_option("--branch", args->version.branch, "The branch (default: main)")->type_name("BRANCH");
  command->add_flag("--dry-run", args->dry_run, "Say what would be done, and change nothing");
  if (message) {
    command->add_option("--message", args->message, "Kept with the version, for those who read its history")
        ->type_name("TEXT");
  }
  command->add_flag("--json", args->json, "What was done as one JSON object (docs/guides/table_writing.md)");
  AddRunOptions(*command, &args->run);
  return command;
}

}  // namespace pilum::cli
