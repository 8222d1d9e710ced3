#include "pilum/query/prune.h"

namespace pilum {
namespace {

using Node = BoundPredicate::Node;

// What must be possible for a leaf to be FALSE; nullopt: no probe says it.
std::optional<Probe> Opposite(const Node& leaf) {
  if (!leaf.probe || !leaf.more_probes.empty()) return std::nullopt;  // none of several is exact
  Probe opposite = *leaf.probe;
  if (opposite.kind == Probe::Kind::kIsNull) {
    opposite.kind = Probe::Kind::kInSet;
    opposite.set = ValueSet::All();
    opposite.exact = true;
    return opposite;
  }
  // Values outside a set are a set, if membership is all that is asked. No set says which texts lack words, or lists an
  // element; and of an inexact probe FALSE rows may lie inside the set, or be null.
  if (opposite.kind != Probe::Kind::kInSet || !opposite.exact) return std::nullopt;
  opposite.set = opposite.set.Complement();
  return opposite;
}

void AddProbes(const Node& node, bool wanted, std::vector<Probe>* out) {
  if (node.kind == Node::Kind::kNot) wanted = !wanted;
  for (const auto& child : node.children) AddProbes(*child, wanted, out);
  if (wanted) {
    for (const Node::Pair& pair : node.pairs) out->push_back(pair.probe);
  }
  if (node.kind != Node::Kind::kLeaf || !node.probe) return;
  if (!wanted) {
    if (auto opposite = Opposite(node)) out->push_back(std::move(*opposite));
    return;
  }
  out->push_back(*node.probe);
  out->insert(out->end(), node.more_probes.begin(), node.more_probes.end());
}

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
    const auto opposite = Opposite(node);
    return opposite ? Ask(*opposite) : true;
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

std::vector<Probe> ProbesOf(const BoundPredicate::Node& predicate) {
  std::vector<Probe> out;
  AddProbes(predicate, true, &out);
  return out;
}

}  // namespace pilum
