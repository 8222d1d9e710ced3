// Upkeep of a table that a person can leave running: small and holed fragments are put together, then old versions and
// leftovers go. Called by cli and python.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "pilum/change/cleanup.h"
#include "pilum/change/compact_table.h"

namespace pilum {

struct MaintainPolicy {
  bool compact = true, clean = true;
  CompactionOptions compaction;
  // Fragments that an index would no longer cover afterwards are put together too. Else they are left: nothing here can
  // cover them anew yet.
  bool indexed_too = false;
  // Versions that go. Nothing younger than the window goes, be it of an old version: a write may be under way, and so
  // `older_than` is at least as long.
  std::chrono::microseconds older_than = std::chrono::hours(14 * 24);
  std::chrono::microseconds in_flight = kUnverifiedAge;
  std::vector<std::string> clones;  // as in CleanupOptions
};

// Fragments of a version that some index does not cover.
struct UncoveredIndex {
  std::string name;
  uint64_t fragments = 0;
};

struct MaintainPlan {
  CompactionPlan compaction;
  ForeseenCleanup cleanup;
  std::vector<UncoveredIndex> uncovered;  // what this Pilum cannot mend yet
};
// Nothing of it is done. kUsage where the policy makes no sense.
Result<MaintainPlan> ForeseeMaintenance(const Table& table, const MaintainPolicy& policy, ReadContext& ctx);

struct Maintained {
  uint64_t version = 0;  // the newest
  CompactionMetrics compacted;
  CleanupStats cleaned;
  std::vector<UncoveredIndex> uncovered;
};
// Interrupted, it leaves a table as sound as it was, and the next run goes on. What others changed meanwhile is compacted the
// next time.
Result<Maintained> MaintainTable(WritableTable table, const MaintainPolicy& policy, const ChangeOptions& change,
                                 ReadContext& ctx);

}  // namespace pilum
