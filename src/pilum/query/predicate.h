// A bound predicate: names resolved, literals converted, types checked against one schema (docs/formats/sql.md). Made by
// query/bind, walked by plan and narrow, evaluated by recheck. Immutable and thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/context.h"
#include "pilum/base/status.h"
#include "pilum/base/types.h"
#include "pilum/index/index.h"

namespace pilum {

class EvalOrder;

class BoundPredicate {
 public:
  // The boolean skeleton, for pruning and narrowing. Leaves carry a probe where an index could help.
  struct Node {
    enum class Kind { kAnd, kOr, kNot, kConst, kLeaf };
    Kind kind = Kind::kLeaf;
    std::vector<std::shared_ptr<const Node>> children;
    std::optional<bool> constant;    // kConst: TRUE, FALSE, or NULL (nullopt)
    std::optional<Probe> probe;      // kLeaf: nullopt = only recheck can tell
    std::vector<Probe> more_probes;  // kLeaf: further ones, none exact; TRUE implies every one
    // kAnd: probes of kind kInPair that TRUE implies, each the same as two of the children together.
    struct Pair {
      Probe probe;
      size_t first, second;  // which children
    };
    std::vector<Pair> pairs;
    std::string text;        // for --explain
    double cost = 1;         // to evaluate, about nanoseconds a row (query/selectivity.h)
    double guess = 1.0 / 3;  // kLeaf: the share of rows that are TRUE, where nothing is known of the column
  };

  virtual ~BoundPredicate() = default;
  virtual const Node& root() const = 0;
  // Every column (leaf path where possible) that Evaluate needs, without duplicates, in order of appearance.
  virtual const std::vector<FieldPath>& columns() const = 0;
  // Those of columns() that only json_* functions look at, which take JSONB (StoredJson, source/field_path.h) too.
  virtual const std::vector<FieldPath>& json_only() const {
    static const std::vector<FieldPath> none;
    return none;
  }
  // Of each child of an AND at the root, the columns that it needs; empty where that is not known.
  virtual std::vector<std::vector<FieldPath>> conjunct_columns() const { return {}; }
  // TRUE / FALSE / NULL a row, exactly as docs/formats/sql.md says. `batch` holds at least columns(), shaped as
  // FileReader::Read gives them. Checks ctx between pieces of work.
  virtual Result<std::shared_ptr<arrow::BooleanArray>> Evaluate(const arrow::RecordBatch& batch,
                                                                ReadContext& ctx) const = 0;
  // The same where TRUE; elsewhere FALSE or NULL, whichever was found first. `order` says which parts are asked first, and
  // counts. Only this may be asked for a part of an AND (EvalOrder::OnlyPart); `batch` need hold that part's columns alone.
  virtual Result<std::shared_ptr<arrow::BooleanArray>> Filter(const arrow::RecordBatch& batch, EvalOrder& order,
                                                              ReadContext& ctx) const {
    return Evaluate(batch, ctx);
  }
  virtual std::string ToString() const = 0;
};

}  // namespace pilum
