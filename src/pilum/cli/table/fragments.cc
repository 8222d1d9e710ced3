// pilum table fragments: the fragments of a version, their rows, files and bytes.
#include <algorithm>
#include <set>

#include "pilum/cli/layouts.h"
#include "pilum/cli/table/verb.h"
#include "pilum/cli/table/verbs.h"
#include "pilum/table/statistics.h"

namespace pilum::cli {
namespace {

// What of a version's fields a fragment has no file for: names of top-level columns, all of whose fields lack.
std::vector<std::string> Missing(const Manifest& m, const Fragment& f) {
  std::set<int32_t> held;
  for (const DataFile& file : f.files) held.insert(file.fields.begin(), file.fields.end());
  std::map<int32_t, int32_t> top;  // id -> of its column
  std::map<int32_t, bool> has;     // of columns: is any field there
  std::vector<const WireField*> columns;
  for (const WireField& field : m.schema.fields) {
    const auto parent = top.find(field.parent_id);
    const int32_t column = parent == top.end() ? field.id : parent->second;
    top[field.id] = column;
    if (column == field.id) columns.push_back(&field);
    has[column] |= held.contains(field.id);
  }
  std::vector<std::string> out;
  for (const WireField* c : columns) {
    if (!has[c->id]) out.push_back(c->name);
  }
  return out;
}

uint64_t Deleted(const Fragment& f) { return f.deletions ? f.deletions->num_deleted : 0; }
uint64_t Live(const Fragment& f) { return f.physical_rows - std::min(f.physical_rows, Deleted(f)); }
uint64_t Bytes(const Fragment& f) {
  uint64_t sum = 0;
  for (const DataFile& file : f.files) sum += file.size;
  return sum;
}

std::string Versions(const Fragment& f) {
  std::set<std::string> versions;
  for (const DataFile& file : f.files) versions.insert(file.version());
  return fmt::format("{}", fmt::join(versions, ", "));
}

Json ToJson(const Manifest& m, const Fragment& f) {
  Json j = {{"id", f.id},
            {"rows", Live(f)},
            {"physical_rows", f.physical_rows},
            {"deleted_rows", Deleted(f)},
            {"small", f.physical_rows < TableStatistics::kSmall},
            {"data_files", f.files.size()},
            {"bytes", Bytes(f)}};
  j["file_versions"] = Json::array();
  std::set<std::string> versions;
  for (const DataFile& file : f.files) versions.insert(file.version());
  for (const std::string& v : versions) j["file_versions"].push_back(v);
  j["deletion_file"] = f.deletions ? Json(f.deletions->Path(f.id)) : Json();
  j["missing_columns"] = Missing(m, f);
  return j;
}

Result<int> ShowFragments(const TableArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenFor(args));
  const Manifest& m = opened.manifest();
  if (args.json) {
    Json j = JsonHead(*opened.table);
    j["fragments"] = Json::array();
    for (const Fragment& f : m.fragments) j["fragments"].push_back(ToJson(m, f));
    return PrintJson(j);
  }
  const bool any_missing =
      std::any_of(m.fragments.begin(), m.fragments.end(), [&](const Fragment& f) { return !Missing(m, f).empty(); });
  const bool any_deleted =
      std::any_of(m.fragments.begin(), m.fragments.end(), [](const Fragment& f) { return f.deletions.has_value(); });
  std::vector<GridColumn> heads = {{"fragment", "", true}, {"rows", "", true}};
  if (any_deleted) heads.insert(heads.end(), {{"deleted", "", true}, {"of it", "", true}});
  heads.insert(heads.end(), {{"files", "", true}, {"version", ""}, {"bytes", "", true}, {"bytes/row", "", true}});
  if (any_missing) heads.push_back({"columns it lacks", ""});
  Grid grid(std::move(heads), GridStyle::ForStdout());
  for (const Fragment& f : m.fragments) {
    std::vector<GridCell> row = {{fmt::format("{}", f.id)}, {Thousands(Live(f))}};
    if (any_deleted) {
      const uint64_t deleted = Deleted(f);
      row.push_back({!f.deletions ? "" : deleted > 0 ? Thousands(deleted) : "?"});
      row.push_back({deleted == 0 ? ""
                                  : fmt::format("{:.3g} %", 100.0 * static_cast<double>(deleted) /
                                                                static_cast<double>(f.physical_rows))});
    }
    row.insert(row.end(), {{Thousands(f.files.size())},
                           {Versions(f)},
                           {Bytes(f) > 0 ? HumanBytes(Bytes(f)) : "?"},
                           {PerRow(Bytes(f), f.physical_rows)}});
    if (any_missing) row.push_back({fmt::format("{}", fmt::join(Missing(m, f), ", "))});
    PILUM_RETURN_NOT_OK(grid.Add(std::move(row)));
  }
  PILUM_RETURN_NOT_OK(grid.Finish());
  const TableTotals t = TotalsOf(m);
  PILUM_RETURN_NOT_OK(Print(fmt::format("{}, {} in {}, {}\n", Plural(t.fragments, "fragment"), Plural(t.rows, "row"),
                                        Plural(t.data_files, "data file"), HumanBytes(t.data_bytes))));
  return kExitOk;
}

}  // namespace

void AddFragmentsVerb(CLI::App* group, Action* action) {
  AddVerb<TableArgs>(group, "fragments", "The fragments of a version: rows, deleted rows, files, bytes",
                     "pilum table fragments flights.lance", action, ShowFragments);
}

}  // namespace pilum::cli
