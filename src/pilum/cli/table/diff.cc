// pilum table diff: what is different between two versions.
#include "pilum/cli/table/findings.h"
#include "pilum/cli/table/verbs.h"
#include "pilum/inspect/diff.h"

namespace pilum::cli {
namespace {

struct DiffArgs {
  std::string table, before, after, branch;
  bool json = false;
  RunOptions run;
};

Json ItemsJson(const std::vector<ItemChange>& items) {
  Json out = Json::array();
  for (const ItemChange& c : items) {
    out.push_back({{"change", ChangeName(c.change)},
                   {"name", c.name},
                   {"before", c.change == Change::kAdded ? Json() : Json(c.before)},
                   {"after", c.change == Change::kRemoved ? Json() : Json(c.after)}});
  }
  return out;
}

Json TotalsJson(const Table& table, const TableTotals& t) {
  Json j = JsonHead(table);
  j.erase("table");
  j["written"] = JsonTime(table.manifest().timestamp_ns);
  j["rows"] = t.rows;
  j["deleted_rows"] = t.deleted_rows;
  j["fragments"] = t.fragments;
  j["data_files"] = t.data_files;
  j["data_bytes"] = t.data_bytes;
  return j;
}

Json DiffJson(const DiffArgs& args, const Table& before, const Table& after, const TableDiff& diff) {
  Json j = {{"table", args.table}, {"same", diff.same()}};
  j["before"] = TotalsJson(before, diff.before);
  j["after"] = TotalsJson(after, diff.after);
  j["fields"] = ItemsJson(diff.fields);
  j["config"] = ItemsJson(diff.config);
  j["metadata"] = ItemsJson(diff.metadata);
  j["schema_metadata"] = ItemsJson(diff.schema_metadata);
  j["indices"] = ItemsJson(diff.indices);
  j["other"] = ItemsJson(diff.other);
  j["data_bytes_added"] = diff.bytes_added;
  j["data_bytes_removed"] = diff.bytes_removed;
  j["same_fragments"] = diff.same_fragments;
  j["fragments"] = Json::array();
  for (const FragmentChange& f : diff.fragments) {
    j["fragments"].push_back({{"change", ChangeName(f.change)},
                              {"id", f.id},
                              {"rows", f.rows},
                              {"deleted_rows", f.deleted_rows},
                              {"files_added", f.files_added},
                              {"files_removed", f.files_removed},
                              {"bytes_added", f.bytes_added},
                              {"bytes_removed", f.bytes_removed}});
  }
  return j;
}

Status PrintItems(const char* heading, const std::vector<ItemChange>& items) {
  if (items.empty()) return Status::OK();
  std::string text = fmt::format("\n{}\n", heading);
  for (const ItemChange& c : items) {
    switch (c.change) {
      case Change::kAdded: text += fmt::format("+ {}  {}\n", c.name, c.after); break;
      case Change::kRemoved: text += fmt::format("- {}  {}\n", c.name, c.before); break;
      default: text += fmt::format("~ {}  {} -> {}\n", c.name, c.before, c.after);
    }
  }
  return Print(text);
}

// "+12", "-3", "same".
std::string Signed(uint64_t before, uint64_t after) {
  if (before == after) return "same";
  return after > before ? "+" + Thousands(after - before) : "-" + Thousands(before - after);
}

Status PrintTotals(const Table& before, const Table& after, const TableDiff& d) {
  Grid grid({{"", ""},
             {fmt::format("version {}", before.manifest().version), "", true},
             {fmt::format("version {}", after.manifest().version), "", true},
             {"change", "", true}},
            GridStyle::ForStdout());
  const auto add = [&](const char* name, uint64_t a, uint64_t b) {
    return grid.Add({{name}, {Thousands(a)}, {Thousands(b)}, {Signed(a, b)}});
  };
  PILUM_RETURN_NOT_OK(add("rows", d.before.rows, d.after.rows));
  PILUM_RETURN_NOT_OK(add("deleted rows", d.before.deleted_rows, d.after.deleted_rows));
  PILUM_RETURN_NOT_OK(add("fragments", d.before.fragments, d.after.fragments));
  PILUM_RETURN_NOT_OK(add("data files", d.before.data_files, d.after.data_files));
  PILUM_RETURN_NOT_OK(add("bytes of data", d.before.data_bytes, d.after.data_bytes));
  return grid.Finish();
}

Status PrintFragments(const TableDiff& d) {
  if (d.fragments.empty()) return Status::OK();
  constexpr size_t kMost = 20;
  std::string text = fmt::format("\nfragments ({} the same)\n", Thousands(d.same_fragments));
  for (size_t i = 0; i < d.fragments.size() && i < kMost; ++i) {
    const FragmentChange& f = d.fragments[i];
    const char sign = f.change == Change::kAdded ? '+' : f.change == Change::kRemoved ? '-' : '~';
    text += fmt::format("{} {}  {}", sign, f.id, f.what);
    if (f.bytes_added > 0) text += ", +" + HumanBytes(f.bytes_added);
    if (f.bytes_removed > 0) text += ", -" + HumanBytes(f.bytes_removed);
    text += "\n";
  }
  if (d.fragments.size() > kMost)
    text += fmt::format("… and {} more (--json has all)\n", Thousands(d.fragments.size() - kMost));
  return Print(text);
}

Result<int> Diff(const DiffArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  ReadContext& ctx = session->ctx();
  const auto open = [&](const std::string& version) {
    return OpenTable(args.table, {version, version.find_first_not_of("0123456789") == version.npos ? args.branch : ""},
                     ctx);
  };
  PILUM_ASSIGN_OR_RETURN(auto before, open(args.before));
  PILUM_ASSIGN_OR_RETURN(auto after, open(args.after));
  PILUM_ASSIGN_OR_RETURN(auto old_indices, before->Indices(ctx));
  PILUM_ASSIGN_OR_RETURN(auto new_indices, after->Indices(ctx));
  const TableDiff diff = DiffVersions({before->manifest(), old_indices}, {after->manifest(), new_indices});
  if (args.json) return PrintJson(DiffJson(args, *before, *after, diff));
  PILUM_RETURN_NOT_OK(PrintTotals(*before, *after, diff));
  PILUM_RETURN_NOT_OK(PrintItems("schema", diff.fields));
  PILUM_RETURN_NOT_OK(PrintFragments(diff));
  PILUM_RETURN_NOT_OK(PrintItems("indices", diff.indices));
  PILUM_RETURN_NOT_OK(PrintItems("config", diff.config));
  PILUM_RETURN_NOT_OK(PrintItems("table metadata", diff.metadata));
  PILUM_RETURN_NOT_OK(PrintItems("schema metadata", diff.schema_metadata));
  PILUM_RETURN_NOT_OK(PrintItems("other", diff.other));
  if (diff.same()) PILUM_RETURN_NOT_OK(Print("\nThe same rows, files and settings.\n"));
  return kExitOk;
}

}  // namespace

void AddDiffVerb(CLI::App* group, Action* action) {
  auto args = std::make_shared<DiffArgs>();
  CLI::App* command =
      group->add_subcommand("diff", "What is different between two versions: schema, fragments, rows, config, indices");
  command->footer("Example:\n  pilum table diff flights.lance 3 7");
  command->add_option("table", args->table, "The table's folder or URI")->required()->type_name("TABLE");
  command->add_option("before", args->before, "A version by number, or by the name of a tag")
      ->required()
      ->type_name("V1");
  command->add_option("after", args->after, "Another")->required()->type_name("V2");
  command->add_option("--branch", args->branch, "The branch (default: main); a tag says itself which")
      ->type_name("BRANCH");
  command->add_flag("--json", args->json, "All of it as one JSON object (docs/guides/table_inspection.md)");
  AddRunOptions(*command, &args->run);
  command->callback([=] { *action = [=] { return Diff(*args); }; });
}

}  // namespace pilum::cli
