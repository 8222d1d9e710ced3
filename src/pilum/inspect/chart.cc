#include "pilum/inspect/chart.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "pilum/base/utf8.h"

namespace pilum {
namespace {

constexpr double kWidth = 1000, kLeft = 76, kRight = 10, kTop = 10, kBottom = 26;
constexpr size_t kMostSteps = 2000;  // of an area: more cannot be seen

// 1, 2 or 5 times a power of ten, so that about four of them reach `most`.
double NiceStep(double most) {
  if (!(most > 0)) return 1;
  const double rough = most / 4, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double m : {1.0, 2.0, 5.0}) {
    if (rough <= m * power) return std::max(1.0, m * power);
  }
  return std::max(1.0, 10 * power);
}

}  // namespace

std::string HtmlText(std::string_view text) {
  const bool is_utf8 = IsUtf8(text);
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !is_utf8) ? '?' : c;
    }
  }
  return out;
}

Chart::Chart(std::string title, size_t points, double most, int height, Label y_label)
    : title_(std::move(title)),
      points_(std::max<size_t>(points, 1)),
      height_(height),
      top_(std::ceil(std::max(most, 1.0) / NiceStep(most)) * NiceStep(most)),
      y_label_(std::move(y_label)),
      step_(NiceStep(most)) {}

double Chart::X(double x) const { return kLeft + (kWidth - kLeft - kRight) * x / static_cast<double>(points_); }
double Chart::Y(double y) const { return kTop + (height_ - kTop - kBottom) * (1 - std::min(y, top_) / top_); }

void Chart::AddArea(std::string_view css_class, const std::vector<double>& bottom, const std::vector<double>& top) {
  if (top.empty()) return;
  const size_t every = (top.size() + kMostSteps - 1) / kMostSteps;
  std::string path = fmt::format("M{:.1f} {:.1f}", X(0), Y(bottom.empty() ? 0 : bottom[0]));
  for (size_t i = 0; i < top.size(); i += every) {
    // Of what is drawn as one step the highest, so that no peak is lost.
    const size_t end = std::min(i + every, top.size());
    const double highest =
        *std::max_element(top.begin() + static_cast<ptrdiff_t>(i), top.begin() + static_cast<ptrdiff_t>(end));
    path += fmt::format("V{:.1f}H{:.1f}", Y(highest), X(static_cast<double>(end)));
  }
  for (size_t end = top.size(); end > 0;) {
    const size_t i = (end - 1) / every * every;
    path += fmt::format("V{:.1f}H{:.1f}", Y(bottom.empty() ? 0 : bottom[i]), X(static_cast<double>(i)));
    end = i;
  }
  body_ += fmt::format("<path class=\"{}\" d=\"{}Z\"/>\n", css_class, path);
}

void Chart::AddBar(std::string_view css_class, size_t x, double bottom, double top) {
  const double gap = points_ > 200 ? 0 : std::min(3.0, (X(1) - X(0)) * 0.15);
  const double width = std::min(48.0, X(1) - X(0) - gap);
  body_ += fmt::format("<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" rx=\"{}\"/>\n",
                       css_class, (X(static_cast<double>(x)) + X(static_cast<double>(x) + 1) - width) / 2, Y(top),
                       width, std::max(Y(bottom) - Y(top), top > bottom ? 1.0 : 0.0), width > 8 ? 2 : 0);
}

void Chart::AddXLabel(size_t x, std::string_view text) {
  const double at = X(static_cast<double>(x) + 0.5);
  const char* anchor = at < kLeft + 60 ? "start" : at > kWidth - 80 ? "end" : "middle";
  const double shown = at < kLeft + 60 ? kLeft : at > kWidth - 80 ? kWidth - kRight : at;
  labels_ += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", shown,
                         height_ - 7, anchor, HtmlText(text));
}

void Chart::AddHover(size_t x, std::string_view text) {
  const size_t every = (points_ + kMostHovers - 1) / kMostHovers;
  if (x % every != 0 && x + 1 != points_) return;
  hovers_ += fmt::format(
      "<rect class=\"hover\" x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\"><title>{}</title></rect>\n",
      X(static_cast<double>(x)), kTop, X(static_cast<double>(std::min(x + every, points_))) - X(static_cast<double>(x)),
      height_ - kTop - kBottom, HtmlText(text));
}

std::string Chart::Finish() const {
  std::string out =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", kWidth, height_, HtmlText(title_));
  for (double y = 0; y <= top_ * 1.0001; y += step_) {
    out += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kLeft,
                       kWidth - kRight, Y(y), Y(y));
    out += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 8,
                       Y(y) + 4, HtmlText(y_label_(y)));
  }
  return out + body_ + labels_ + hovers_ + "</svg>\n";
}

}  // namespace pilum
