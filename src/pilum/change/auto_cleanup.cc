#include "pilum/change/auto_cleanup.h"

#include <charconv>

namespace pilum {
namespace {

constexpr std::string_view kKeys = "lance.auto_cleanup.";

Result<uint64_t> ParseNumber(std::string_view key, std::string_view text) {
  uint64_t out = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || error != std::errc() || at != text.data() + text.size()) {
    return UsageError("config {}{}: '{}' is no whole number", kKeys, key, text);
  }
  return out;
}

// As the humantime crate has them: months and years are days.
std::optional<double> SecondsOf(std::string_view unit) {
  struct Unit {
    std::string_view names;  // each between spaces
    double seconds;
  };
  static constexpr Unit kUnits[] = {
      {" nsec ns ", 1e-9},
      {" usec us ", 1e-6},
      {" msec ms ", 1e-3},
      {" seconds second sec secs s ", 1},
      {" minutes minute min mins m ", 60},
      {" hours hour hr hrs h ", 3600},
      {" days day d ", 86400},
      {" weeks week wk wks w ", 7 * 86400},
      {" months month M ", 2630016},
      {" years year yr yrs y ", 31557600},
  };
  for (const Unit& u : kUnits) {
    if (u.names.find(" " + std::string(unit) + " ") != u.names.npos) return u.seconds;
  }
  return std::nullopt;
}

// "14d", "1h 30m", "0s".
Result<std::chrono::microseconds> ParseAge(std::string_view key, std::string_view text) {
  double seconds = 0;
  bool any = false;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == ' ') {
      ++i;
      continue;
    }
    uint64_t number = 0;
    const auto [at, error] = std::from_chars(text.data() + i, text.data() + text.size(), number);
    if (error != std::errc()) {
      any = false;
      break;
    }
    i = static_cast<size_t>(at - text.data());
    while (i < text.size() && text[i] == ' ') ++i;
    size_t end = i;
    while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end]))) ++end;
    const auto unit = SecondsOf(text.substr(i, end - i));
    if (!unit) {
      any = false;
      break;
    }
    seconds += static_cast<double>(number) * *unit;
    any = true;
    i = end;
    if (i == text.size()) break;
  }
  if (!any) return UsageError("config {}{}: '{}' is no age, such as 14d or 1h 30m", kKeys, key, text);
  constexpr double kLongest = 200.0 * 365 * 86400;  // all is younger, and sums with it stay in range
  return std::chrono::microseconds(static_cast<int64_t>(std::min(seconds, kLongest) * 1e6));
}

}  // namespace

Result<std::optional<CleanupOptions>> AutoCleanupOf(const std::map<std::string, std::string>& config,
                                                    uint64_t version) {
  const auto value = [&](std::string_view key) -> const std::string* {
    const auto at = config.find(std::string(kKeys) + std::string(key));
    return at == config.end() ? nullptr : &at->second;
  };
  const std::string* every = value("interval");
  if (every == nullptr || (version & kDetachedBit) != 0) return std::optional<CleanupOptions>();
  PILUM_ASSIGN_OR_RETURN(const uint64_t interval, ParseNumber("interval", *every));
  if (interval != 0 && version % interval != 0) return std::optional<CleanupOptions>();
  CleanupOptions out;
  out.error_if_tagged = false;
  if (const std::string* text = value("older_than")) {
    PILUM_ASSIGN_OR_RETURN(out.policy.older_than, ParseAge("older_than", *text));
  }
  if (const std::string* text = value("retain_versions")) {
    PILUM_ASSIGN_OR_RETURN(out.policy.retain, ParseNumber("retain_versions", *text));
  }
  if (const std::string* text = value("delete_rate_limit")) {
    PILUM_ASSIGN_OR_RETURN(out.rate_limit, ParseNumber("delete_rate_limit", *text));
  }
  return std::optional(std::move(out));
}

void CleanUpAfter(const WritableTable& table, const Committed& committed, ReadContext& ctx) {
  if (!table.table) return;  // there is nothing older
  const auto wanted = AutoCleanupOf(committed.config, committed.version);
  if (wanted.ok() && wanted->has_value()) (void)CleanUp(table, **wanted, ctx);
}

}  // namespace pilum
