// Plan: what a query will read, before anything is read. plan.cc also holds the running query, which takes the stages
// in order for each unit: prune -> narrow -> execute (decode, recheck, project).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/query/eval_order.h"
#include "pilum/query/query.h"

namespace pilum {

struct Plan {
  std::shared_ptr<const Snapshot> snapshot;
  BoundQuery query;
  QueryOptions options;
  std::vector<FieldPath> filter_columns;  // first read: what the predicate needs; none without WHERE
  std::vector<FieldPath> output_columns;  // second read, of matching rows only: what SELECT needs
  // SELECT needs nothing that the predicate does not: one read does, where no index spares rows the first one.
  bool filter_covers_output = false;
  bool output_covers_filter = false;
  std::vector<std::vector<FieldPath>> part_columns;  // of each part of an AND; empty: not known, or no AND
  std::shared_ptr<arrow::Schema> schema;             // of the answer
};

// No I/O. Errors: a column that the snapshot lacks.
Result<Plan> MakePlan(std::shared_ptr<const Snapshot> snapshot, BoundQuery query, const QueryOptions& options);

// What became of one unit, for Explain.
struct UnitOutcome {
  enum class Kind { kPruned, kNarrowedAway, kRead };
  const Unit* unit = nullptr;
  Kind kind = Kind::kRead;
  uint64_t candidates = 0, certain = 0;
};

// Where a running query stands; shared by the stages of one query, used by one thread.
struct QueryProgress {
  uint64_t to_skip = 0;             // of OFFSET
  std::optional<uint64_t> to_give;  // of LIMIT
  QueryCounts counts;
  std::vector<UnitOutcome> units;    // in order, as far as the query came
  std::unique_ptr<EvalOrder> order;  // of the predicate's parts; null: it has only one
  bool ended = false;
  bool finished() const { return to_give && *to_give == 0; }
};

// RunQuery, but a unit that is gone is an error at once. (query/plan.cc)
Result<std::unique_ptr<QueryResult>> RunOnce(std::shared_ptr<const Snapshot> snapshot, BoundQuery query,
                                             const QueryOptions& options, const ReadContext& ctx);

// The plan and the counts so far, as text for people. (query/explain.cc)
std::string ExplainText(const Plan& plan, const QueryProgress& progress, const ReadContext& ctx);
// "2 of 5 units pruned, 1 read, 1200 values decoded": for errors that end a read. (query/explain.cc)
std::string ProgressText(const QueryProgress& progress, const ReadContext& ctx);

}  // namespace pilum
