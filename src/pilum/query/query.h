// A query from text to rows: parse -> bind -> plan (prune) -> execute (narrow, decode, recheck, project).
// Called by cli and python. Plans and results belong to one thread; snapshots and bound queries are shared.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/context.h"
#include "pilum/query/predicate.h"
#include "pilum/source/snapshot.h"

namespace pilum {

// Values bound to ?, $1 and :name. A parameter is an Arrow scalar (null allowed) and never pasted text; a string scalar acts
// as a quoted literal would (it takes the other side's type), an integer or double scalar as a number literal would.
struct Params {
  std::vector<std::shared_ptr<arrow::Scalar>> positional;       // ? in order, $1 is the first
  std::map<std::string, std::shared_ptr<arrow::Scalar>> named;  // :name
};

struct SelectTail;

// One parsed and bound statement over one schema.
struct BoundQuery {
  bool bare_predicate = false;                  // the text was a predicate only: all columns
  std::vector<FieldPath> columns;               // to return, in order
  std::vector<std::string> output_names;        // one a column (alias or name)
  std::shared_ptr<const BoundPredicate> where;  // null: no WHERE
  std::optional<uint64_t> limit;                // with `offset`: of what comes out
  uint64_t offset = 0;
  // What SELECT makes of these rows, where it is more than these columns (query/select/select.h); else null. Then `columns`
  // are what it needs, and the schema of the answer is its own.
  std::shared_ptr<const SelectTail> tail;

  // At most `rows` rows of the answer, beside what the text says.
  void CapLimit(uint64_t rows) { limit = std::min(rows, limit.value_or(rows)); }
};

// Parse and bind. Errors are kQuery with the position ("at 17: …"). Uses only `snapshot.schema()` and CheckColumn of the
// columns the statement names. (query/bind_statement.cc)
Result<BoundQuery> BindQuery(std::string_view sql, const Snapshot& snapshot, const Params& params);
// A predicate alone against a schema (Python filters, tests).
Result<std::shared_ptr<const BoundPredicate>> BindPredicate(std::string_view sql, const arrow::Schema& schema,
                                                            const Params& params);

struct QueryOptions {
  bool use_index = true;  // --no-index: false
  BatchLimits limits;
  // So many rows are rechecked before statistics are read to order the parts of the predicate (query/eval_order.h).
  uint64_t statistics_after = 64 * 1024;
  // Bytes that groups, sets of distinct values and rows to be sorted may take; past it the query fails (kMemory).
  uint64_t memory_limit = uint64_t{8} << 30;
};

// What each stage did; filled while the query runs, complete when its stream ended. Deterministic.
struct QueryCounts {
  uint64_t units = 0, units_pruned = 0, units_read = 0;
  uint64_t rows_total = 0;      // rows of all units
  uint64_t rows_candidate = 0;  // left after narrowing, in units read
  uint64_t rows_certain = 0;    // of those, known to match without a recheck
  uint64_t rows_rechecked = 0;
  uint64_t evaluations = 0;  // rows asked, of each part of the predicate that is no AND or OR
  uint64_t rows_matched = 0;
  uint64_t rows_returned = 0;
  std::vector<std::string> notes;  // e.g. why a sidecar was not used
};

// A running query: an ordered stream of batches (never empty ones, nullptr at the end) of the output schema.
// Row order: unit order, then row; the same with and without indexes. LIMIT stops reading early.
class QueryResult {
 public:
  virtual ~QueryResult() = default;
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
  virtual const QueryCounts& counts() const = 0;
  virtual std::string Explain() const = 0;  // the plan, and the counts of every stage so far
};

// Lazily: nothing is read before the first Next. `ctx` is copied; its stats and stop must outlive the result.
Result<std::unique_ptr<QueryResult>> RunQuery(std::shared_ptr<const Snapshot> snapshot, BoundQuery query,
                                              const QueryOptions& options, const ReadContext& ctx);

// All of it: bind, run, as a reader for Arrow consumers. `result` keeps snapshot and counts alive.
std::shared_ptr<arrow::RecordBatchReader> MakeBatchReader(std::shared_ptr<QueryResult> result);

}  // namespace pilum
