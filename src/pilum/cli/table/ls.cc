// pilum table ls: what lies in the table's folder.
#include <algorithm>
#include <set>

#include "pilum/cli/table/findings.h"
#include "pilum/cli/table/verbs.h"

namespace pilum::cli {
namespace {

struct LsArgs : TableArgs {
  bool files = false;
};

Json FileJson(const TableObject& o) {
  Json j = {{"path", o.path}, {"kind", ObjectKindKey(o.kind)}, {"bytes", o.size}, {"written", JsonTime(o.written)}};
  j["branch"] = o.branch.empty() ? Json() : Json(o.branch);
  j["what"] = o.note.empty() ? Json() : Json(o.note);
  return j;
}

bool IsOdd(const TableObject& o) { return o.kind == ObjectKind::kStray || o.kind == ObjectKind::kTemporary; }

FileSum SumOf(const Inventory& inventory) {
  FileSum sum;
  for (const TableObject& o : inventory.objects) sum.Add(o);
  return sum;
}

Result<int> PrintAsJson(const std::string& table, const Inventory& inventory, bool files) {
  Json j;
  j["table"] = table;
  j["total"] = JsonOf(SumOf(inventory));
  j["kinds"] = Json::array();
  for (const KindTotals& t : TotalsByKind(inventory)) {
    j["kinds"].push_back({{"kind", ObjectKindKey(t.kind)},
                          {"files", t.count},
                          {"bytes", t.bytes},
                          {"median", t.median},
                          {"largest", t.largest},
                          {"largest_path", t.largest_path}});
  }
  j["strays"] = Json::array();
  for (const TableObject& o : inventory.objects) {
    if (IsOdd(o)) j["strays"].push_back(FileJson(o));
    if (files) j["files"].push_back(FileJson(o));
  }
  return PrintJson(j);
}

Status PrintKinds(const Inventory& inventory) {
  Grid grid(
      {{"kind", ""}, {"files", "", true}, {"bytes", "", true}, {"median", "", true}, {"largest", "", true}, {"", ""}},
      GridStyle::ForStdout());
  for (const KindTotals& t : TotalsByKind(inventory)) {
    PILUM_RETURN_NOT_OK(grid.Add({{std::string(ObjectKindName(t.kind))},
                                  {Thousands(t.count)},
                                  {HumanBytes(t.bytes)},
                                  {HumanBytes(t.median)},
                                  {HumanBytes(t.largest)},
                                  {t.largest_path, true}}));
  }
  const FileSum sum = SumOf(inventory);
  PILUM_RETURN_NOT_OK(grid.Add({{"all"}, {Thousands(sum.files)}, {HumanBytes(sum.bytes)}, {}, {}, {}}));
  return grid.Finish();
}

Status PrintFiles(const Inventory& inventory) {
  Grid grid({{"file", ""}, {"kind", ""}, {"bytes", "", true}, {"written", ""}}, GridStyle::ForStdout());
  for (const TableObject& o : inventory.objects) {
    PILUM_RETURN_NOT_OK(grid.Add({{o.path},
                                  {std::string(ObjectKindName(o.kind))},
                                  {Thousands(o.size)},
                                  {TimeText(o.written.time_since_epoch().count() * 1000)}}));
  }
  return grid.Finish();
}

Status PrintOdd(const Inventory& inventory) {
  bool any = false;
  for (const TableObject& o : inventory.objects) {
    if (!IsOdd(o)) continue;
    if (!any) PILUM_RETURN_NOT_OK(Print("\nnot in use\n"));
    any = true;
    PILUM_RETURN_NOT_OK(Print(fmt::format("- {} ({}): {}\n", o.path, HumanBytes(o.size), o.note)));
  }
  return Status::OK();
}

// Only what the version needs that was asked for.
Result<Inventory> NeededBy(const TableArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto surveyed, Survey(args));
  const Table& table = *surveyed.opened.table;
  Inventory out;
  const auto holder = surveyed.refs.FindHolder(table.branch(), table.manifest().version);
  for (uint32_t o = 0; holder && o < surveyed.refs.inventory.objects.size(); ++o) {
    if (surveyed.refs.IsHeldBy(o, *holder)) out.objects.push_back(surveyed.refs.inventory.objects[o]);
  }
  return out;
}

// Of a folder that holds no table itself: the first few below it.
Status NoTableIn(const std::string& folder, const Inventory& inventory) {
  std::set<std::string> tables;
  for (const TableObject& o : inventory.objects) {
    if (const size_t at = o.path.find("/_versions/"); at != std::string::npos) tables.insert(o.path.substr(0, at));
  }
  std::string below;
  constexpr size_t kMost = 3;
  size_t n = 0;
  for (const std::string& table : tables) {
    if (n++ < kMost) below += (below.empty() ? "; below it are " : ", ") + table;
  }
  if (n > kMost) below += fmt::format(" and {} more", n - kMost);
  return NotFoundError("{}: no file in it is one of a Lance table{}", folder, below);
}

Result<Inventory> ListAll(const TableArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto store, ReadOnlyStore::Open(args.table));
  PILUM_ASSIGN_OR_RETURN(Inventory all, ListInventory(*store, session->ctx()));
  const auto stray = [](const TableObject& o) { return o.kind == ObjectKind::kStray; };
  if (std::all_of(all.objects.begin(), all.objects.end(), stray)) return NoTableIn(args.table, all);
  return all;
}

Result<int> Ls(const LsArgs& args) {
  const bool all = args.version.version.empty() && args.version.branch.empty();
  PILUM_ASSIGN_OR_RETURN(const Inventory inventory, all ? ListAll(args) : NeededBy(args));
  if (args.json) return PrintAsJson(args.table, inventory, args.files);
  if (args.files) PILUM_RETURN_NOT_OK(PrintFiles(inventory));
  if (!args.files) PILUM_RETURN_NOT_OK(PrintKinds(inventory));
  PILUM_RETURN_NOT_OK(PrintOdd(inventory));
  return kExitOk;
}

}  // namespace

void AddLsVerb(CLI::App* group, Action* action) {
  auto verb = AddVerb<LsArgs>(group, "ls",
                              "The folder by kind: how many files, bytes, strays. With --version: what that one needs",
                              "pilum table ls flights.lance", action, Ls);
  verb.command->add_flag("--files", verb.args->files, "Each file by name");
}

}  // namespace pilum::cli
