// pilum table check: is everything there, and does it open?
#include "pilum/cli/table/findings.h"
#include "pilum/cli/table/verbs.h"

namespace pilum::cli {
namespace {

struct CheckArgs : TableArgs {
  bool deep = false;
};

// The version that was asked for; where the newest does not open, the youngest before it that does, and why.
Result<CheckInput> OpenToCheck(const CheckArgs& args, ReadContext& ctx) {
  CheckInput input;
  input.deep = args.deep;
  input.branch = args.version.branch == "main" ? "" : args.version.branch;
  PILUM_ASSIGN_OR_RETURN(input.root, ReadOnlyStore::Open(args.table));
  auto table = OpenTable(args.table, args.version, ctx);
  if (table.ok()) {
    input.table = *table;
    input.branch = input.table->branch();
    return input;
  }
  switch (KindOf(table.status())) {
    case ErrorKind::kCorrupt:
    case ErrorKind::kUnsupported: break;
    case ErrorKind::kNotFound:
      if (args.version.version.empty()) break;
      [[fallthrough]];
    default: return table.status();
  }
  input.opening = table.status();
  if (!args.version.version.empty()) return input;
  const std::string folder = input.branch.empty() ? "" : BranchFolder(input.branch) + "/";
  PILUM_ASSIGN_OR_RETURN(auto branch, ReadOnlyStore::Open(args.table + (folder.empty() ? "" : "/" + folder)));
  PILUM_ASSIGN_OR_RETURN(auto listed, ListVersions(*branch, ctx));
  for (size_t i = listed.attached.size(); i > 0 && !input.table; --i) {
    TableRef ref;
    ref.branch = input.branch;
    ref.version = listed.attached[i - 1].name.version;
    auto older = Table::Open(args.table, ref, {}, ctx);
    if (older.ok()) input.table = *older;
  }
  return input;
}

Json CheckJson(const CheckArgs& args, const CheckInput& input, const CheckReport& report,
               const std::vector<Advice>& advice) {
  Json j;
  j["table"] = args.table;
  j["branch"] = input.branch.empty() ? Json() : Json(input.branch);
  j["version"] = input.table ? Json(input.table->manifest().version) : Json();
  j["deep"] = report.deep;
  j["problems"] = report.problems;
  j["notes"] = report.notes;
  j["versions"] = {{"all", report.versions}, {"readable", report.readable}};
  j["checked"] = {
      {"fragments", report.fragments}, {"files", report.files}, {"bytes", report.bytes}, {"rows", report.rows}};
  j["findings"] = JsonOf(report.findings);
  j["advice"] = JsonOf(advice);
  return j;
}

std::string FindingText(const Finding& f) {
  std::string text = fmt::format("- {}: {}\n", f.where, f.what);
  if (!f.fix.empty()) text += "    " + f.fix + "\n";
  return text;
}

Status PrintFindings(const CheckReport& report) {
  std::string text;
  for (const auto severity : {Finding::Severity::kProblem, Finding::Severity::kNote}) {
    const uint64_t n = severity == Finding::Severity::kProblem ? report.problems : report.notes;
    if (n == 0) continue;
    text += Plural(n, severity == Finding::Severity::kProblem ? "problem" : "note") + "\n";
    for (const Finding& f : report.findings) {
      if (f.severity == severity) text += FindingText(f);
    }
    text += "\n";
  }
  return Print(text);
}

std::string Summary(const CheckInput& input, const CheckReport& report) {
  std::string text = fmt::format("{} of {} open.", Thousands(report.readable), Plural(report.versions, "version"));
  if (input.table) {
    text +=
        fmt::format(" Version {}: {}, {} ({}), {} {}.", input.table->manifest().version,
                    Plural(report.fragments, "fragment"), Plural(report.files, "data file"), HumanBytes(report.bytes),
                    Plural(report.rows, "row"), report.deep ? "decoded" : "counted; --deep decodes them");
  }
  return (report.problems == 0 ? "Sound. " : "") + text + "\n";
}

Result<int> Check(const CheckArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  ReadContext& ctx = session->ctx();
  PILUM_ASSIGN_OR_RETURN(const CheckInput input, OpenToCheck(args, ctx));
  References refs;
  PILUM_ASSIGN_OR_RETURN(const CheckReport report, CheckTable(input, &refs, ctx));
  std::vector<Advice> advice;
  if (input.table && report.problems == 0) {  // what is damaged is mended first: old versions may be what mends it
    PILUM_ASSIGN_OR_RETURN(const auto space,
                           MakeSpace(refs, input.branch, input.table->manifest().version, WallClock()));
    PILUM_ASSIGN_OR_RETURN(const auto indices, input.table->Indices(ctx));
    advice = Advise(refs, space, input.table->manifest(), indices);
  }
  if (args.json) {
    PILUM_RETURN_NOT_OK(PrintJson(CheckJson(args, input, report, advice)).status());
  } else {
    PILUM_RETURN_NOT_OK(PrintFindings(report));
    PILUM_RETURN_NOT_OK(Print(Summary(input, report)));
    PILUM_RETURN_NOT_OK(PrintAdvice(args.table, advice));
  }
  return report.problems > 0 ? kExitError : kExitOk;
}

}  // namespace

void AddCheckVerb(CLI::App* group, Action* action) {
  auto verb = AddVerb<CheckArgs>(group, "check",
                                 "Is everything there that the table names, and does it open? Problems: exit code 1",
                                 "pilum table check flights.lance --deep", action, Check);
  verb.command->add_flag("--deep", verb.args->deep, "Decode all rows of the version");
}

}  // namespace pilum::cli
