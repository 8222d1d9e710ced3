// The live rows of some fragments written anew, in order: one task of a compaction. Called by compact_table.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pilum/change/change.h"
#include "pilum/change/compact_plan.h"

namespace pilum {

struct CompactionMetrics {
  uint64_t fragments_removed = 0, fragments_added = 0;
  uint64_t files_removed = 0, files_added = 0;  // of data; those that are removed with deletion files
  CompactionMetrics& operator+=(const CompactionMetrics& other);
};

// Done but not committed. It may be sent elsewhere, and be committed with others or alone.
struct RewriteResult {
  uint64_t read_version = 0;
  std::vector<uint64_t> old_fragments;     // ids
  std::vector<std::string> new_fragments;  // messages DataFragment, without ids
  CompactionMetrics metrics;
};

// Of the version that `base` is. Files are not durable before the commit. Memory: a batch, the pages of a file, and with
// stable row ids 24 bytes a row of a fragment. kUnsupported names a column, or a version of files, that cannot be written.
Result<RewriteResult> RewriteFragments(const ChangeBase& base, const CompactionTask& task,
                                       const CompactionOptions& options, ReadContext& ctx);

// Paths of the files that it wrote into `table`: data files, and the blobs beside them.
Result<std::vector<std::string>> FilesOf(const Table& table, const RewriteResult& result, ReadContext& ctx);

}  // namespace pilum
