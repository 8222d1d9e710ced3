#include "pilum/query/narrow.h"

namespace pilum {
namespace {

using Node = BoundPredicate::Node;

struct Narrower {
  const Unit& unit;
  bool use_index;
  ReadContext& ctx;

  Candidates All() const { return {RowSet::All(unit.num_rows()), RowSet::All(unit.num_rows()), {}}; }

  // `only_true`: the caller asks which rows are TRUE and not which are NULL or FALSE (no NOT above). Then an AND with
  // no possible row left, or an OR with all rows certain, needs no further probe.
  Result<Candidates> Fold(const Node& node, bool only_true) const {
    switch (node.kind) {
      case Node::Kind::kConst:
        if (!node.constant) return Candidates{{}, {}, RowSet::All(unit.num_rows())};
        return *node.constant ? All() : Candidates::AllFalse();
      case Node::Kind::kNot: {
        PILUM_ASSIGN_OR_RETURN(auto inner, Fold(*node.children.at(0), false));
        return Candidates::Not(inner, unit.num_rows());
      }
      case Node::Kind::kAnd: {
        Candidates all = All();
        std::vector<bool> answered(node.children.size(), false);
        PILUM_RETURN_NOT_OK(AskPairs(node, only_true, &all, &answered));
        for (size_t i = 0; i < node.children.size(); ++i) {
          if (all.possible.empty() && only_true) break;
          if (answered[i]) continue;
          PILUM_ASSIGN_OR_RETURN(auto c, Fold(*node.children[i], only_true));
          all = Candidates::And(all, c);
          if (all.possible.empty() && (only_true || all.maybe_null.empty())) break;
        }
        return all;
      }
      case Node::Kind::kOr: {
        Candidates any = Candidates::AllFalse();
        for (const auto& child : node.children) {
          PILUM_ASSIGN_OR_RETURN(auto c, Fold(*child, only_true));
          any = Candidates::Or(any, c);
          if (any.certain.size() == unit.num_rows()) break;
        }
        return any;
      }
      case Node::Kind::kLeaf: return Leaf(node);
    }
    return Candidates::Unknown(unit.num_rows());
  }

  // An index over two columns knows the rows of both children at once. Where only TRUE rows are asked for and it knows them
  // for certain, those two need not be asked.
  Status AskPairs(const Node& node, bool only_true, Candidates* all, std::vector<bool>* answered) const {
    if (!use_index || !only_true) return Status::OK();  // it does not know which of the other rows are NULL
    for (const Node::Pair& pair : node.pairs) {
      if ((*answered)[pair.first] && (*answered)[pair.second]) continue;
      PILUM_ASSIGN_OR_RETURN(const Candidates c, Ask(pair.probe));
      if (c.certain == c.possible) {
        *all = Candidates::And(*all, c);
        (*answered)[pair.first] = (*answered)[pair.second] = true;
      } else {
        all->possible = all->possible.Intersect(c.possible);
        all->certain = all->certain.Intersect(c.possible);
      }
      if (all->possible.empty()) break;
    }
    return Status::OK();
  }

  Result<Candidates> Leaf(const Node& node) const {
    if (!node.probe || !use_index) return Candidates::Unknown(unit.num_rows());
    PILUM_ASSIGN_OR_RETURN(Candidates all, Ask(*node.probe));
    for (const Probe& probe : node.more_probes) {
      if (all.possible.empty()) break;
      PILUM_ASSIGN_OR_RETURN(auto more, Ask(probe));
      all = Candidates::And(all, more);
    }
    return all;
  }

  Result<Candidates> Ask(const Probe& probe) const {
    PILUM_ASSIGN_OR_RETURN(auto c, unit.Narrow(probe, ctx));
    // A row number past the unit is a broken index; the rows themselves are all that can be read.
    const RowSet rows = RowSet::All(unit.num_rows());
    if (!c.possible.IsSubsetOf(rows) || !c.certain.IsSubsetOf(c.possible)) return Candidates::Unknown(unit.num_rows());
    if (!probe.exact) {  // membership is necessary, not sufficient: inside the set anything can be
      c.certain = RowSet();
      c.maybe_null = c.maybe_null.Union(c.possible);
    }
    return c;
  }
};

}  // namespace

Result<Candidates> Narrow(const BoundPredicate::Node& predicate, const Unit& unit, bool use_index, ReadContext& ctx) {
  return Narrower{unit, use_index, ctx}.Fold(predicate, true);
}

}  // namespace pilum
