// Old versions taken away, and files that nothing needs. Called by cli and python. The rules: docs/formats/table.md,
// "Clean-up"; the plan: table/folder/cleanup_plan.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pilum/change/change.h"
#include "pilum/table/folder/cleanup_plan.h"

namespace pilum {

struct CleanupOptions {
  CleanupPolicy policy;                // its rules are ours
  bool error_if_tagged = true;         // kUsage where a tag keeps a version that would go
  std::vector<std::string> clones;     // shallow clones of this table: what they name stays
  std::optional<uint64_t> rate_limit;  // files a second that are removed at most
};

// What a clean-up would do, and nothing of it done. Needs no store that can write.
struct ForeseenCleanup {
  References refs;
  CleanupPlan plan;
};
// Of the branch of `table`, seen from its version, which stays with all that are newer. kCorrupt where a version or a
// reference cannot be read: what it needs is not known, so nothing may go.
Result<ForeseenCleanup> ForeseeCleanup(const Table& table, const CleanupOptions& options, ReadContext& ctx);

struct CleanupStats {
  uint64_t bytes_removed = 0, old_versions = 0;
  uint64_t data_files_removed = 0;  // and blobs beside them
  uint64_t transaction_files_removed = 0, index_files_removed = 0, deletion_files_removed = 0;
  uint64_t temporary_files_removed = 0;
  uint64_t files_removed = 0;   // all of these, and manifests
  uint64_t failed_deletes = 0;  // the manifests of old versions stay then, so that a second run takes the rest
  std::string first_failure;
};
CleanupStats StatsOf(const ForeseenCleanup& foreseen);

// Removes it. Files go before the manifests that name them: whatever interrupts it, each version that is kept is whole, and
// a second run takes what is left. Versions that others commit meanwhile keep what they need, except that one restored
// from a version that goes, at this very moment, may be too late.
Result<CleanupStats> CleanUp(const WritableTable& table, const CleanupOptions& options, ReadContext& ctx);
// The same of what was foreseen, and shown: no more than that.
Result<CleanupStats> CleanUp(const WritableTable& table, ForeseenCleanup foreseen, const CleanupOptions& options,
                             ReadContext& ctx);

}  // namespace pilum
