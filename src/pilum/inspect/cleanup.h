// What pylance's cleanup_old_versions would remove, and why, without removing it. By the rules that pylance 14 follows
// (docs/formats/table.md, "Clean-up"); tests/interop/test_table_space.py holds them against pylance itself. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "pilum/inspect/references.h"

namespace pilum {

struct CleanupPolicy {
  std::optional<std::chrono::microseconds> older_than;  // versions older than this go
  std::optional<uint64_t> retain;                       // all but the newest so many go; at least 1
  bool delete_unverified = false;                       // what no version ever named goes at any age
};

enum class CleanupReason {
  kOldVersion,   // the manifest of a version that goes
  kOnlyOld,      // only versions that go need it
  kAbandoned,    // no version needs it, and it is 7 days old
  kUnverified,   // no version needs it; it goes because of delete_unverified
  kInFlight,     // stays: no version needs it, but a write may be under way: it is younger than 7 days
  kYoungerThan,  // stays: written after the oldest version that is kept
};
std::string_view CleanupReasonText(CleanupReason reason);

struct CleanupFile {
  uint32_t object = 0;
  CleanupReason reason{};
};

struct CleanupPlan {
  CleanupPolicy policy;
  std::string refused;             // why pylance would remove nothing; empty: it would not refuse
  std::vector<std::string> tags;   // that keep versions from going; pylance refuses unless it is told to pass over them
  std::vector<uint32_t> versions;  // holders that go
  std::vector<CleanupFile> goes, stays;  // by path; `stays`: those of the last two reasons
  uint64_t bytes = 0;                    // of `goes`
  uint64_t stays_bytes = 0;
  // Versions that stay listed, but lose files: a branch began there, or they are detached.
  std::vector<uint32_t> broken;
};

// Of the versions of one branch, as seen from `version` of it (which stays, with all that are newer).
CleanupPlan PlanCleanup(const References& refs, const std::string& branch, uint64_t version,
                        const CleanupPolicy& policy, StoreTime now);

inline constexpr std::chrono::hours kUnverifiedAge{7 * 24};

}  // namespace pilum
