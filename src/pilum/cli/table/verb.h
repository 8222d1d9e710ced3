// What the verbs of `pilum table` share: their common options, opening the version they look at, JSON and small texts.
// A verb is one room beside this one: a struct of its arguments, a function that runs, and Add…Verb, which verbs.h lists.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "pilum/cli/common.h"
#include "pilum/cli/open_table.h"
#include "pilum/cli/render.h"
#include "pilum/table/table.h"

namespace pilum::cli {

using Json = nlohmann::ordered_json;

// Arguments of every verb; those that have more derive from it.
struct TableArgs {
  std::string table;
  VersionOptions version;
  bool json = false;
  RunOptions run;
};

struct OpenedTable {
  std::unique_ptr<Session> session;
  std::shared_ptr<const Table> table;
  ReadContext& ctx() const { return session->ctx(); }
  const Manifest& manifest() const { return table->manifest(); }
};
Result<OpenedTable> OpenFor(const TableArgs& args);

// A version given as an argument of its own, in the place of --version. kUsage where both are.
Status TakeVersion(const std::string& at, VersionOptions* version);

CLI::App* AddVerbCommand(CLI::App* group, const char* name, const char* help, const char* example, TableArgs* args);

template <typename Args>
struct Verb {
  CLI::App* command;
  std::shared_ptr<Args> args;  // for options of its own
};
template <typename Args>
Verb<Args> AddVerb(CLI::App* group, const char* name, const char* help, const char* example, Action* action,
                   Result<int> (*run)(const Args&)) {
  auto args = std::make_shared<Args>();
  CLI::App* command = AddVerbCommand(group, name, help, example, args.get());
  command->callback([=] { *action = [=] { return run(*args); }; });
  return {command, args};
}

// Indented, with a line end; bytes that are no UTF-8 are replaced. For verbs: `return PrintJson(j)`.
Result<int> PrintJson(const Json& json);
// null for a missing value.
template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}
// The version that a verb looks at: "table", "branch" (null: main), "version".
Json JsonHead(const Table& table);
Json JsonOf(const RowSet& ids);           // [[0, 3], [5, 5]]: first and last of each run
std::string JsonTime(int64_t ns);         // "2026-11-29T20:51:17.123456789Z", of ns since 1970, UTC
std::string TimeText(int64_t ns);         // "2026-11-29 20:51:17 UTC"
std::string RangesText(const RowSet& s);  // "0-3, 5"; "none"

// Lines of "name  value", without those whose value is empty; further lines of a value stand below its first.
std::string Lines(const std::vector<std::pair<std::string, std::string>>& lines);
std::string MapText(const std::map<std::string, std::string>& map);  // "a=1, b=2"
std::string FlagsText(uint64_t flags);                               // "deletion files (1)"; nothing for 0

}  // namespace pilum::cli
