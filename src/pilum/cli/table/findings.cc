#include "pilum/cli/table/findings.h"

namespace pilum::cli {

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

Status PrintAdvice(const std::vector<Advice>& advice) {
  if (advice.empty()) return Status::OK();
  std::string text = "\nadvice\n";
  for (const Advice& a : advice) {
    text += "- " + a.what + "\n";
    if (!a.call.empty()) text += "    " + a.call + "\n";
  }
  return Print(text);
}

Json JsonOf(const std::vector<Advice>& advice) {
  Json out = Json::array();
  for (const Advice& a : advice) {
    out.push_back({{"code", a.code}, {"what", a.what}, {"call", a.call.empty() ? Json() : Json(a.call)}});
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
