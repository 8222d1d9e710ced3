#include "pilum/query/prune.h"

namespace pilum {
namespace {

using Node = BoundPredicate::Node;

struct Pruner {
  const Unit& unit;
  bool use_index;
  ReadContext& ctx;

  // Can any row give `wanted`? NOT turns the question round instead of the answer: "no row may be TRUE" says nothing
  // about which rows are FALSE and which are NULL.
  Result<bool> May(const Node& node, bool wanted) const {
    switch (node.kind) {
      case Node::Kind::kConst: return node.constant == wanted;
      case Node::Kind::kNot: return May(*node.children.at(0), !wanted);
      case Node::Kind::kAnd: return wanted ? AllTrue(node) : Any(node, wanted);
      case Node::Kind::kOr: return wanted ? Any(node, wanted) : All(node, wanted);
      case Node::Kind::kLeaf: return MayLeaf(node, wanted);
    }
    return true;
  }

  Result<bool> All(const Node& node, bool wanted) const {
    for (const auto& child : node.children) {
      PILUM_ASSIGN_OR_RETURN(bool may, May(*child, wanted));
      if (!may) return false;
    }
    return true;
  }

  Result<bool> AllTrue(const Node& node) const {
    PILUM_ASSIGN_OR_RETURN(const bool may, All(node, true));
    if (!may || !use_index) return may;
    for (const Node::Pair& pair : node.pairs) {
      PILUM_ASSIGN_OR_RETURN(const bool both, unit.MayMatch(pair.probe, ctx));
      if (!both) return false;
    }
    return true;
  }

  Result<bool> Any(const Node& node, bool wanted) const {
    for (const auto& child : node.children) {
      PILUM_ASSIGN_OR_RETURN(bool may, May(*child, wanted));
      if (may) return true;
    }
    return false;
  }

  Result<bool> MayLeaf(const Node& node, bool wanted) const {
    if (!node.probe || !use_index) return true;
    if (wanted) {
      PILUM_ASSIGN_OR_RETURN(bool may, Ask(*node.probe));
      for (const Probe& probe : node.more_probes) {
        if (!may) break;
        PILUM_ASSIGN_OR_RETURN(may, Ask(probe));
      }
      return may;
    }
    if (!node.more_probes.empty()) return true;  // none is exact
    Probe opposite = *node.probe;
    // Lists without such an element, texts without such a word: no set says that.
    if (opposite.kind == Probe::Kind::kHasElement || opposite.kind == Probe::Kind::kHasWords) return true;
    if (opposite.kind == Probe::Kind::kIsNull) {
      opposite.kind = Probe::Kind::kInSet;
      opposite.set = ValueSet::All();
      opposite.exact = true;
      return Ask(opposite);
    }
    if (!opposite.exact) return true;  // it only implies membership: FALSE rows may lie inside the set, or be null
    opposite.set = opposite.set.Complement();
    return Ask(opposite);
  }

  Result<bool> Ask(const Probe& probe) const {
    if (probe.kind != Probe::Kind::kIsNull && probe.set.empty()) return false;
    return unit.MayMatch(probe, ctx);
  }
};

}  // namespace

Result<bool> MayMatch(const BoundPredicate::Node& predicate, const Unit& unit, bool use_index, ReadContext& ctx) {
  if (unit.num_rows() == 0) return false;
  return Pruner{unit, use_index, ctx}.May(predicate, true);
}

}  // namespace pilum
