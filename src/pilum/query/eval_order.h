// In what order the parts of AND and OR are asked: first the one that decides most rows for what it costs. Chances come from
// the merged statistics of the units that are read (distinct counts, top values, quantiles, NULLs), then from what was seen;
// they change the work, never the answer (docs/formats/sql.md). Of one running query, for one thread.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/query/selectivity.h"
#include "pilum/source/snapshot.h"

namespace pilum {

inline bool IsChain(const BoundPredicate::Node& node) {
  using Kind = BoundPredicate::Node::Kind;
  return node.kind == Kind::kAnd || node.kind == Kind::kOr;
}

class EvalOrder {
 public:
  using Node = BoundPredicate::Node;

  // `root` and `schema` (the snapshot's) must outlive it. Ranked by guesses.
  EvalOrder(const Node& root, const arrow::Schema& schema);
  bool has_choice() const { return !chains_.empty(); }

  static constexpr uint64_t kMostUnits = 16;  // whose statistics are read
  // Merges what the unit's statistics say of the tested columns. Errors: only those that stop a read.
  Status Learn(const Unit& unit, ReadContext& ctx);
  // Of all chains anew, by what is known now.
  void Rank();

  // Is this AND or OR one of the tree's? One inside a CASE or under IS TRUE is not: it is asked as written.
  bool Knows(const Node& chain) const { return orders_.count(&chain) > 0; }
  // Children of an AND or OR, in the order to ask them.
  std::span<const uint32_t> PartsOf(const Node& chain) const;
  // What became of `asked` rows.
  void Count(const Node& part, uint64_t asked, uint64_t is_true, uint64_t is_false);
  uint64_t evaluations() const { return evaluations_; }  // rows asked, of all parts together

  // The root, an AND: asks only these of its parts, by their place in the order, while this lives.
  class OnlyPart {
   public:
    OnlyPart(EvalOrder* order, size_t begin, size_t end);
    ~OnlyPart();
    OnlyPart(const OnlyPart&) = delete;

   private:
    EvalOrder* order_;
  };
  // How many of the first parts of the root, an AND, keep at most this share of the rows together, by statistics or by
  // what was seen; 0: none do, or only guesses say so.
  size_t FewAfter(double share) const;

  enum class From { kGuess, kStatistics, kSeen };
  struct Part {
    Chances expected;  // before any row was asked
    From expected_from = From::kGuess;
    Chances chances;  // what the order goes by
    From from = From::kGuess;
    uint64_t asked = 0, is_true = 0, is_false = 0;  // rows
  };
  // For Explain: ANDs and ORs, parents first, and their children.
  const std::vector<const Node*>& chains() const { return chains_; }
  const Part& part(const Node& child) const { return parts_.at(&child); }

 private:
  void AddChains(const Node& node);
  Part Estimate(const Node& node) const;
  void Expect(const Node& node, Part* part) const;

  const Node& root_;
  const arrow::Schema& schema_;
  std::vector<const Node*> chains_;  // parents before children
  std::map<const Node*, std::vector<uint32_t>> orders_;
  std::map<const Node*, Part> parts_;  // children of chains
  struct Column {
    std::shared_ptr<arrow::DataType> type;
    std::optional<ColumnStats> stats;
  };
  std::map<FieldPath, Column> columns_;  // of the probes
  uint64_t units_ = 0, evaluations_ = 0;
  bool learned_ = true;                // something new since the last Rank
  size_t begin_ = 0, end_ = SIZE_MAX;  // of the root's order: OnlyPart
};

}  // namespace pilum
