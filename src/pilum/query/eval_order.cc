#include "pilum/query/eval_order.h"

#include <algorithm>
#include <numeric>

#include <arrow/type.h>

#include "pilum/source/field_path.h"

namespace pilum {
namespace {

using Node = BoundPredicate::Node;

constexpr uint64_t kEnoughSeen = 4096;  // rows asked, after which what was seen is believed

}  // namespace

EvalOrder::EvalOrder(const Node& root, const arrow::Schema& schema) : root_(root), schema_(schema) {
  AddChains(root);
  Rank();
}

void EvalOrder::AddChains(const Node& node) {
  if (IsChain(node)) {
    chains_.push_back(&node);
    auto& order = orders_[&node];
    order.resize(node.children.size());
    std::iota(order.begin(), order.end(), 0);
    for (const auto& child : node.children) parts_[child.get()];
  }
  if (node.kind == Node::Kind::kLeaf && node.probe) {
    auto field = FieldAt(schema_, node.probe->column);
    if (field.ok()) columns_[node.probe->column].type = (*field)->type();
  }
  for (const auto& child : node.children) AddChains(*child);
}

Status EvalOrder::Learn(const Unit& unit, ReadContext& ctx) {
  if (units_ == kMostUnits) return Status::OK();
  ++units_;
  learned_ = true;
  for (auto& [path, column] : columns_) {
    PILUM_ASSIGN_OR_RETURN(auto stats, unit.Stats(path, ctx));
    if (!stats) continue;
    if (!column.stats) column.stats = ColumnStats::Make(*column.type);
    const Status merged = column.stats->Merge(*stats);
    if (!merged.ok() && KindOf(merged) != ErrorKind::kUsage) return merged;  // of unlike kinds: as if it said nothing
  }
  return Status::OK();
}

EvalOrder::Part EvalOrder::Estimate(const Node& node) const {
  const auto counted = parts_.find(&node);
  Part part = counted == parts_.end() ? Part() : counted->second;
  if (learned_) {
    Expect(node, &part);
  } else {
    part.chances = part.expected;
    part.from = part.expected_from;
  }
  if (part.asked >= kEnoughSeen) {
    const double asked = static_cast<double>(part.asked), is_true = static_cast<double>(part.is_true);
    part.chances = {is_true / asked, (asked - is_true - static_cast<double>(part.is_false)) / asked};
    part.from = From::kSeen;
  }
  return part;
}

void EvalOrder::Expect(const Node& node, Part* part) const {
  part->from = part->expected_from = From::kGuess;
  if (node.kind == Node::Kind::kConst) {
    part->expected = !node.constant ? Chances{0, 1} : Chances{*node.constant ? 1.0 : 0.0, 0};
    part->expected_from = From::kStatistics;
  } else if (node.kind == Node::Kind::kLeaf) {
    part->expected = {node.guess, 0};
    const auto column = node.probe ? columns_.find(node.probe->column) : columns_.end();
    if (column != columns_.end() && column->second.stats) {
      if (auto known = ChancesOf(*node.probe, *column->second.stats, *column->second.type)) {
        part->expected = *known;
        part->expected_from = From::kStatistics;
      }
    }
  } else {
    std::vector<Chances> children;
    part->expected_from = From::kStatistics;
    for (const auto& child : node.children) {
      const Part one = Estimate(*child);
      children.push_back(one.chances);
      if (one.from == From::kGuess) part->expected_from = From::kGuess;
    }
    part->expected = Combined(node.kind, children);
  }
  part->chances = part->expected;
  part->from = part->expected_from;
}

void EvalOrder::Rank() {
  for (auto& [node, part] : parts_) part = Estimate(*node);
  learned_ = false;
  for (const Node* chain : chains_) {
    // Cost for each row that is decided: asked in this order, the chain costs least. A row is decided by FALSE in an AND, by
    // TRUE in an OR; at the root NULL is as good as FALSE.
    auto rank = [&](uint32_t i) {
      const Node& child = *chain->children[i];
      const Chances& c = parts_.at(&child).chances;
      const bool is_and = chain->kind == Node::Kind::kAnd;
      const double decided = !is_and ? c.is_true : chain == &root_ ? 1 - c.is_true : c.is_false();
      return child.cost / std::max(decided, 1e-9);
    };
    auto& order = orders_.at(chain);
    std::vector<double> ranks;
    for (uint32_t i = 0; i < chain->children.size(); ++i) ranks.push_back(rank(i));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return ranks[a] < ranks[b]; });
  }
}

std::span<const uint32_t> EvalOrder::PartsOf(const Node& chain) const {
  const std::span<const uint32_t> order = orders_.at(&chain);
  if (&chain != &root_) return order;
  const size_t end = std::min(end_, order.size());
  return order.subspan(std::min(begin_, end), end - std::min(begin_, end));
}

void EvalOrder::Count(const Node& node, uint64_t asked, uint64_t is_true, uint64_t is_false) {
  Part& part = parts_.at(&node);
  part.asked += asked;
  if (node.children.empty()) evaluations_ += asked;  // else its own parts are counted
  part.is_true += is_true;
  part.is_false += is_false;
}

EvalOrder::OnlyPart::OnlyPart(EvalOrder* order, size_t begin, size_t end) : order_(order) {
  order->begin_ = begin;
  order->end_ = end;
}
EvalOrder::OnlyPart::~OnlyPart() {
  order_->begin_ = 0;
  order_->end_ = SIZE_MAX;
}

size_t EvalOrder::FewAfter(double share) const {
  if (root_.kind != Node::Kind::kAnd) return 0;
  double left = 1;
  const auto& order = orders_.at(&root_);
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    const Part& part = parts_.at(root_.children[order[i]].get());
    if (part.from == From::kGuess) return 0;
    left *= part.chances.is_true;
    if (left <= share) return i + 1;
  }
  return 0;
}

}  // namespace pilum
