// AND and OR: three-valued, each part asked only for the rows that those before it have not decided.
#include <algorithm>
#include <bit>

#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_primitive.h>

#include "pilum/query/eval_order.h"
#include "pilum/query/evaluate.h"

namespace pilum {
namespace {

using Node = BoundPredicate::Node;
using Bits = std::vector<uint64_t>;

Bits AllRows(int64_t rows) { return Tri::Constant(rows, true).is_true; }

int64_t CountOf(const Bits& bits) {
  int64_t n = 0;
  for (uint64_t w : bits) n += std::popcount(w);
  return n;
}

template <typename F>
void ForEachRow(const Bits& bits, F f) {
  for (size_t w = 0; w < bits.size(); ++w) {
    for (uint64_t left = bits[w]; left != 0; left &= left - 1) f(static_cast<int64_t>(w) * 64 + std::countr_zero(left));
  }
}

// Is it worth its while to copy the columns of so few rows? A test that costs little is as soon done on all.
bool CopyPays(const Node& part, int64_t wanted, int64_t rows) {
  if (wanted * 32 <= rows) return true;
  return part.cost >= 8 && wanted * (part.cost >= 30 ? 4 : 8) <= rows;
}

class ChainBool : public BoolExpr {
 public:
  ChainBool(std::shared_ptr<const Node> node, bool is_and, std::vector<BoolPtr> children)
      : BoolExpr(std::move(node)), is_and_(is_and), children_(std::move(children)) {
    for (uint32_t i = 0; i < children_.size(); ++i) as_written_.push_back(i);
  }

  Result<Tri> Eval(EvalContext& in) const override {
    const bool only_true = std::exchange(in.only_true, false);
    Tri t = Tri::Constant(in.rows, is_and_);
    // AND: true where all are, false where any is. OR: the same with the bitmaps exchanged.
    Bits &all = is_and_ ? t.is_true : t.is_false, &any = is_and_ ? t.is_false : t.is_true;
    Bits open = in.active ? *in.active : AllRows(in.rows);  // rows that nothing has decided
    EvalOrder* order = in.order && in.order->Knows(*node()) ? in.order : nullptr;
    for (uint32_t i : order ? order->PartsOf(*node()) : std::span<const uint32_t>(as_written_)) {
      PILUM_RETURN_NOT_OK(in.ctx.Check());
      const int64_t wanted = CountOf(open);
      if (wanted == 0) break;
      PILUM_ASSIGN_OR_RETURN(Tri c, EvalOpen(*children_[i], in, open, wanted, only_true));
      const Bits &child_all = is_and_ ? c.is_true : c.is_false, &child_any = is_and_ ? c.is_false : c.is_true;
      if (order) Count(*children_[i]->node(), c, open, wanted, order);
      for (size_t w = 0; w < all.size(); ++w) {
        all[w] &= child_all[w] | ~open[w];
        any[w] |= child_any[w] & open[w];
        // Where FALSE is as good as NULL, one part that is not true decides an AND.
        open[w] &= only_true && is_and_ ? all[w] : ~any[w];
      }
    }
    return t;
  }

 private:
  // `wanted` rows are `open`; the answer means something for them only.
  static Result<Tri> EvalOpen(const BoolExpr& part, EvalContext& in, const Bits& open, int64_t wanted, bool only_true) {
    const bool tell = only_true && IsChain(*part.node());
    if (wanted < in.rows && CopyPays(*part.node(), wanted, in.rows)) {
      EvalContext some{in.batch, in.ctx, wanted, {}, in.strict};
      some.order = in.order;
      some.only_true = tell;
      some.whole = &in;
      arrow::Int64Builder rows(in.ctx.memory_pool());
      PILUM_RETURN_NOT_OK(rows.Reserve(wanted));
      ForEachRow(open, [&](int64_t row) { rows.UnsafeAppend(row); });
      PILUM_ASSIGN_OR_RETURN(some.rows_of_whole, rows.Finish());
      PILUM_ASSIGN_OR_RETURN(Tri found, part.Eval(some));
      return Spread(found, open, in.rows);
    }
    const Bits* before = std::exchange(in.active, wanted < in.rows ? &open : in.active);
    in.only_true = tell;
    auto found = part.Eval(in);
    in.only_true = false;
    in.active = before;
    return found;
  }

  static Tri Spread(const Tri& some, const Bits& rows, int64_t num_rows) {
    Tri t = Tri::Null(num_rows);
    int64_t at = 0;
    ForEachRow(rows, [&](int64_t row) {
      const auto from = static_cast<size_t>(at / 64), to = static_cast<size_t>(row / 64);
      t.is_true[to] |= (some.is_true[from] >> (at % 64) & 1) << (row % 64);
      t.is_false[to] |= (some.is_false[from] >> (at % 64) & 1) << (row % 64);
      ++at;
    });
    return t;
  }

  static void Count(const Node& part, const Tri& t, const Bits& open, int64_t wanted, EvalOrder* order) {
    int64_t is_true = 0, is_false = 0;
    for (size_t w = 0; w < open.size(); ++w) {
      is_true += std::popcount(t.is_true[w] & open[w]);
      is_false += std::popcount(t.is_false[w] & open[w]);
    }
    order->Count(part, static_cast<uint64_t>(wanted), static_cast<uint64_t>(is_true), static_cast<uint64_t>(is_false));
  }

  bool is_and_;
  std::vector<BoolPtr> children_;
  std::vector<uint32_t> as_written_;
};

// Children that name values of one column each, two by two. Of many the first ones.
void AddPairs(const std::vector<BoolPtr>& children, Node* node) {
  constexpr size_t kMost = 5, kMostValues = 16;
  std::vector<size_t> named;
  for (size_t i = 0; i < children.size() && named.size() < kMost; ++i) {
    const auto& probe = children[i]->node()->probe;
    if (!children[i]->set() || !probe || probe->kind != Probe::Kind::kInSet || !probe->exact) continue;
    if (probe->set.intervals().size() > kMostValues || !probe->set.AsPoints() || probe->set.empty()) continue;
    named.push_back(i);
  }
  for (size_t i = 0; i < named.size(); ++i) {
    for (size_t j = i + 1; j < named.size(); ++j) {
      const Probe &a = *children[named[i]]->node()->probe, &b = *children[named[j]]->node()->probe;
      Probe both{Probe::Kind::kInPair, a.column, a.set};
      both.second = b.column;
      both.second_set = b.set;
      node->pairs.push_back({std::move(both), named[i], named[j]});
    }
  }
}

std::shared_ptr<const Node> ChainNode(bool is_and, const std::vector<BoolPtr>& children) {
  auto node = std::make_shared<Node>();
  node->kind = is_and ? Node::Kind::kAnd : Node::Kind::kOr;
  node->cost = 0;
  size_t shown = 0;
  for (const auto& c : children) {
    node->children.push_back(c->node());
    node->cost += c->node()->cost;
    if (++shown <= 20) node->text += (shown > 1 ? (is_and ? " AND " : " OR ") : "") + c->node()->text;
  }
  if (shown > 20) node->text += fmt::format(" … ({} in all)", children.size());
  node->text = "(" + node->text + ")";
  if (is_and) AddPairs(children, node.get());
  return node;
}

// Halves again and again, so that n sets cost n log n.
ValueSet Combine(const std::vector<const ValueSet*>& sets, size_t from, size_t to, bool is_and) {
  if (to - from == 1) return *sets[from];
  size_t middle = from + (to - from) / 2;
  ValueSet a = Combine(sets, from, middle, is_and), b = Combine(sets, middle, to, is_and);
  return is_and ? a.Intersect(b) : a.Union(b);
}

BoolPtr MakeChain(bool is_and, std::vector<BoolPtr> children) {
  // x IN A OR x IN B is x IN (A ∪ B), AND is the intersection: all are NULL where x is, so NULLs agree too.
  std::map<FieldPath, std::vector<size_t>> by_column;
  for (size_t i = 0; i < children.size(); ++i) {
    if (children[i]->set() != nullptr && children[i]->operand()->column() != nullptr) {
      by_column[*children[i]->operand()->column()].push_back(i);
    }
  }
  for (const auto& [path, members] : by_column) {
    if (members.size() < 2) continue;
    std::vector<const ValueSet*> sets;
    for (size_t i : members) sets.push_back(children[i]->set());
    ValueSet set = Combine(sets, 0, sets.size(), is_and);
    std::string text = path.ToString() + " in " + set.ToString();
    auto merged = MakeInSet(children[members[0]]->operand(), std::move(set), std::move(text));
    for (size_t i : members) children[i] = nullptr;
    children[members[0]] = std::move(merged);
  }
  std::erase(children, nullptr);
  if (children.size() == 1) return children[0];
  auto node = ChainNode(is_and, children);
  return std::make_shared<ChainBool>(std::move(node), is_and, std::move(children));
}

}  // namespace

BoolPtr MakeAnd(std::vector<BoolPtr> children) { return MakeChain(true, std::move(children)); }
BoolPtr MakeOr(std::vector<BoolPtr> children) { return MakeChain(false, std::move(children)); }

}  // namespace pilum
