// Compaction of a table: fragments of a plan written anew, and others put in their place. Called by cli and python.
// Format: docs/formats/table.md, "Compaction".
#pragma once

#include <cstdint>
#include <vector>

#include "pilum/change/rewrite_fragments.h"

namespace pilum {

struct Compacted {
  uint64_t version = 0;  // the newest that it made; the one that it began with where there was nothing to do
  CompactionMetrics metrics;
};

// Plans, writes and commits. Where others changed some of the fragments meanwhile, the tasks on all others are committed, and
// the rest is planned again on the newest version. kRetry, kConflict: nothing was committed.
Result<Compacted> CompactTable(WritableTable table, const CompactionOptions& options, const ChangeOptions& change,
                               ReadContext& ctx);

// One version more, or two (ids for new fragments are reserved first). `results` may come from other processes; their files
// are made durable here. The files stay where it fails: the caller knows whether it tries again. kRetry: others changed one of
// the fragments since; kUsage: two results name the same one.
Result<Compacted> CommitCompaction(const WritableTable& table, const std::vector<RewriteResult>& results,
                                   const ChangeOptions& change, ReadContext& ctx);

}  // namespace pilum
