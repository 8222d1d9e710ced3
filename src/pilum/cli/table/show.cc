// pilum table show: one version, its rows, files, columns, tags.
#include <arrow/type.h>

#include "pilum/cli/table/verb.h"
#include "pilum/cli/table/verbs.h"

namespace pilum::cli {
namespace {

Result<int> Show(const TableArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenFor(args));
  const Table& table = *opened.table;
  const Manifest& m = table.manifest();
  const TableTotals t = TotalsOf(m);
  PILUM_ASSIGN_OR_RETURN(const uint64_t rows, table.CountRows(opened.ctx()));
  PILUM_ASSIGN_OR_RETURN(auto tags, table.Tags(opened.ctx()));
  PILUM_ASSIGN_OR_RETURN(auto branches, table.Branches(opened.ctx()));
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

}  // namespace

void AddShowVerb(CLI::App* group, Action* action) {
  AddVerb<TableArgs>(group, "show", "One version: rows, files, columns, tags",
                     "pilum table show flights.lance --version 7", action, Show);
}

}  // namespace pilum::cli
