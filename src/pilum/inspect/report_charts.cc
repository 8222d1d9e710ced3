// The charts of the report: versions over time, fragments, columns.
#include <algorithm>

#include "pilum/base/amounts.h"
#include "pilum/inspect/chart.h"
#include "pilum/inspect/report.h"

namespace pilum {
namespace {

std::string BytesLabel(double y) { return HumanBytes(static_cast<uint64_t>(y)); }
std::string CountLabel(double y) {
  if (y >= 1e9) return fmt::format("{:g} B", y / 1e9);
  if (y >= 1e6) return fmt::format("{:g} M", y / 1e6);
  return Thousands(static_cast<uint64_t>(y));
}

const Holder& HolderOf(const ReportData& d, size_t i) { return d.refs->holders[d.versions[i].holder]; }

// About `n` places of [0, size), the first and the last among them.
std::vector<size_t> Spread(size_t size, size_t n) {
  std::vector<size_t> out;
  if (size == 0) return out;
  n = std::min(n, size);
  for (size_t i = 0; i < n; ++i) out.push_back(n == 1 ? 0 : i * (size - 1) / (n - 1));
  return out;
}

struct Series {
  std::vector<double> rows, needed, all;  // `all`: what was on disk by then and still is
};

Series SeriesOf(const ReportData& d) {
  Series s;
  double written = 0;
  for (size_t i = 0; i < d.versions.size(); ++i) {
    const Holder& h = HolderOf(d, i);
    written += static_cast<double>(h.new_bytes);
    s.rows.push_back(static_cast<double>(h.totals.rows));
    s.needed.push_back(static_cast<double>(h.bytes));
    s.all.push_back(std::max(written, static_cast<double>(h.bytes)));
  }
  return s;
}

void AddVersionLabels(const ReportData& d, Chart* chart) {
  for (const size_t i : Spread(d.versions.size(), 7)) chart->AddXLabel(i, fmt::format("v{}", HolderOf(d, i).version));
}

std::string Key(std::initializer_list<std::pair<std::string_view, std::string_view>> entries) {
  std::string out = "<div class=\"key\">";
  for (const auto& [css, text] : entries) out += fmt::format("<span><i class=\"{}\"></i>{}</span>", css, text);
  return out + "</div>\n";
}

double Most(const std::vector<double>& v) { return v.empty() ? 0 : *std::max_element(v.begin(), v.end()); }

struct Bar {
  std::string label, hover;
  double live = 0, deleted = 0;  // rows, or fragments
};

// One a fragment while they can be told apart, else how many there are of which size.
std::vector<Bar> FragmentBars(const Manifest& m, bool* by_size) {
  constexpr size_t kApart = 160;
  std::vector<Bar> bars;
  *by_size = m.fragments.size() > kApart;
  if (!*by_size) {
    for (const Fragment& f : m.fragments) {
      const uint64_t deleted = f.deletions ? std::min(f.deletions->num_deleted, f.physical_rows) : 0;
      uint64_t bytes = 0;
      for (const DataFile& file : f.files) bytes += file.size;
      bars.push_back({fmt::format("{}", f.id),
                      fmt::format("fragment {}: {}, {} deleted, {} in {}", f.id, Plural(f.physical_rows, "row"),
                                  Thousands(deleted), HumanBytes(bytes), Plural(f.files.size(), "file")),
                      static_cast<double>(f.physical_rows - deleted), static_cast<double>(deleted)});
    }
    return bars;
  }
  uint64_t most = 1;
  for (const Fragment& f : m.fragments) most = std::max(most, f.physical_rows);
  for (uint64_t from = 1; from <= most; from *= 4) {
    Bar bar;
    for (const Fragment& f : m.fragments) {
      bar.live += (f.physical_rows >= from || from == 1) && (f.physical_rows < from * 4);
    }
    bar.label = Thousands(from);
    bar.hover = fmt::format("{} to {} rows: {}", Thousands(from), Thousands(from * 4 - 1),
                            Plural(static_cast<uint64_t>(bar.live), "fragment"));
    bars.push_back(std::move(bar));
  }
  return bars;
}

}  // namespace

std::string RenderTimeline(const ReportData& d) {
  const Series s = SeriesOf(d);
  Chart rows("Rows of each version", s.rows.size(), Most(s.rows), 170, CountLabel);
  Chart bytes("Bytes of each version", s.needed.size(), Most(s.all), 210, BytesLabel);
  rows.AddArea("line", {}, s.rows);
  bytes.AddArea("beside", s.needed, s.all);
  bytes.AddArea("needed", {}, s.needed);
  for (size_t i = 0; i < d.versions.size(); ++i) {
    const Holder& h = HolderOf(d, i);
    const std::string head =
        fmt::format("version {}, {}\n{}", h.version, UtcText(h.timestamp_ns), d.versions[i].made_by);
    rows.AddHover(i, fmt::format("{} · {}", head, Plural(h.totals.rows, "row")));
    bytes.AddHover(i, fmt::format("{} · needs {}, beside it {}", head, HumanBytes(h.bytes),
                                  HumanBytes(static_cast<uint64_t>(s.all[i] - s.needed[i]))));
  }
  AddVersionLabels(d, &rows);
  AddVersionLabels(d, &bytes);
  std::string out = "<section><h2>Timeline</h2>\n";
  if (!d.versions.empty()) {
    out += fmt::format("<p>{} from {} to {}.</p>\n", Plural(d.versions.size(), "version"),
                       HtmlText(UtcText(HolderOf(d, 0).timestamp_ns)),
                       HtmlText(UtcText(HolderOf(d, d.versions.size() - 1).timestamp_ns)));
  }
  out += "<div class=\"panel\"><h3>Rows</h3>" + rows.Finish() + "</div>\n";
  out += "<div class=\"panel\"><h3>Bytes</h3>" +
         Key({{"c-needed", "needed by the version"},
              {"c-beside", "written before it, still on disk, and not needed by it"}}) +
         bytes.Finish() + "</div>\n";
  return out + "</section>\n";
}

std::string RenderFragments(const ReportData& d) {
  const Manifest& m = *d.manifest;
  if (m.fragments.empty()) return {};
  bool by_size = false;
  const auto bars = FragmentBars(m, &by_size);
  double most = 0;
  for (const Bar& b : bars) most = std::max(most, b.live + b.deleted);
  Chart chart("Fragments", bars.size(), most, 190, CountLabel);
  for (size_t i = 0; i < bars.size(); ++i) {
    chart.AddBar("needed", i, 0, bars[i].live);
    if (bars[i].deleted > 0) chart.AddBar("nobody", i, bars[i].live, bars[i].live + bars[i].deleted);
    chart.AddHover(i, bars[i].hover);
  }
  for (const size_t i : Spread(bars.size(), 12)) chart.AddXLabel(i, bars[i].label);
  std::string out = fmt::format("<section><h2>Fragments</h2>\n<p>{}: {}.</p>\n", Plural(m.fragments.size(), "fragment"),
                                by_size ? "how many there are from so many rows up" : "rows of each, by id");
  if (!by_size) out += Key({{"c-needed", "rows"}, {"c-nobody", "deleted rows, still in the files"}});
  return out + chart.Finish() + "</section>\n";
}

std::string RenderColumns(const ReportData& d) {
  const MeasuredColumns& m = d.columns;
  if (m.columns.empty()) return {};
  std::vector<const ColumnBytes*> columns;
  uint64_t all = 0;
  for (const ColumnBytes& c : m.columns) columns.push_back(&c), all += c.bytes;
  std::stable_sort(columns.begin(), columns.end(),
                   [](const ColumnBytes* a, const ColumnBytes* b) { return a->bytes > b->bytes; });
  constexpr size_t kMost = 100;
  const uint64_t largest = std::max<uint64_t>(1, columns[0]->bytes);
  std::string out = fmt::format(
      "<section><h2>Columns</h2>\n<p>Bytes on disk, {}.</p>\n<div class=\"bars\">\n",
      m.measured == m.files ? fmt::format("in all of {}", Plural(m.files, "data file"))
                            : fmt::format("measured in {} of {}", Thousands(m.measured), Plural(m.files, "data file")));
  for (size_t i = 0; i < columns.size() && i < kMost; ++i) {
    const ColumnBytes& c = *columns[i];
    out += fmt::format(
        "<span class=\"name\">{}</span><span class=\"type\">{}</span><span class=\"bar\"><div "
        "style=\"width:{:.2f}%\"></div></span>"
        "<span class=\"n\">{} · {}</span>\n",
        HtmlText(c.name), HtmlText(c.type), 100.0 * static_cast<double>(c.bytes) / static_cast<double>(largest),
        HumanBytes(c.bytes), Share(c.bytes, all));
  }
  out += "</div>\n";
  if (columns.size() > kMost) out += fmt::format("<p>And {} more.</p>\n", Thousands(columns.size() - kMost));
  return out + "</section>\n";
}

}  // namespace pilum
