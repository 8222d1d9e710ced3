// What a merge does with each row, before any is written. Called by merge_rows.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pilum/change/merge_rows.h"
#include "pilum/change/merge_source.h"
#include "pilum/table/commit/rebase.h"

namespace pilum {

// A row of the source and the row of the table that it takes the place of.
struct MergePair {
  uint32_t row = 0;
  uint64_t address = 0;
};

struct MergePlan {
  std::vector<MergePair> updates;  // by address
  std::vector<bool> matched;       // by key: the table has it
  std::vector<uint32_t> inserts;   // rows of the source, ascending
  TakenRows taken;                 // of the table: updated and deleted ones
  uint64_t deleted = 0;
};

// `on`: the table's names of the key columns.
Result<MergePlan> PlanMerge(const Table& table, const MergeSource& source, const std::vector<std::string>& on,
                            const MergeOptions& options, ReadContext& ctx);

// Both rows of each pair beside each other, pair by pair, in batches of a bounded size; `first`: the first's number. Where no
// columns of one side are asked for it comes without any.
using TakePairs =
    std::function<Status(size_t first, const arrow::RecordBatch& target, const arrow::RecordBatch& source)>;
Status ReadPairs(const Table& table, const MergeSource& source, const std::vector<MergePair>& pairs,
                 const std::vector<std::string>& target_columns, const std::vector<std::string>& source_columns,
                 ReadContext& ctx, const TakePairs& take);

// The table's rows of pairs, which are in the order of their addresses.
TakenRows ByFragment(const std::vector<MergePair>& pairs);

// Rows of a batch by number, in any order and again and again.
Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const arrow::RecordBatch& batch, const std::vector<int64_t>& rows);

// Rows of these fragments that have one of the keys.
Status FindKeys(const Table& table, const std::vector<uint64_t>& fragments, const std::vector<std::string>& on,
                const MergeKeys& keys, ReadContext& ctx,
                const std::function<Status(uint32_t key, uint64_t address)>& found);

}  // namespace pilum
