// Which fragments of a version are better written anew together, and why: small ones beside each other, and those of whose
// rows many are deleted. The plan is pure. Called by compact_table.cc and python.
// Rules: docs/formats/table.md, "Compaction".
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pilum/base/row_set.h"
#include "pilum/change/fragment_writer.h"
#include "pilum/table/table.h"

namespace pilum {

struct CompactionOptions {
  uint64_t target_rows_per_fragment = uint64_t{1} << 20;
  uint64_t max_bytes_per_file = FragmentWriterOptions().max_bytes_per_file;  // asked after each batch
  bool materialize_deletions = true;
  float materialize_deletions_threshold = 0.1F;  // of a fragment's rows; above it is rewritten though it stands alone
  uint64_t batch_rows = 0;                       // most rows that are read at once; 0: as reads have it
  int threads = 0;                               // tasks at once; 0: as many as the context allows
  // Tasks are taken, the first ones first, as long as all of them together stay within these.
  std::optional<uint64_t> max_source_fragments, max_source_rows, max_source_bytes;
  std::set<uint64_t> excluded_fragments;  // stay as they are, and those beside them are not put together
  bool leave_indexed = false;             // the same for those that an index would no longer cover afterwards
  std::string data_version;               // of new files: "2.1"; empty: the table's
};
// As the table's config ("lance.compaction.…") has them. kUsage names a key that makes no sense, kUnsupported one that asks
// for what is not there.
Result<CompactionOptions> CompactionDefaults(const Manifest& manifest);

struct CompactionTask {
  std::vector<uint64_t> fragments;  // ids, in the table's order
  uint64_t rows = 0;                // that are there
  uint64_t deleted = 0;             // that are not, though the files have them
  uint64_t bytes = 0;               // of data files, as far as the manifest tells
  std::string reason;
  std::vector<std::string> uncovered;  // indices that cover these rows now and will not afterwards, by name
};

struct CompactionPlan {
  uint64_t read_version = 0;
  std::vector<CompactionTask> tasks;
};

struct FragmentFacts {
  uint64_t id = 0;
  uint64_t physical_rows = 0, deleted = 0, bytes = 0;
};
// One segment of an index.
struct IndexFacts {
  std::string name;
  RowSet fragments;      // that it covers
  bool follows = false;  // it covers rewritten rows too, as they keep the ids that it holds
};

CompactionPlan PlanCompaction(uint64_t read_version, const std::vector<FragmentFacts>& fragments,
                              const std::vector<IndexFacts>& indices, const CompactionOptions& options);

// Of a version. Reads data and deletion files only where the manifest (a very old one) does not tell rows.
Result<CompactionPlan> PlanCompaction(const Table& table, const CompactionOptions& options, ReadContext& ctx);

}  // namespace pilum
