#include "pilum/inspect/report.h"

#include "pilum/base/amounts.h"
#include "pilum/inspect/chart.h"

namespace pilum {
namespace {

const Holder& Shown(const ReportData& d) { return d.refs->holders[d.space->shown]; }

std::string Tile(std::string_view css_class, const std::string& number, const std::string& what) {
  return fmt::format("<div class=\"tile {}\"><b>{}</b><span>{}</span></div>\n", css_class, HtmlText(number),
                     HtmlText(what));
}

std::string RenderTiles(const ReportData& d) {
  const Holder& shown = Shown(d);
  const TableTotals& t = shown.totals;
  uint64_t freed = 0;
  for (const CleanupPlan& plan : d.space->cleanups) freed = std::max(freed, plan.bytes);
  const uint64_t problems = d.check->problems;
  std::string out = "<div class=\"tiles\">\n";
  out += Tile("", Thousands(t.rows), t.deleted_rows == 0 ? "rows" : "rows, " + Thousands(t.deleted_rows) + " deleted");
  out += Tile("", Thousands(t.fragments), t.fragments == 1 ? "fragment" : "fragments");
  out += Tile("", Thousands(d.versions.size()), d.versions.size() == 1 ? "version" : "versions");
  out += Tile("", HumanBytes(d.space->all.bytes), "on disk in " + Plural(d.space->all.files, "file"));
  out += Tile("", HumanBytes(shown.bytes), "needed by this version");
  out += Tile(freed * 2 > d.space->all.bytes ? "warm" : "", HumanBytes(freed), "a clean-up could free");
  out += Tile(problems > 0 ? "bad" : "good", Thousands(problems), problems == 1 ? "problem" : "problems");
  return out + "</div>\n";
}

std::string RenderFindings(const ReportData& d) {
  constexpr size_t kMost = 200;
  std::string out = "<section><h2>Problems and advice</h2>\n";
  size_t shown = 0;
  std::string cards;
  for (const Finding& f : d.check->findings) {
    if (f.severity != Finding::Severity::kProblem || ++shown > kMost) continue;
    cards += fmt::format("<li class=\"problem\"><b>{}</b>: {}{}</li>\n", HtmlText(f.where), HtmlText(f.what),
                         f.fix.empty() ? "" : "<small>" + HtmlText(f.fix) + "</small>");
  }
  if (d.check->problems == 0) {
    out += fmt::format("<p class=\"fine\">Sound: everything that version {} names is there and {}.</p>\n",
                       Shown(d).version, d.check->deep ? "decodes" : "opens");
  } else if (shown > kMost) {
    out += fmt::format("<p>The first {} of {}.</p>\n", kMost, Plural(shown, "problem"));
  }
  for (const Advice& a : d.advice) {
    std::string how = a.verb.empty() ? "" : "<br><code>pilum table " + HtmlText(a.verb) + "</code>";
    if (!a.call.empty()) how += "<br><code>" + HtmlText(a.call) + "</code>";
    cards += fmt::format("<li class=\"advice\">{}{}</li>\n", HtmlText(a.what), how);
  }
  for (const Finding& f : d.check->findings) {
    if (f.severity != Finding::Severity::kNote || f.code == "index_behind" || ++shown > kMost) continue;
    cards += fmt::format("<li><b>{}</b>: {}</li>\n", HtmlText(f.where), HtmlText(f.what));
  }
  if (!cards.empty()) out += "<ul class=\"cards\">\n" + cards + "</ul>\n";
  return out + "</section>\n";
}

std::string RenderIndices(const ReportData& d) {
  if (d.indices->empty()) return {};
  std::string out =
      "<section><h2>Indices</h2>\n<div class=\"scroll\"><table><tr><th>name</th><th>kind</th><th>of</th>"
      "<th class=\"n\">fragments covered</th><th class=\"n\">bytes</th></tr>\n";
  for (const TableIndex& index : *d.indices) {
    std::string of;
    for (const int32_t id : index.fields) {
      std::string name = fmt::format("field {}", id);
      for (const WireField& field : d.manifest->schema.fields) name = field.id == id ? field.name : name;
      of += (of.empty() ? "" : ", ") + name;
    }
    const auto live = LiveCoverage(index, *d.indices, *d.manifest);
    const auto bytes = index.total_bytes();
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                       HtmlText(index.name), HtmlText(index.kind), HtmlText(of),
                       live.ok() && *live ? fmt::format("{} of {}", Thousands((*live)->size()),
                                                        Thousands(d.manifest->fragments.size()))
                                          : "not told",
                       bytes ? HumanBytes(*bytes) : "not told");
  }
  return out + "</table></div></section>\n";
}

}  // namespace

std::string RenderReport(const ReportData& d) {
  const Holder& shown = Shown(d);
  const std::string title = HtmlText(d.table);
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      // No request of any kind, not even for an icon.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src "
      "data:\">"
      "<link rel=\"icon\" href=\"data:,\"><title>" +
      title + "</title><style>" + ReportStyle() + "</style></head>\n<body><main>\n";
  out += fmt::format("<header><h1>{}</h1><p>Version {}{}{}{}</p></header>\n", title, shown.version,
                     shown.branch.empty() ? "" : " of branch " + HtmlText(shown.branch),
                     ", written " + HtmlText(UtcText(shown.timestamp_ns)),
                     shown.writer.empty() ? "" : " by " + HtmlText(shown.writer));
  out += RenderTiles(d);
  out += RenderFindings(d);
  out += RenderTimeline(d);
  out += RenderSpace(d);
  out += RenderFragments(d);
  out += RenderColumns(d);
  out += RenderIndices(d);
  out += RenderVersions(d);
  out += fmt::format("<p class=\"foot\">Made by {}, {}. Nothing was written to the table.</p>\n", HtmlText(d.pilum),
                     HtmlText(d.made_at));
  return out + "</main></body></html>\n";
}

}  // namespace pilum
