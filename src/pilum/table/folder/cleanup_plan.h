// Which files a clean-up removes, and why, by one of two sets of rules (docs/formats/table.md, "Clean-up"): those that
// change/cleanup.cc goes by, and those of pylance 14's cleanup_old_versions, against which
// tests/interop/test_table_space.py holds them. Called by change, inspect and cli. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "pilum/table/folder/references.h"

namespace pilum {

inline constexpr std::chrono::hours kUnverifiedAge{7 * 24};

// A branch that is made not to open, so that pylance's clean-up refuses (change/branches.h); ours passes over it.
inline constexpr std::string_view kGuardName = "detached-guard";

enum class CleanupRules { kPylance, kPilum };

struct CleanupPolicy {
  std::optional<std::chrono::microseconds> older_than;  // versions older than this go
  std::optional<uint64_t> retain;                       // all but the newest so many go; at least 1
  bool delete_unverified = false;                       // what no version ever named goes at any age
  std::optional<std::vector<uint64_t>> versions;        // no others go
  CleanupRules rules = CleanupRules::kPylance;
  // By our rules alone:
  std::vector<uint64_t> roots;  // versions that stay, detached ones too
  bool detached_too = false;    // detached versions go as others do; else only those that `versions` names
  // What no version names goes when it is so old: until then a write may be under way.
  std::chrono::microseconds in_flight = kUnverifiedAge;
  bool nothing_younger = false;  // than `in_flight`, be it of an old version
};

enum class CleanupReason {
  kOldVersion,   // the manifest of a version that goes
  kOnlyOld,      // only versions that go need it
  kAbandoned,    // no version needs it, and it is 7 days old
  kUnverified,   // no version needs it; it goes because of delete_unverified
  kInFlight,     // stays: no version needs it, but a write may be under way: it is younger than 7 days
  kYoungerThan,  // stays: written after the oldest version that is kept (pylance)
};
std::string_view CleanupReasonText(CleanupReason reason);
std::string_view CleanupReasonKey(CleanupReason reason);  // "only_old_versions": in JSON

struct CleanupFile {
  uint32_t object = 0;
  CleanupReason reason{};
};

struct CleanupPlan {
  CleanupPolicy policy;
  std::string refused;                   // why nothing is removed; empty: it is
  std::vector<std::string> tags;         // that keep versions from going; an error unless the caller passes over them
  std::vector<uint32_t> versions;        // holders that go
  std::vector<CleanupFile> goes, stays;  // by path; `stays`: those of the last two reasons
  uint64_t bytes = 0;                    // of `goes`
  uint64_t stays_bytes = 0;
  // Versions that stay listed, but lose files: a branch began there, or they are detached (pylance).
  std::vector<uint32_t> broken;
};

// Of the versions of one branch, as seen from `version` of it (which stays, with all that are newer).
CleanupPlan PlanCleanup(const References& refs, const std::string& branch, uint64_t version,
                        const CleanupPolicy& policy, StoreTime now);

}  // namespace pilum
