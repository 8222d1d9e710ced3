// pilum table space: what is on disk, who needs it, and what a clean-up would free.
#include <algorithm>

#include "pilum/cli/table/cleanup_text.h"
#include "pilum/cli/table/findings.h"
#include "pilum/cli/table/verbs.h"

namespace pilum::cli {
namespace {

struct SpaceArgs : TableArgs {
  bool files = false;
  std::string older_than;
  uint64_t retain = 0;
  bool unverified = false;
};

// What was asked for instead of the usual ones.
Result<std::optional<CleanupPolicy>> AskedPolicy(const SpaceArgs& args) {
  CleanupPolicy policy;
  policy.delete_unverified = args.unverified;
  if (!args.older_than.empty()) {
    PILUM_ASSIGN_OR_RETURN(policy.older_than, ParseDuration(args.older_than));
  }
  if (args.retain > 0) policy.retain = args.retain;
  if (!policy.older_than && !policy.retain) {
    if (!args.unverified) return std::optional<CleanupPolicy>();
    policy.older_than = std::chrono::hours(14 * 24);  // as pylance does
  }
  return std::optional(policy);
}

std::string WhoText(const References& refs, const Needer& n) {
  const Holder& h = refs.holders[n.holders[0].first];
  switch (n.who) {
    case Needer::Who::kShown: {
      const bool newest = !h.detached && std::none_of(refs.holders.begin(), refs.holders.end(), [&](const Holder& o) {
        return o.branch == h.branch && !o.detached && o.version > h.version;
      });
      return fmt::format("version {}{}", h.version, h.detached ? " (detached)" : newest ? " (the newest)" : "");
    }
    case Needer::Who::kNewest: return fmt::format("version {} (the newest)", h.version);
    case Needer::Who::kTag:
      return fmt::format("tag {} (version {}{})", n.name, h.version, h.branch.empty() ? "" : " of " + h.branch);
    case Needer::Who::kBranch: return fmt::format("branch {} ({})", n.name, VersionsText(refs, n.holders));
    case Needer::Who::kNewer: return fmt::format("newer versions ({})", VersionsText(refs, n.holders));
    case Needer::Who::kDetached: return "detached versions";
    default: return fmt::format("older versions ({})", VersionsText(refs, n.holders));
  }
}

Status PrintNeeders(const References& refs, const SpaceReport& space) {
  Grid grid({{"who needs it", ""}, {"files", "", true}, {"bytes", "", true}, {"nobody else", "", true}},
            GridStyle::ForStdout());
  for (const Needer& n : space.needers) {
    PILUM_RETURN_NOT_OK(grid.Add(
        {{WhoText(refs, n)}, {Thousands(n.needs.files)}, {HumanBytes(n.needs.bytes)}, {HumanBytes(n.only.bytes)}}));
  }
  if (space.bookkeeping.files > 0) {
    PILUM_RETURN_NOT_OK(grid.Add(
        {{"tags, branches, hints"}, {Thousands(space.bookkeeping.files)}, {HumanBytes(space.bookkeeping.bytes)}, {}}));
  }
  for (const Unneeded why : kUnneeded) {
    const FileSum& sum = space.unneeded[static_cast<size_t>(why)];
    if (sum.files == 0) continue;
    PILUM_RETURN_NOT_OK(
        grid.Add({{std::string(UnneededText(why))}, {Thousands(sum.files)}, {HumanBytes(sum.bytes)}, {}}));
  }
  PILUM_RETURN_NOT_OK(grid.Add({{"all"}, {Thousands(space.all.files)}, {HumanBytes(space.all.bytes)}, {}}));
  return grid.Finish();
}

Status PrintCleanups(const References& refs, const SpaceReport& space) {
  if (!space.cleanups.empty() && !space.cleanups[0].refused.empty()) {
    return Print(fmt::format("\nNo clean-up would remove anything: {}.\n", space.cleanups[0].refused));
  }
  PILUM_RETURN_NOT_OK(Print("\n"));
  Grid grid({{"a clean-up of versions", ""},
             {"frees", "", true},
             {"versions", "", true},
             {"data files", "", true},
             {"deletions", "", true},
             {"index files", "", true},
             {"stays", "", true}},
            GridStyle::ForStdout());
  for (const CleanupPlan& plan : space.cleanups) {
    const auto count = [&](ObjectKind kind) { return Thousands(Going(refs, plan, kind).files); };
    PILUM_RETURN_NOT_OK(grid.Add({{PolicyText(plan.policy)},
                                  {HumanBytes(plan.bytes)},
                                  {Thousands(plan.versions.size())},
                                  {count(ObjectKind::kData)},
                                  {count(ObjectKind::kDeletions)},
                                  {count(ObjectKind::kIndex)},
                                  {HumanBytes(plan.stays_bytes)}}));
  }
  return grid.Finish();
}

Json SpaceJson(const Surveyed& surveyed, const SpaceReport& space, const std::vector<Advice>& advice, bool files) {
  const References& refs = surveyed.refs;
  Json j = JsonHead(*surveyed.opened.table);
  j["all"] = JsonOf(space.all);
  j["needed"] = Json::array();
  for (const Needer& n : space.needers) {
    j["needed"].push_back({{"by", NeederKey(n.who)},
                           {"name", n.name.empty() ? Json() : Json(n.name)},
                           {"versions", VersionsJson(refs, n.holders)},
                           {"needs", JsonOf(n.needs)},
                           {"nobody_else", JsonOf(n.only)}});
  }
  j["bookkeeping"] = JsonOf(space.bookkeeping);
  for (const Unneeded why : kUnneeded) {
    j["unneeded"][std::string(UnneededKey(why))] = JsonOf(space.unneeded[static_cast<size_t>(why)]);
  }
  j["cleanups"] = Json::array();
  for (const CleanupPlan& plan : space.cleanups) j["cleanups"].push_back(PlanJson(refs, plan, files));
  j["advice"] = JsonOf(advice);
  return j;
}

Result<int> Space(const SpaceArgs& args) {
  PILUM_ASSIGN_OR_RETURN(const auto asked, AskedPolicy(args));
  PILUM_ASSIGN_OR_RETURN(auto surveyed, Survey(args));
  const Table& table = *surveyed.opened.table;
  const References& refs = surveyed.refs;
  PILUM_ASSIGN_OR_RETURN(auto space, MakeSpace(refs, table.branch(), table.manifest().version, WallClock()));
  const auto advice = Advise(refs, space, table.manifest(), surveyed.indices);
  if (asked) space.cleanups = {PlanCleanup(refs, table.branch(), table.manifest().version, *asked, WallClock())};
  if (args.json) return PrintJson(SpaceJson(surveyed, space, advice, args.files));
  PILUM_RETURN_NOT_OK(PrintNeeders(refs, space));
  PILUM_RETURN_NOT_OK(PrintCleanups(refs, space));
  if (args.files && space.cleanups[0].refused.empty()) {
    PILUM_RETURN_NOT_OK(Print("\n" + CommandText(args.table, PolicyVerb(space.cleanups[0])) + "\n"));
    PILUM_RETURN_NOT_OK(PrintPlan(refs, space.cleanups[0]));
  }
  PILUM_RETURN_NOT_OK(PrintAdvice(args.table, advice));
  return kExitOk;
}

}  // namespace

void AddSpaceVerb(CLI::App* group, Action* action) {
  auto verb = AddVerb<SpaceArgs>(group, "space", "What is on disk, who needs it, what a clean-up would free",
                                 "pilum table space flights.lance --older-than 7d --files", action, Space);
  verb.command->add_flag("--files", verb.args->files, "What the (first) clean-up would remove, file by file, and why");
  verb.command
      ->add_option("--older-than", verb.args->older_than, "This clean-up alone: of versions older than 0s, 12h, 7d …")
      ->type_name("AGE");
  verb.command->add_option("--retain", verb.args->retain, "This clean-up alone: of all but the newest N versions")
      ->type_name("N")
      ->check(WholeNumber());
  verb.command->add_flag("--unverified", verb.args->unverified,
                         "This clean-up alone: with delete_unverified, which takes what may be of a write under way");
}

}  // namespace pilum::cli
