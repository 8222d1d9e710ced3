#include "pilum/cli/table/cleanup_text.h"

#include "pilum/cli/table/findings.h"

namespace pilum::cli {

FileSum Going(const References& refs, const CleanupPlan& plan, ObjectKind kind) {
  FileSum sum;
  for (const CleanupFile& f : plan.goes) {
    if (refs.inventory.objects[f.object].kind == kind) sum.Add(refs.inventory.objects[f.object]);
  }
  return sum;
}

Status PrintPlan(const References& refs, const CleanupPlan& plan) {
  Grid grid({{"", ""}, {"file", ""}, {"bytes", "", true}, {"why", ""}}, GridStyle::ForStdout());
  const auto add = [&](const char* fate, const CleanupFile& f) {
    const TableObject& o = refs.inventory.objects[f.object];
    return grid.Add({{fate}, {o.path}, {Thousands(o.size)}, {std::string(CleanupReasonText(f.reason))}});
  };
  for (const CleanupFile& f : plan.goes) PILUM_RETURN_NOT_OK(add("goes", f));
  for (const CleanupFile& f : plan.stays) PILUM_RETURN_NOT_OK(add("stays", f));
  if (!plan.goes.empty() || !plan.stays.empty()) PILUM_RETURN_NOT_OK(grid.Finish());
  std::string text;
  if (!plan.tags.empty()) text += fmt::format("{} kept by a tag.\n", Plural(plan.tags.size(), "version"));
  for (const uint32_t i : plan.broken) {
    text += fmt::format("version {}{} would stay listed but lose files.\n", refs.holders[i].version,
                        refs.holders[i].detached ? " (detached)" : "");
  }
  return Print(text);
}

Json PlanJson(const References& refs, const CleanupPlan& plan, bool files) {
  Json j;
  j["older_than_seconds"] =
      plan.policy.older_than ? Json(std::chrono::duration<double>(*plan.policy.older_than).count()) : Json();
  j["retain_versions"] = OrNull(plan.policy.retain);
  j["delete_unverified"] = plan.policy.delete_unverified;
  j["call"] = PolicyCall(plan);
  j["verb"] = PolicyVerb(plan);
  j["refused"] = plan.refused.empty() ? Json() : Json(plan.refused);
  j["versions"] = Json::array();
  for (const uint32_t i : plan.versions) j["versions"].push_back(refs.holders[i].version);
  j["kept_by_tags"] = plan.tags;
  j["broken"] = Json::array();
  for (const uint32_t i : plan.broken) {
    j["broken"].push_back({{"version", refs.holders[i].version}, {"detached", refs.holders[i].detached}});
  }
  j["frees"] = {{"files", plan.goes.size()}, {"bytes", plan.bytes}};
  for (const ObjectKind kind : kObjectKinds) {
    const FileSum sum = Going(refs, plan, kind);
    if (sum.files > 0) j["frees"]["kinds"][std::string(ObjectKindKey(kind))] = JsonOf(sum);
  }
  j["stays"] = {{"files", plan.stays.size()}, {"bytes", plan.stays_bytes}};
  if (!files) return j;
  j["files"] = Json::array();
  for (const bool goes : {true, false}) {
    for (const CleanupFile& f : goes ? plan.goes : plan.stays) {
      const TableObject& o = refs.inventory.objects[f.object];
      j["files"].push_back({{"path", o.path},
                            {"bytes", o.size},
                            {"goes", goes},
                            {"reason", CleanupReasonKey(f.reason)},
                            {"needed_by", VersionsJson(refs, refs.HeldBy(f.object))}});
    }
  }
  return j;
}

}  // namespace pilum::cli
