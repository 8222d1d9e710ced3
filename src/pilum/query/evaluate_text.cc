// Tests of texts that are not sets: LIKE with wildcards inside, contains, regular expressions.
#include "pilum/query/evaluate.h"

#include <algorithm>

#include "pilum/values/words.h"

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

// What indexes can be asked where the test is TRUE: a set, pieces (of which no index knows short ones), whole words.
void AddProbes(const FieldPath& column, const std::optional<ValueSet>& implied, Needles& needles,
               BoundPredicate::Node* node) {
  auto add = [&](Probe probe) {
    if (node->probe)
      node->more_probes.push_back(std::move(probe));
    else
      node->probe = std::move(probe);
  };
  if (implied) add({Probe::Kind::kInSet, column, *implied, false});
  for (const std::string& piece : needles.pieces) {
    for (std::string& word : WordsInside(piece)) needles.words.push_back(std::move(word));
  }
  std::sort(needles.words.begin(), needles.words.end());
  needles.words.erase(std::unique(needles.words.begin(), needles.words.end()), needles.words.end());
  std::erase_if(needles.pieces, [](const std::string& n) { return n.size() < kShortestNeedle; });
  if (!needles.pieces.empty())
    add({Probe::Kind::kContains, column, ValueSet::All(), false, std::move(needles.pieces), needles.folded});
  if (!needles.words.empty())
    add({Probe::Kind::kHasWords, column, ValueSet::All(), needles.exact, std::move(needles.words), true});
}

}  // namespace

BoolPtr MakeTextTest(ValuePtr value, TextTest test, std::optional<ValueSet> implied, std::string text, double cost,
                     Needles needles) {
  auto node = Leaf(std::move(text));
  node->cost = (value->type()->id() == arrow::Type::DICTIONARY ? 0.1 * cost : cost) + value->cost();
  node->guess = 0.2;
  if (value->column() != nullptr && !value->through_list()) AddProbes(*value->column(), implied, needles, node.get());
  return std::make_shared<TextTestExpr>(std::move(node), std::move(value), std::move(test));
}

BoolPtr MakeTextPairTest(ValuePtr a, ValuePtr b, TextPairTest test, std::string text) {
  auto node = Leaf(std::move(text));
  node->cost = 100 + a->cost() + b->cost();
  return std::make_shared<TextPairExpr>(std::move(node), std::move(a), std::move(b), std::move(test));
}

}  // namespace pilum
