// pilum table …: a look into a Lance table. Reads only.
#include <ctime>

#include <CLI/CLI.hpp>
#include <arrow/type.h>

#include "pilum/cli/common.h"
#include "pilum/cli/open_table.h"
#include "pilum/cli/render.h"
#include "pilum/table/feature_flags.h"
#include "pilum/table/table.h"

namespace pilum::cli {
namespace {

struct TableArgs {
  std::string table;
  VersionOptions version;
  uint64_t number = 20;
  RunOptions run;
};
using Args = std::shared_ptr<TableArgs>;

struct OpenedTable {
  std::unique_ptr<Session> session;
  std::shared_ptr<const Table> table;
};

Result<OpenedTable> Open(const TableArgs& args) {
  OpenedTable out;
  PILUM_ASSIGN_OR_RETURN(out.session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(out.table, OpenTable(args.table, args.version, out.session->ctx()));
  return out;
}

// "2026-11-29 20:51:17 UTC"
std::string TimeText(int64_t ns) {
  const time_t seconds = static_cast<time_t>(ns / 1000000000);
  std::tm tm{};
  char text[32];
  if (::gmtime_r(&seconds, &tm) == nullptr) return "?";
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm));
}

std::string MapText(const std::map<std::string, std::string>& map) {
  std::string out;
  for (const auto& [key, value] : map) out += fmt::format("{}{}={}", out.empty() ? "" : ", ", key, value);
  return out;
}

std::string TransactionText(const Transaction& t) {
  std::string out = t.operation;
  for (const auto& [name, value] : t.facts) out += fmt::format("{} {}={}", out == t.operation ? ":" : ",", name, value);
  if (auto said = t.properties.find("__lance_commit_message"); said != t.properties.end()) {
    out += fmt::format(" \"{}\"", said->second);
  }
  return out;
}

// Lines of "name  value", without those that have nothing to say.
std::string Lines(const std::vector<std::pair<std::string, std::string>>& lines) {
  size_t width = 0;
  for (const auto& [name, value] : lines) width = std::max(width, value.empty() ? 0 : name.size());
  std::string out;
  for (const auto& [name, value] : lines) {
    if (!value.empty()) out += fmt::format("{:<{}}  {}\n", name, width, value);
  }
  return out;
}

std::string FlagsText(uint64_t flags) {
  return flags == 0 ? "" : fmt::format("{} ({})", FeatureFlagNames(flags), flags);
}

Result<int> Show(const TableArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, Open(args));
  const Table& table = *opened.table;
  const Manifest& m = table.manifest();
  const TableTotals t = TotalsOf(m);
  PILUM_ASSIGN_OR_RETURN(const uint64_t rows, table.CountRows(opened.session->ctx()));
  PILUM_ASSIGN_OR_RETURN(auto tags, table.Tags(opened.session->ctx()));
  PILUM_ASSIGN_OR_RETURN(auto branches, table.Branches(opened.session->ctx()));
  PILUM_ASSIGN_OR_RETURN(const uint64_t latest, table.LatestVersion());
  std::string tag_text, branch_text;
  for (const auto& [name, tag] : tags) {
    tag_text += fmt::format("{}{} ({}{})", tag_text.empty() ? "" : ", ", name,
                            tag.branch ? *tag.branch + " " : std::string(), tag.version);
  }
  for (const auto& [name, branch] : branches) branch_text += (branch_text.empty() ? "" : ", ") + name;
  PILUM_RETURN_NOT_OK(
      Print(Lines({{"version", m.version == latest ? fmt::format("{} (the newest)", m.version)
                                                   : fmt::format("{} (the newest is {})", m.version, latest)},
                   {"branch", table.branch()},
                   {"written", TimeText(m.timestamp_ns) + (m.writer.empty() ? "" : " by " + m.writer)},
                   {"rows", Thousands(rows)},
                   {"deleted", t.deleted_rows == 0 ? "" : Thousands(t.deleted_rows)},
                   {"fragments", Thousands(t.fragments)},
                   {"data files", fmt::format("{} ({})", Thousands(t.data_files), HumanBytes(t.data_bytes))},
                   {"file version", m.data_version},
                   {"row ids", m.has_stable_row_ids() ? "stable" : "addresses"},
                   {"flags", FlagsText(m.reader_flags)},
                   {"config", MapText(m.config)},
                   {"metadata", MapText(m.table_metadata)},
                   {"tags", tag_text},
                   {"branches", branch_text}})));
  PILUM_RETURN_NOT_OK(Print("\n"));
  Grid grid({{"column", ""}, {"type", ""}}, GridStyle::ForStdout());
  for (const auto& f : table.schema()->fields()) {
    PILUM_RETURN_NOT_OK(grid.Add({{f->name()}, {f->type()->ToString() + (f->nullable() ? "" : " not null")}}));
  }
  PILUM_RETURN_NOT_OK(grid.Finish());
  return kExitOk;
}

Result<int> Log(const TableArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, Open(args));
  ReadContext& ctx = opened.session->ctx();
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

Result<int> ShowManifest(const TableArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, Open(args));
  const Manifest& m = opened.table->manifest();
  std::string bases;
  for (const BasePath& b : m.base_paths) bases += fmt::format("{}{} {}", bases.empty() ? "" : ", ", b.id, b.path);
  const auto place = [](const std::optional<uint64_t>& at) {
    return at ? fmt::format("in this file, offset {}", *at) : std::string();
  };
  PILUM_RETURN_NOT_OK(
      Print(Lines({{"file", opened.table->listed().path()},
                   {"bytes", Thousands(m.file_size)},
                   {"message", fmt::format("offset {}, {}", m.section.offset, Plural(m.section.size, "byte"))},
                   {"indices", place(m.indices)},
                   {"transaction", place(m.transaction)},
                   {"transaction file", m.transaction_file},
                   {"version", fmt::format("{}", m.version)},
                   {"branch", m.branch.value_or("")},
                   {"written", TimeText(m.timestamp_ns)},
                   {"writer", m.writer},
                   {"readers' flags", FlagsText(m.reader_flags)},
                   {"writers' flags", FlagsText(m.writer_flags)},
                   {"fragments", Thousands(m.fragments.size())},
                   {"highest fragment", m.max_fragment_id ? fmt::format("{}", *m.max_fragment_id) : ""},
                   {"next row id", m.has_stable_row_ids() ? fmt::format("{}", m.next_row_id) : ""},
                   {"base paths", bases}})));
  return kExitOk;
}

std::string FieldsText(const DataFile& file) {
  std::string out;
  for (const int32_t id : file.fields) {
    out += out.empty() ? "" : ",";
    out += id == DataFile::kTombstone ? "-" : fmt::format("{}", id);
  }
  return out;
}

Result<int> ShowFragments(const TableArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, Open(args));
  Grid grid({{"fragment", "", true},
             {"rows", "", true},
             {"deleted", "", true},
             {"file", ""},
             {"version", ""},
             {"bytes", "", true},
             {"fields", ""}},
            GridStyle::ForStdout());
  for (const Fragment& f : opened.table->manifest().fragments) {
    const uint64_t deleted = f.deletions ? f.deletions->num_deleted : 0;
    bool first = true;
    for (const DataFile& file : f.files) {
      const auto once = [&](const std::string& text) { return GridCell{first ? text : ""}; };
      PILUM_RETURN_NOT_OK(grid.Add({once(fmt::format("{}", f.id)),
                                    once(Thousands(f.physical_rows - std::min(f.physical_rows, deleted))),
                                    once(deleted > 0 ? Thousands(deleted) : ""),
                                    {file.path + (file.base_id ? fmt::format(" (base {})", *file.base_id) : "")},
                                    {file.version()},
                                    {file.size > 0 ? Thousands(file.size) : "?"},
                                    {FieldsText(file)}}));
      first = false;
    }
  }
  PILUM_RETURN_NOT_OK(grid.Finish());
  return kExitOk;
}

CLI::App* AddCommand(CLI::App* table, const char* name, const char* help, const char* example, const Args& args,
                     Action* action, Result<int> (*run)(const TableArgs&)) {
  CLI::App* command = table->add_subcommand(name, help);
  command->footer(std::string("Example:\n  ") + example);
  command->add_option("table", args->table, "The table's folder or URI")->required()->type_name("TABLE");
  AddVersionOptions(*command, &args->version);
  AddRunOptions(*command, &args->run);
  command->callback([=] { *action = [=] { return run(*args); }; });
  return command;
}

}  // namespace

void AddTableCommands(CLI::App& app, Action* action) {
  CLI::App* table = app.add_subcommand("table", "Lance tables: versions, manifests, fragments");
  table->require_subcommand(1);
  auto args = std::make_shared<TableArgs>();
  AddCommand(table, "show", "One version: rows, files, columns, tags", "pilum table show flights.lance --version 7",
             args, action, Show);
  AddCommand(table, "log", "One line a version, newest first: when, how many rows, what made it",
             "pilum table log flights.lance -n 5", args, action, Log)
      ->add_option("-n", args->number, "At most this many versions (default: 20)")
      ->type_name("N")
      ->check(WholeNumber());
  AddCommand(table, "manifest", "What the manifest of a version holds, and where", "pilum table manifest flights.lance",
             args, action, ShowManifest);
  AddCommand(table, "fragments", "The fragments of a version and their data files",
             "pilum table fragments flights.lance", args, action, ShowFragments);
}

}  // namespace pilum::cli
