#include "pilum/cli/table/verb.h"

#include <algorithm>
#include <ctime>

#include "pilum/table/feature_flags.h"

namespace pilum::cli {
namespace {

// The seconds of `ns` in `format`; and what is left of it.
std::string FormatTime(int64_t ns, const char* format, int64_t* rest) {
  int64_t seconds = ns / 1000000000;
  *rest = ns % 1000000000;
  if (*rest < 0) *rest += 1000000000, --seconds;
  const time_t at = static_cast<time_t>(seconds);
  std::tm tm{};
  char text[48];
  if (::gmtime_r(&at, &tm) == nullptr) return "?";
  return std::string(text, std::strftime(text, sizeof text, format, &tm));
}

}  // namespace

Result<OpenedTable> OpenFor(const TableArgs& args) {
  OpenedTable out;
  PILUM_ASSIGN_OR_RETURN(out.session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(out.table, OpenTable(args.table, args.version, out.ctx()));
  return out;
}

Status TakeVersion(const std::string& at, VersionOptions* version) {
  if (at.empty()) return Status::OK();
  if (!version->version.empty()) return UsageError("{} and --version {}: give one of them", at, version->version);
  version->version = at;
  return Status::OK();
}

CLI::App* AddVerbCommand(CLI::App* group, const char* name, const char* help, const char* example, TableArgs* args) {
  CLI::App* command = group->add_subcommand(name, help);
  command->footer(std::string("Example:\n  ") + example);
  command->add_option("table", args->table, "The table's folder or URI")->required()->type_name("TABLE");
  AddVersionOptions(*command, &args->version);
  command->add_flag("--json", args->json, "All of it as one JSON object (docs/guides/table_inspection.md)");
  AddRunOptions(*command, &args->run);
  return command;
}

Result<int> PrintJson(const Json& json) {
  PILUM_RETURN_NOT_OK(Print(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
  return kExitOk;
}

Json JsonHead(const Table& table) {
  Json j;
  j["table"] = table.uri();
  j["branch"] = table.branch().empty() ? Json() : Json(table.branch());
  j["version"] = table.manifest().version;
  return j;
}

Json JsonOf(const RowSet& ids) {
  Json out = Json::array();
  for (const RowRange& r : ids.ranges()) out.push_back({r.begin, r.end - 1});
  return out;
}

std::string JsonTime(int64_t ns) {
  int64_t rest = 0;
  const std::string seconds = FormatTime(ns, "%Y-%m-%dT%H:%M:%S", &rest);
  return fmt::format("{}.{:09}Z", seconds, rest);
}

std::string TimeText(int64_t ns) {
  int64_t rest = 0;
  return FormatTime(ns, "%Y-%m-%d %H:%M:%S UTC", &rest);
}

std::string RangesText(const RowSet& s) {
  std::string out;
  for (const RowRange& r : s.ranges()) {
    out += out.empty() ? "" : ", ";
    out += r.size() == 1 ? fmt::format("{}", r.begin) : fmt::format("{}-{}", r.begin, r.end - 1);
  }
  return out.empty() ? "none" : out;
}

std::string Lines(const std::vector<std::pair<std::string, std::string>>& lines) {
  size_t width = 0;
  for (const auto& [name, value] : lines) width = std::max(width, value.empty() ? 0 : name.size());
  std::string out;
  for (const auto& [name, value] : lines) {
    if (value.empty()) continue;
    out += fmt::format("{:<{}}  ", name, width);
    for (const char c : value) {
      out += c;
      if (c == '\n') out.append(width + 2, ' ');
    }
    out += '\n';
  }
  return out;
}

std::string MapText(const std::map<std::string, std::string>& map) {
  std::string out;
  for (const auto& [key, value] : map) out += fmt::format("{}{}={}", out.empty() ? "" : ", ", key, value);
  return out;
}

std::string FlagsText(uint64_t flags) {
  return flags == 0 ? "" : fmt::format("{} ({})", FeatureFlagNames(flags), flags);
}

}  // namespace pilum::cli
