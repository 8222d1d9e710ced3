// Tests of texts that are not sets: LIKE with wildcards inside, contains, regular expressions.
#include "pilum/query/evaluate.h"

namespace pilum {
namespace {

void Set(std::vector<uint64_t>* bits, int64_t row) {
  (*bits)[static_cast<size_t>(row / 64)] |= uint64_t{1} << (row % 64);
}

bool IsAsked(const std::vector<uint64_t>* active, int64_t row) {
  return active == nullptr || ((*active)[static_cast<size_t>(row / 64)] >> (row % 64) & 1) != 0;
}

Result<Tri> TestEach(const arrow::Array& plain, const TextTest& test, const std::vector<uint64_t>* active) {
  PILUM_ASSIGN_OR_RETURN(auto texts, BytesOf(plain));
  Tri t = Tri::Null(plain.length());
  for (int64_t i = 0; i < plain.length(); ++i) {
    if (plain.IsValid(i) && IsAsked(active, i)) Set(test(texts[static_cast<size_t>(i)]) ? &t.is_true : &t.is_false, i);
  }
  return t;
}

class TextTestExpr : public BoolExpr {
 public:
  TextTestExpr(std::shared_ptr<const Node> node, ValuePtr value, TextTest test)
      : BoolExpr(std::move(node)), value_(std::move(value)), test_(std::move(test)) {}

  Result<Tri> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto array, value_->Eval(in));
    array = Storage(std::move(array));
    if (array->type_id() == arrow::Type::DICTIONARY) {
      const auto& d = static_cast<const arrow::DictionaryArray&>(*array);
      if (d.dictionary()->length() < in.rows) return ByEntry(d);
    }
    PILUM_ASSIGN_OR_RETURN(array, Plain(array));
    return TestEach(*array, test_, in.active);
  }

 private:
  Result<Tri> ByEntry(const arrow::DictionaryArray& d) const {
    PILUM_ASSIGN_OR_RETURN(auto entries, Plain(d.dictionary()));
    PILUM_ASSIGN_OR_RETURN(Tri of_entry, TestEach(*entries, test_, nullptr));
    return Tri::FromEntries(d, of_entry);
  }

  ValuePtr value_;
  TextTest test_;
};

class TextPairExpr : public BoolExpr {
 public:
  TextPairExpr(std::shared_ptr<const Node> node, ValuePtr a, ValuePtr b, TextPairTest test)
      : BoolExpr(std::move(node)), a_(std::move(a)), b_(std::move(b)), test_(std::move(test)) {}
  Result<Tri> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto a, EvalPlain(*a_, in));
    PILUM_ASSIGN_OR_RETURN(auto b, EvalPlain(*b_, in));
    PILUM_ASSIGN_OR_RETURN(auto left, BytesOf(*a));
    PILUM_ASSIGN_OR_RETURN(auto right, BytesOf(*b));
    Tri t = Tri::Null(in.rows);
    for (int64_t i = 0; i < in.rows; ++i) {
      if (a->IsNull(i) || b->IsNull(i) || !IsAsked(in.active, i)) continue;
      auto v = test_(left[static_cast<size_t>(i)], right[static_cast<size_t>(i)]);
      if (v) Set(*v ? &t.is_true : &t.is_false, i);
    }
    return t;
  }

 private:
  ValuePtr a_, b_;
  TextPairTest test_;
};

constexpr size_t kShortestNeedle = 3;  // bytes; no index knows shorter ones

std::shared_ptr<BoundPredicate::Node> Leaf(std::string text) {
  auto node = std::make_shared<BoundPredicate::Node>();
  node->text = std::move(text);
  return node;
}

}  // namespace

BoolPtr MakeTextTest(ValuePtr value, TextTest test, std::optional<ValueSet> implied, std::string text, double cost,
                     Needles needles) {
  auto node = Leaf(std::move(text));
  node->cost = (value->type()->id() == arrow::Type::DICTIONARY ? 0.1 * cost : cost) + value->cost();
  node->guess = 0.2;
  std::erase_if(needles.pieces, [](const std::string& n) { return n.size() < kShortestNeedle; });
  if (value->column() != nullptr && !value->through_list()) {
    if (implied) node->probe = Probe{Probe::Kind::kInSet, *value->column(), std::move(*implied), false};
    if (!needles.pieces.empty()) {
      Probe contains{Probe::Kind::kContains, *value->column(), ValueSet::All(), false};
      contains.needles = std::move(needles.pieces);
      contains.folded = needles.folded;
      if (node->probe)
        node->more_probes.push_back(std::move(contains));
      else
        node->probe = std::move(contains);
    }
  }
  return std::make_shared<TextTestExpr>(std::move(node), std::move(value), std::move(test));
}

BoolPtr MakeTextPairTest(ValuePtr a, ValuePtr b, TextPairTest test, std::string text) {
  auto node = Leaf(std::move(text));
  node->cost = 100 + a->cost() + b->cost();
  return std::make_shared<TextPairExpr>(std::move(node), std::move(a), std::move(b), std::move(test));
}

}  // namespace pilum
