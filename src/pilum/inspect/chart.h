// Charts as SVG text, coloured by the CSS classes of the page that they are in, and the escaping of what is shown. Called
// by report.cc. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace pilum {

// Safe between tags and in quoted attributes; what is no UTF-8 or cannot be shown is replaced.
std::string HtmlText(std::string_view text);

// One panel: x is the place in a list, y a number from 0 up.
class Chart {
 public:
  using Label = std::function<std::string(double)>;
  // `points`: how many x there are; `most`: the largest y.
  Chart(std::string title, size_t points, double most, int height, Label y_label);

  // Between `bottom` and `top` (bottom empty: 0), as steps: each value holds for the whole width of its x.
  void AddArea(std::string_view css_class, const std::vector<double>& bottom, const std::vector<double>& top);
  void AddBar(std::string_view css_class, size_t x, double bottom, double top);
  void AddXLabel(size_t x, std::string_view text);
  // What is told when one points at an x. At most kMostHovers are kept.
  void AddHover(size_t x, std::string_view text);
  std::string Finish() const;  // <svg>…</svg>

  static constexpr size_t kMostHovers = 500;

 private:
  double X(double x) const;
  double Y(double y) const;
  const std::string title_;
  const size_t points_;
  const int height_;
  const double top_;  // of the y axis
  const Label y_label_;
  double step_ = 1;  // between the lines of the y axis
  std::string body_, labels_, hovers_;
};

}  // namespace pilum
