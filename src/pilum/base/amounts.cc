#include "pilum/base/amounts.h"

#include <ctime>

#include <fmt/format.h>

namespace pilum {

std::string Thousands(uint64_t n) {
  std::string s = std::to_string(n);
  for (size_t at = s.size(); at > 3;) s.insert(at -= 3, 1, ',');
  return s;
}

std::string HumanBytes(uint64_t n) {
  if (n < 1000) return fmt::format("{} B", n);
  static constexpr std::string_view kUnits[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  double v = static_cast<double>(n) / 1000;
  size_t u = 0;
  while (v >= 999.95 && u + 1 < std::size(kUnits)) {
    v /= 1000;
    ++u;
  }
  return fmt::format("{:.1f} {}", v, kUnits[u]);
}

std::string Plural(uint64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", Thousands(n), noun, n == 1 ? "" : "s");
}

std::string Share(uint64_t part, uint64_t whole) {
  if (whole == 0) return "0 %";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return percent > 0 && percent < 1 ? "< 1 %" : fmt::format("{:.0f} %", percent);
}

std::string UtcText(int64_t ns) {
  const time_t seconds = static_cast<time_t>(ns / 1000000000 - (ns % 1000000000 < 0));
  std::tm tm{};
  char text[64];
  if (::gmtime_r(&seconds, &tm) == nullptr) return "?";
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm));
}

}  // namespace pilum
