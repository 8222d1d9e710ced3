// The tables of the report: who needs what is on disk, what a clean-up would free, the newest versions.
#include <algorithm>

#include "pilum/base/amounts.h"
#include "pilum/inspect/chart.h"
#include "pilum/inspect/report.h"

namespace pilum {
namespace {

std::string Row(std::initializer_list<std::string> texts, std::initializer_list<std::string> numbers) {
  std::string out = "<tr>";
  for (const std::string& t : texts) out += "<td>" + t + "</td>";
  for (const std::string& n : numbers) out += "<td class=\"n\">" + n + "</td>";
  return out + "</tr>\n";
}

std::string Head(std::initializer_list<std::string_view> texts, std::initializer_list<std::string_view> numbers) {
  std::string out = "<div class=\"scroll\"><table><tr>";
  for (const std::string_view t : texts) out += fmt::format("<th>{}</th>", t);
  for (const std::string_view n : numbers) out += fmt::format("<th class=\"n\">{}</th>", n);
  return out + "</tr>\n";
}

std::string NeederText(const References& refs, const Needer& n) {
  switch (n.who) {
    case Needer::Who::kShown: return "this version";
    case Needer::Who::kNewest: return "the newest version, " + VersionsText(refs, n.holders);
    case Needer::Who::kTag: return "tag " + n.name + ", version " + VersionsText(refs, n.holders);
    case Needer::Who::kBranch: return "branch " + n.name + ", versions " + VersionsText(refs, n.holders);
    case Needer::Who::kNewer: return "newer versions, " + VersionsText(refs, n.holders);
    case Needer::Who::kDetached: return "detached versions";
    default: return "older versions, " + VersionsText(refs, n.holders);
  }
}

struct Part {
  std::string_view css, text;
  uint64_t bytes = 0;
};

std::string Stack(const std::vector<Part>& parts, uint64_t all) {
  std::string bar = "<div class=\"stack\">", key = "<div class=\"key\">";
  for (const Part& p : parts) {
    if (p.bytes == 0) continue;
    bar += fmt::format("<div class=\"{}\" style=\"flex:{}\"></div>", p.css, p.bytes);
    key += fmt::format("<span><i class=\"{}\"></i>{}: {} ({})</span>", p.css, p.text, HumanBytes(p.bytes),
                       Share(p.bytes, all));
  }
  return bar + "</div>\n" + key + "</div>\n";
}

std::string RenderCleanups(const ReportData& d) {
  const auto& plans = d.space->cleanups;
  if (plans.empty()) return {};
  if (!plans[0].refused.empty()) {
    return "<div class=\"panel\"><h3>Clean-up</h3><p>None would remove anything: " + HtmlText(plans[0].refused) +
           ".</p></div>\n";
  }
  std::string out = "<div class=\"panel\"><h3>A clean-up of versions …; what stays is needed by nobody, too</h3>" +
                    Head({"", "call"}, {"frees", "versions", "files", "stays"});
  for (const CleanupPlan& plan : plans) {
    out += Row({HtmlText(PolicyText(plan.policy)), "<code>" + HtmlText(PolicyCall(plan)) + "</code>"},
               {HumanBytes(plan.bytes), Thousands(plan.versions.size()), Thousands(plan.goes.size()),
                HumanBytes(plan.stays_bytes)});
  }
  return out + "</table></div></div>\n";
}

}  // namespace

std::string RenderSpace(const ReportData& d) {
  const SpaceReport& s = *d.space;
  uint64_t nobody = 0, shown = 0;
  for (const FileSum& sum : s.unneeded) nobody += sum.bytes;
  if (!s.needers.empty()) shown = s.needers[0].needs.bytes;
  const uint64_t others = s.all.bytes - std::min(s.all.bytes, shown + nobody + s.bookkeeping.bytes);
  std::string out = fmt::format("<section><h2>On disk</h2>\n<p>{} in {}, its branches with it.</p>\n",
                                HumanBytes(s.all.bytes), Plural(s.all.files, "file"));
  out += Stack({{"c-needed", "this version", shown},
                {"c-beside", "only other versions", others},
                {"c-nobody", "nobody", nobody},
                {"c-book", "tags, branches, hints", s.bookkeeping.bytes}},
               s.all.bytes);
  out += Head({"needed by"}, {"files", "bytes", "nobody else"});
  for (const Needer& n : s.needers) {
    out += Row({HtmlText(NeederText(*d.refs, n))},
               {Thousands(n.needs.files), HumanBytes(n.needs.bytes), HumanBytes(n.only.bytes)});
  }
  for (const Unneeded why : kUnneeded) {
    const FileSum& sum = s.unneeded[static_cast<size_t>(why)];
    if (sum.files > 0) out += Row({HtmlText(UnneededText(why))}, {Thousands(sum.files), HumanBytes(sum.bytes), ""});
  }
  return out + "</table></div>\n" + RenderCleanups(d) + "</section>\n";
}

std::string RenderVersions(const ReportData& d) {
  constexpr size_t kMost = 60;
  std::string out = "<section><h2>Versions</h2>\n";
  if (d.versions.size() > kMost)
    out += fmt::format("<p>The newest {} of {}.</p>\n", kMost, Thousands(d.versions.size()));
  out += Head({"version", "written", "what made it"}, {"rows", "data files", "brought", "needs"});
  for (size_t i = d.versions.size(); i > 0 && d.versions.size() - i < kMost; --i) {
    const Holder& h = d.refs->holders[d.versions[i - 1].holder];
    std::string name = fmt::format("{}", h.version);
    for (const std::string& tag : h.tags) name += " · " + HtmlText(tag);
    if (!h.status.ok()) {
      out += Row({name, "", HtmlText("cannot be read: " + h.status.message())}, {"", "", "", ""});
      continue;
    }
    out +=
        Row({name, HtmlText(UtcText(h.timestamp_ns)), HtmlText(d.versions[i - 1].made_by)},
            {Thousands(h.totals.rows), Thousands(h.totals.data_files), HumanBytes(h.new_bytes), HumanBytes(h.bytes)});
  }
  return out + "</table></div></section>\n";
}

}  // namespace pilum
