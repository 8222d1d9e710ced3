// What a SELECT does with the rows that its WHERE left: expressions, GROUP BY, HAVING, DISTINCT, ORDER BY, LIMIT. Bound by
// bind_select.cc, run by run_select.cc on top of the plain query that reads the rows. Immutable once bound.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/query/ast.h"
#include "pilum/query/evaluate.h"
#include "pilum/query/query.h"

namespace pilum {

struct Aggregate {
  enum class Kind { kCount, kSum, kAvg, kMin, kMax, kMedian, kApproxDistinct, kApproxPercentile, kApproxTopK };
  Kind kind = Kind::kCount;
  bool distinct = false;
  double quantile = 0;  // of approx_percentile
  uint64_t top = 0;     // of approx_top_k
  bool strict = true;   // false: stands in HAVING alone, where what has no value is NULL
  ValuePtr argument;    // null: COUNT(*)
  std::shared_ptr<arrow::DataType> type;
  std::string text;  // canonical, as in sum(a + 1)
};

struct OrderKey {
  ValuePtr value;  // over what `outputs` are over
  bool descending = false, nulls_first = false;
};

struct SelectTail {
  std::vector<FieldPath> inputs;     // columns of the rows, in the order that the plain query gives them
  std::vector<FieldPath> json_only;  // those of them that only json_* functions look at, which take JSONB too

  bool grouped = false;  // GROUP BY or an aggregate: then outputs, having and order are over `group_schema`
  std::vector<ValuePtr> keys;
  std::vector<Aggregate> aggregates;
  std::shared_ptr<arrow::Schema> group_schema;  // keys, then aggregates
  BoolPtr having;                               // may be null

  std::vector<ValuePtr> outputs;
  std::shared_ptr<arrow::Schema> schema;
  bool distinct = false;
  std::vector<OrderKey> order;
};

// LIMIT and OFFSET, where they are of what comes out of a tail and not of the rows read.
struct Share {
  std::optional<uint64_t> limit;
  uint64_t offset = 0;
};
inline bool TakesAllRows(const SelectTail& t) { return t.grouped || t.distinct || !t.order.empty(); }

// Does the statement need more than columns of matching rows?
bool NeedsTail(const Statement& statement);
// `*` is the first `num_visible` columns. Fills out->tail, out->columns and out->output_names. (bind_select.cc)
Status BindSelect(const Statement& statement, const arrow::Schema& schema, int num_visible, const Params& params,
                  BoundQuery* out);
// The answer over `rows`, a plain query that gives tail->inputs. (run_select.cc)
// `source`: its name, for damage that only expressions meet (of JSONB).
// `all_rows`: the snapshot whose every row they are, where its statistics may answer instead; else null.
std::unique_ptr<QueryResult> RunSelect(std::unique_ptr<QueryResult> rows, std::shared_ptr<const SelectTail> tail,
                                       std::string source, const Share& share, std::shared_ptr<const Snapshot> all_rows,
                                       const QueryOptions& options, const ReadContext& ctx);
// The one group of a query without GROUP BY, from statistics alone; null where they do not say it all. (from_stats.cc)
Result<std::shared_ptr<arrow::RecordBatch>> GroupFromStats(const SelectTail& tail, const Snapshot& snapshot,
                                                           ReadContext& ctx);
// For Explain: one line a step.
std::string SelectText(const SelectTail& tail, const Share& share);

// An expression as text: names as written, calls in lower case; what a column without an alias is called. (expr_text.cc)
std::string ExprText(const Expr& e);
// The same for equal expressions however written: columns by their full path, through `path_of`.
using PathOf = std::function<std::string(const Expr& column)>;
std::string CanonicalText(const Expr& e, const PathOf& path_of);

}  // namespace pilum
