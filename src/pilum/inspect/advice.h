// What to do about a table, with numbers and what does it: as a call and as a command. Called by cli and report.cc. Pure.
#pragma once

#include <string>
#include <vector>

#include "pilum/inspect/space.h"

namespace pilum {

struct Advice {
  std::string code;  // "clean_up": stable
  std::string what;  // a sentence or two
  std::string call;  // Python, pylance's names; empty where there is nothing to call
  std::string verb;  // "cleanup --older-than 0s": of `pilum table`, without the table; empty where there is none
};

// `manifest` and `indices`: of the shown version.
std::vector<Advice> Advise(const References& refs, const SpaceReport& space, const Manifest& manifest,
                           const std::vector<TableIndex>& indices);

// "older than 0 s", "all but the newest 10".
std::string PolicyText(const CleanupPolicy& policy);
// "ds.cleanup_old_versions(older_than=timedelta(days=7))".
std::string PolicyCall(const CleanupPlan& plan);
// "cleanup --older-than 7d", as Advice::verb.
std::string PolicyVerb(const CleanupPlan& plan);

}  // namespace pilum
