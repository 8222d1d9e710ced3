// pilum table log: one line a version.
#include "pilum/cli/table/verb.h"
#include "pilum/cli/table/verbs.h"

namespace pilum::cli {
namespace {

struct LogArgs : TableArgs {
  uint64_t number = 20;
};

std::string TransactionText(const Transaction& t) {
  std::string out = t.operation;
  for (const auto& [name, value] : t.facts) out += fmt::format("{} {}={}", out == t.operation ? ":" : ",", name, value);
  if (auto said = t.properties.find("__lance_commit_message"); said != t.properties.end()) {
    out += fmt::format(" \"{}\"", said->second);
  }
  return out;
}

Result<int> Log(const LogArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenFor(args));
  ReadContext& ctx = opened.ctx();
  PILUM_ASSIGN_OR_RETURN(auto versions, opened.table->Versions(ctx));
  Grid grid({{"version", "", true}, {"written", ""}, {"rows", "", true}, {"files", "", true}, {"what", ""}},
            GridStyle::ForStdout());
  uint64_t shown = 0;
  for (auto v = versions.rbegin(); v != versions.rend() && shown < args.number; ++v) {
    if (v->version > opened.table->manifest().version) continue;
    ++shown;
    TableRef ref;
    ref.branch = opened.table->branch();
    ref.version = v->version;
    PILUM_ASSIGN_OR_RETURN(auto at, Table::Open(args.table, ref, {}, ctx));
    auto transaction = at->ReadTransaction(ctx);
    const std::string what = !transaction.ok() ? "its transaction is damaged"
                             : *transaction    ? TransactionText(**transaction)
                                               : "not told";
    PILUM_RETURN_NOT_OK(grid.Add({{fmt::format("{}", v->version)},
                                  {TimeText(v->timestamp_ns)},
                                  {Thousands(v->totals.rows)},
                                  {Thousands(v->totals.data_files)},
                                  {what}}));
  }
  PILUM_RETURN_NOT_OK(grid.Finish());
  return kExitOk;
}

}  // namespace

void AddLogVerb(CLI::App* group, Action* action) {
  auto verb = AddVerb<LogArgs>(group, "log", "One line a version, newest first: when, how many rows, what made it",
                               "pilum table log flights.lance -n 5", action, Log);
  verb.command->add_option("-n", verb.args->number, "At most this many versions (default: 20)")
      ->type_name("N")
      ->check(WholeNumber());
}

}  // namespace pilum::cli
