#include <arrow/type.h>

#include "pilum/query/plan.h"
#include "pilum/source/field_path.h"

namespace pilum {
namespace {

using Node = BoundPredicate::Node;

constexpr size_t kUnitsShown = 10, kNotesShown = 10, kPartsShown = 20, kProbeText = 200;

std::string Join(const std::vector<FieldPath>& paths) {
  std::string out;
  for (const auto& p : paths) {
    out += (out.empty() ? "" : ", ") + WithoutStoredJson(p).ToString() + (IsStoredJson(p) ? " as JSONB" : "");
  }
  return out.empty() ? "nothing" : out;
}

std::string Cut(std::string text) {
  if (text.size() <= kProbeText) return text;
  size_t end = kProbeText;  // not inside a code point
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

void AppendTree(const Node& node, size_t depth, std::string* out) {
  const std::string indent(2 + 2 * depth, ' ');
  switch (node.kind) {
    case Node::Kind::kAnd: *out += indent + "AND\n"; break;
    case Node::Kind::kOr: *out += indent + "OR\n"; break;
    case Node::Kind::kNot: *out += indent + "NOT\n"; break;
    case Node::Kind::kConst:
      *out += indent + (!node.constant ? "NULL" : *node.constant ? "TRUE" : "FALSE") + "\n";
      break;
    case Node::Kind::kLeaf:
      *out += fmt::format("{}{}   [{}", indent, Cut(node.text),
                          node.probe ? "probe: " + Cut(node.probe->ToString()) : std::string("recheck only"));
      for (const Probe& probe : node.more_probes) *out += ", " + Cut(probe.ToString());
      *out += "]\n";
      break;
  }
  for (const auto& child : node.children) AppendTree(*child, depth + 1, out);
}

std::string PlanText(const Plan& plan) {
  std::string out = fmt::format("source   {}\n", plan.snapshot->name());
  if (const auto* where = plan.query.where.get()) {
    out += fmt::format("query    {}\n", Cut(where->ToString()));
    AppendTree(where->root(), 0, &out);
    out += fmt::format("read 1   {} (of rows that might match)\n", Join(plan.filter_columns));
  }
  out += fmt::format("read 2   {} (of rows that match)\n", Join(plan.output_columns));
  if (plan.filter_covers_output)
    out += "         read 1 holds all of read 2: one read, unless an index makes rows certain\n";
  if (plan.query.limit || plan.query.offset > 0) {
    out += fmt::format("limit    {}, offset {}\n", plan.query.limit ? fmt::to_string(*plan.query.limit) : "none",
                       plan.query.offset);
  }
  if (!plan.options.use_index) out += "index    not used: asked not to\n";
  return out;
}

std::string UnitsText(const QueryProgress& progress) {
  std::string out;
  size_t shown = 0;
  for (const auto& u : progress.units) {
    if (u.kind != UnitOutcome::Kind::kRead) continue;
    if (++shown > kUnitsShown) break;
    out += fmt::format("         {}: {} of {} rows possible, {} certain\n", u.unit->name(), u.candidates,
                       u.unit->num_rows(), u.certain);
  }
  if (shown > kUnitsShown) out += fmt::format("         … and {} more\n", progress.counts.units_read - kUnitsShown);
  return out;
}

std::string OrderText(const EvalOrder& order) {
  auto percent = [](double share) {
    return share > 0 && share < 0.001 ? fmt::format("{:.2g} %", share * 100) : fmt::format("{:.1f} %", share * 100);
  };
  std::string out;
  size_t shown = 0;
  for (const Node* chain : order.chains()) {
    out += fmt::format("{}{}, from first to last\n", out.empty() ? "order    " : "         ",
                       chain->kind == Node::Kind::kAnd ? "AND" : "OR");
    for (uint32_t i : order.PartsOf(*chain)) {
      if (++shown > kPartsShown) return out + "           …\n";
      const Node& child = *chain->children[i];
      const EvalOrder::Part& part = order.part(child);
      const bool guess = part.expected_from == EvalOrder::From::kGuess;
      out += fmt::format("           {}   {} expected ({}), cost {:.3g}; asked of {} rows, true for {}\n",
                         Cut(child.text), percent(part.expected.is_true), guess ? "a guess" : "by statistics",
                         child.cost, part.asked, part.is_true);
    }
  }
  return out;
}

// Which indexes were asked, of the units looked at.
std::string SectionsText(const QueryProgress& progress) {
  std::map<std::string, uint64_t> all;
  for (const UnitOutcome& u : progress.units) {
    for (const auto& [family, sections] : u.unit->index_sections()) all[family] += sections;
  }
  std::string out;
  for (const auto& [family, sections] : all) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", family, sections);
  return out.empty() ? out : fmt::format("index    sections read: {}\n", out);
}

std::string CountsText(const Plan& plan, const QueryProgress& progress, const ReadContext& ctx) {
  const QueryCounts& c = progress.counts;
  std::string out = progress.ended ? "" : "so far\n";
  if (plan.query.where) {
    out +=
        fmt::format("prune    {} of {} units dropped, {} looked at\n", c.units_pruned, c.units, progress.units.size());
    out += fmt::format("narrow   {} of {} rows possible, {} certain, in {} units read\n", c.rows_candidate,
                       c.rows_total, c.rows_certain, c.units_read);
    out += SectionsText(progress);
    out += UnitsText(progress);
    if (progress.order) out += OrderText(*progress.order);
    out += fmt::format("recheck  {} rows\n", c.rows_rechecked);
    out += fmt::format("match    {} rows\n", c.rows_matched);
  } else {
    out += fmt::format("scan     {} rows in {} units, {} read\n", c.rows_total, c.units, c.units_read);
  }
  out += fmt::format("return   {} rows\n", c.rows_returned);
  if (ctx.stats) {
    out += fmt::format("io       {} opens, {} requests, {} bytes\n", ctx.stats->opens.load(),
                       ctx.stats->requests.load(), ctx.stats->bytes.load());
    std::string decoded;
    for (const auto& [column, values] : ctx.stats->decoded())
      decoded += fmt::format("{}{} {}", decoded.empty() ? "" : ", ", column, values);
    out += fmt::format("decode   {} values{}{}\n", ctx.stats->total_decoded(), decoded.empty() ? "" : ": ", decoded);
  }
  for (size_t i = 0; i < c.notes.size() && i < kNotesShown; ++i) out += fmt::format("note     {}\n", c.notes[i]);
  if (c.notes.size() > kNotesShown) out += fmt::format("note     … and {} more\n", c.notes.size() - kNotesShown);
  return out;
}

}  // namespace

std::string ExplainText(const Plan& plan, const QueryProgress& progress, const ReadContext& ctx) {
  return PlanText(plan) + CountsText(plan, progress, ctx);
}

std::string ProgressText(const QueryProgress& progress, const ReadContext& ctx) {
  const QueryCounts& c = progress.counts;
  std::string out = fmt::format("{} of {} units pruned, {} read, {} rows returned", c.units_pruned, c.units,
                                c.units_read, c.rows_returned);
  if (ctx.stats)
    out += fmt::format(", {} values decoded, {} bytes fetched", ctx.stats->total_decoded(), ctx.stats->bytes.load());
  return out;
}

}  // namespace pilum
