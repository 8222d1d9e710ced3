// What is on disk, and who needs it. Called by cli, advice.cc and report.cc. Pure: from what references.cc collected.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pilum/table/folder/cleanup_plan.h"
#include "pilum/table/folder/references.h"

namespace pilum {

struct FileSum {
  uint64_t files = 0, bytes = 0;
  void Add(const TableObject& o) { ++files, bytes += o.size; }
};

// Some versions, which need files together.
struct Needer {
  enum class Who { kShown, kNewest, kTag, kBranch, kOlder, kNewer, kDetached };
  Who who{};
  std::string name;  // of the tag or branch
  HolderRuns holders;
  FileSum needs, only;  // `only`: what nobody else needs
};
std::string_view NeederKey(Needer::Who who);  // "shown": in JSON

// Objects that no version needs.
enum class Unneeded {
  kLeftover,  // of a write that failed, or of versions that are gone
  kInFlight,  // the same, but younger than 7 days: a write may be under way
  kTemporary,
  kStray,
  kUnknown,  // a version that cannot be read may need it
};
inline constexpr Unneeded kUnneeded[] = {Unneeded::kLeftover, Unneeded::kInFlight, Unneeded::kTemporary,
                                         Unneeded::kStray, Unneeded::kUnknown};
std::string_view UnneededKey(Unneeded why);   // "leftover"
std::string_view UnneededText(Unneeded why);  // "left over: no version needs it"

struct SpaceReport {
  uint32_t shown = 0;        // holder
  FileSum all, bookkeeping;  // `bookkeeping`: tags, branches, hints
  std::vector<Needer> needers;
  FileSum unneeded[std::size(kUnneeded)];
  FileSum data, data_held;  // data files of the branch; those that the shown version needs
  std::vector<CleanupPlan> cleanups;
};

// Nullopt: somebody needs it.
std::optional<Unneeded> WhyUnneeded(const References& refs, uint32_t object, StoreTime now);

// kNotFound where that version is not among those collected.
Result<SpaceReport> MakeSpace(const References& refs, const std::string& branch, uint64_t version, StoreTime now);

// The versions of these holders as runs without a gap, each of one branch: first and last.
std::vector<std::pair<uint64_t, uint64_t>> VersionRuns(const References& refs, const HolderRuns& runs);
// "1 to 7, 9" of them.
std::string VersionsText(const References& refs, const HolderRuns& runs);

}  // namespace pilum
