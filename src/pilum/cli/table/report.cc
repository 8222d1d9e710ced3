// pilum table report: the whole of an inspection as one page.
#include "pilum/cli/table/findings.h"
#include "pilum/cli/table/verbs.h"
#include "pilum/inspect/report.h"
#include "pilum/io/object_store.h"
#include "pilum/table/history.h"

namespace pilum::cli {
namespace {

constexpr uint64_t kMostMeasured = 500;  // data files

struct ReportArgs : TableArgs {
  std::string html;
  bool deep = false;
};

std::string NameOf(std::string uri) {
  while (uri.size() > 1 && uri.ends_with('/')) uri.pop_back();
  const std::string name = uri.substr(uri.rfind('/') + 1);
  return name.empty() || name == "." || name == ".." ? uri : name;
}

// Its branch's versions up to the shown one, and what made each in words.
Result<std::vector<ReportVersion>> VersionsOf(const Table& table, const References& refs, const CheckReport& check,
                                              ReadContext& ctx) {
  std::map<uint64_t, std::string> words;
  PILUM_ASSIGN_OR_RETURN(auto history, History::Open(table, 0, ctx));
  while (true) {
    PILUM_ASSIGN_OR_RETURN(auto record, history->Next(ctx));
    if (!record) break;
    words[record->listed.name.version] = record->words;
  }
  std::vector<ReportVersion> out;
  const bool detached = (table.manifest().version & kDetachedBit) != 0;
  for (uint32_t i = 0; i < refs.holders.size(); ++i) {
    const Holder& h = refs.holders[i];
    if (h.branch != table.branch() || h.detached != detached || h.version > table.manifest().version) continue;
    if (detached && h.version != table.manifest().version) continue;
    const auto at = words.find(h.version);
    out.push_back({i, at == words.end() || at->second.empty() ? check.made_by[i] : at->second});
  }
  return out;
}

Result<int> Report(const ReportArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenFor(args));
  ReadContext& ctx = opened.ctx();
  const Table& table = *opened.table;
  const uint64_t version = table.manifest().version;
  CheckInput input;
  PILUM_ASSIGN_OR_RETURN(input.root, ReadOnlyStore::Open(args.table));
  input.table = opened.table;
  input.branch = table.branch();
  input.deep = args.deep;
  References refs;
  PILUM_ASSIGN_OR_RETURN(const CheckReport check, CheckTable(input, &refs, ctx));
  PILUM_ASSIGN_OR_RETURN(const auto space, MakeSpace(refs, table.branch(), version, WallClock()));
  PILUM_ASSIGN_OR_RETURN(const auto indices, table.Indices(ctx));
  ReportData data;
  data.table = NameOf(args.table);
  data.made_at = UtcText(WallClock().time_since_epoch().count() * 1000);
  data.pilum = "Pilum " PILUM_VERSION;
  data.refs = &refs;
  data.space = &space;
  data.check = &check;
  data.manifest = &table.manifest();
  data.indices = &indices;
  if (check.problems == 0) data.advice = Advise(refs, space, table.manifest(), indices);  // see check.cc
  PILUM_ASSIGN_OR_RETURN(data.columns, MeasureColumns(table, kMostMeasured, ctx));
  PILUM_ASSIGN_OR_RETURN(data.versions, VersionsOf(table, refs, check, ctx));
  const std::string page = RenderReport(data);
  if (args.html == "-") {
    PILUM_RETURN_NOT_OK(Print(page));
    return kExitOk;
  }
  PILUM_ASSIGN_OR_RETURN(auto sink, CreateLocalFile(args.html));
  PILUM_RETURN_NOT_OK(sink->Write(page.data(), page.size()));
  PILUM_RETURN_NOT_OK(sink->Close());
  if (args.json) {
    Json j = JsonHead(table);
    j["html"] = args.html;
    j["bytes"] = page.size();
    j["problems"] = check.problems;
    j["findings"] = JsonOf(check.findings);
    j["advice"] = JsonOf(data.advice);
    return PrintJson(j);
  }
  PILUM_RETURN_NOT_OK(Print(fmt::format("{} ({}, {}): open it in a browser\n", args.html, HumanBytes(page.size()),
                                        Plural(check.problems, "problem"))));
  return kExitOk;
}

}  // namespace

void AddReportVerb(CLI::App* group, Action* action) {
  auto verb = AddVerb<ReportArgs>(group, "report",
                                  "All of it as one page: timeline, space, fragments, columns, problems, advice",
                                  "pilum table report flights.lance --html report.html", action, Report);
  verb.command->add_option("--html", verb.args->html, "The page; it needs no network. - is standard output")
      ->required()
      ->type_name("FILE");
  verb.command->add_flag("--deep", verb.args->deep, "Decode all rows of the version, as check --deep does");
}

}  // namespace pilum::cli
