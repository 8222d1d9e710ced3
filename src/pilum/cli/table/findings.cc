#include "pilum/cli/table/findings.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace pilum::cli {
namespace {

// As a shell takes it for one word.
std::string ShellWord(const std::string& text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_-./:=@%+,~", c);
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

StoreTime WallClock() {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

Result<Surveyed> Survey(const TableArgs& args) {
  Surveyed out;
  PILUM_ASSIGN_OR_RETURN(out.opened, OpenFor(args));
  const Table& table = *out.opened.table;
  const VisitManifest visit = [&](const References& so_far, uint32_t i, const Manifest&,
                                  const std::vector<TableIndex>& indices, const ByteSource&) {
    const Holder& h = so_far.holders[i];
    if (h.branch == table.branch() && h.version == table.manifest().version) out.indices = indices;
    return Status::OK();
  };
  PILUM_ASSIGN_OR_RETURN(out.refs, CollectReferences(table.main_store(), visit, out.opened.ctx()));
  return out;
}

std::string CommandText(const std::string& table, const std::string& verb) {
  const size_t end = std::min(verb.find(' '), verb.size());
  return "pilum table " + verb.substr(0, end) + " " + ShellWord(table) + verb.substr(end);
}

Status PrintAdvice(const std::string& table, const std::vector<Advice>& advice) {
  if (advice.empty()) return Status::OK();
  std::string text = "\nadvice\n";
  for (const Advice& a : advice) {
    text += "- " + a.what + "\n";
    if (!a.verb.empty()) text += "    " + CommandText(table, a.verb) + "\n";
  }
  return Print(text);
}

Json JsonOf(const std::vector<Advice>& advice) {
  Json out = Json::array();
  for (const Advice& a : advice) {
    out.push_back({{"code", a.code},
                   {"what", a.what},
                   {"call", a.call.empty() ? Json() : Json(a.call)},
                   {"verb", a.verb.empty() ? Json() : Json(a.verb)}});
  }
  return out;
}

Json JsonOf(const std::vector<Finding>& findings) {
  Json out = Json::array();
  for (const Finding& f : findings) {
    out.push_back({{"severity", f.severity == Finding::Severity::kProblem ? "problem" : "note"},
                   {"code", f.code},
                   {"where", f.where},
                   {"what", f.what},
                   {"fix", f.fix.empty() ? Json() : Json(f.fix)}});
  }
  return out;
}

Json JsonOf(const FileSum& sum) { return {{"files", sum.files}, {"bytes", sum.bytes}}; }

Json VersionsJson(const References& refs, const HolderRuns& runs) {
  Json out = Json::array();
  for (const auto& [first, last] : VersionRuns(refs, runs)) out.push_back({first, last});
  return out;
}

std::string JsonTime(StoreTime at) {
  return JsonTime(std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count());
}

}  // namespace pilum::cli
