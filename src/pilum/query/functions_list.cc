// Lists: array_has and its kin against literals, and cardinality. Elements are tested as a column of their type would be.
#include <arrow/compute/api.h>

#include "pilum/query/functions.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

struct ListView {
  std::shared_ptr<arrow::Array> list, items;
  std::function<std::pair<int64_t, int64_t>(int64_t)> span;  // begin and end of row i in items
};

Result<ListView> ViewOf(std::shared_ptr<arrow::Array> array) {
  PILUM_ASSIGN_OR_RETURN(array, Plain(std::move(array)));
  ListView v{array, nullptr, nullptr};
  auto of = [&](const auto& list) {
    v.items = list.values();
    v.span = [&list](int64_t i) {
      return std::pair<int64_t, int64_t>(list.value_offset(i), list.value_offset(i) + list.value_length(i));
    };
  };
  switch (array->type_id()) {
    case arrow::Type::LIST:
    case arrow::Type::MAP: of(static_cast<const arrow::ListArray&>(*array)); break;
    case arrow::Type::LARGE_LIST: of(static_cast<const arrow::LargeListArray&>(*array)); break;
    case arrow::Type::FIXED_SIZE_LIST: of(static_cast<const arrow::FixedSizeListArray&>(*array)); break;
    default: return Status::TypeError("not a list: ", array->type()->ToString());
  }
  return v;
}

bool IsList(const std::shared_ptr<arrow::DataType>& type) {
  auto id = PlainType(type)->id();
  return id == arrow::Type::LIST || id == arrow::Type::LARGE_LIST || id == arrow::Type::FIXED_SIZE_LIST;
}

// The items of the lists as a column of a batch, so that a test of a column can run over them.
class Items : public ValueExpr {
 public:
  explicit Items(std::shared_ptr<arrow::DataType> type, int at = 0) : ValueExpr(std::move(type)), at_(at) {}
  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    if (!in.whole) return in.batch.column(at_);
    PILUM_ASSIGN_OR_RETURN(auto whole, Eval(*in.whole));
    return in.OwnRows(std::move(whole));
  }
  double cost() const override { return 0; }
  std::string ToString() const override { return at_ == 0 ? "item" : "value"; }

 private:
  int at_;
};

// all: every test must hold for some element; else one test must. A row is NULL only where its list is.
class ListHas : public BoolExpr {
 public:
  ListHas(std::shared_ptr<const Node> node, ValuePtr list, std::vector<BoolPtr> tests, bool all)
      : BoolExpr(std::move(node)), list_(std::move(list)), tests_(std::move(tests)), all_(all) {}

  Result<Tri> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto array, list_->Eval(in));
    PILUM_ASSIGN_OR_RETURN(ListView v, ViewOf(std::move(array)));
    auto batch =
        arrow::RecordBatch::Make(arrow::schema({arrow::field("item", v.items->type())}), v.items->length(), {v.items});
    EvalContext inner{*batch, in.ctx, v.items->length(), {}};
    std::vector<uint64_t> matches(WordsFor(in.rows), 0);
    if (all_) std::fill(matches.begin(), matches.end(), ~uint64_t{0});
    for (const auto& test : tests_) {
      PILUM_RETURN_NOT_OK(in.ctx.Check());
      PILUM_ASSIGN_OR_RETURN(Tri t, test->Eval(inner));
      for (int64_t i = 0; i < in.rows; ++i) {
        bool found = false;
        if (v.list->IsValid(i)) {
          auto [from, to] = v.span(i);
          for (int64_t k = from; k < to && !found; ++k) found = t.is_true[static_cast<size_t>(k / 64)] >> (k % 64) & 1;
        }
        auto& word = matches[static_cast<size_t>(i / 64)];
        const uint64_t bit = uint64_t{1} << (i % 64);
        if (all_ && !found) word &= ~bit;
        if (!all_ && found) word |= bit;
      }
    }
    return Tri::FromMatches(*v.list, std::move(matches));
  }

 private:
  ValuePtr list_;
  std::vector<BoolPtr> tests_;
  bool all_;
};

// array_has(list, value) with a value that differs by row: each element is compared beside its row's value.
class ListHasValue : public BoolExpr {
 public:
  ListHasValue(std::shared_ptr<const Node> node, ValuePtr list, ValuePtr value, BoolPtr equal)
      : BoolExpr(std::move(node)), list_(std::move(list)), value_(std::move(value)), equal_(std::move(equal)) {}

  Result<Tri> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto array, list_->Eval(in));
    PILUM_ASSIGN_OR_RETURN(ListView v, ViewOf(std::move(array)));
    PILUM_ASSIGN_OR_RETURN(auto value, EvalPlain(*value_, in));
    arrow::Int64Builder item_of, row_of;
    for (int64_t i = 0; i < in.rows; ++i) {
      if (v.list->IsNull(i) || value->IsNull(i)) continue;
      auto [from, to] = v.span(i);
      for (int64_t k = from; k < to; ++k) {
        PILUM_RETURN_NOT_OK(item_of.Append(k));
        PILUM_RETURN_NOT_OK(row_of.Append(i));
      }
    }
    PILUM_ASSIGN_OR_RETURN(auto item_index, item_of.Finish());
    PILUM_ASSIGN_OR_RETURN(auto row_index, row_of.Finish());
    PILUM_ASSIGN_OR_RETURN(auto plain_items, Plain(v.items));
    PILUM_ASSIGN_OR_RETURN(arrow::Datum items, arrow::compute::Take(plain_items, item_index));
    PILUM_ASSIGN_OR_RETURN(arrow::Datum values, arrow::compute::Take(value, row_index));
    const arrow::ArrayVector columns = {items.make_array(), values.make_array()};
    auto batch = arrow::RecordBatch::Make(
        arrow::schema({arrow::field("item", columns[0]->type()), arrow::field("value", columns[1]->type())}),
        row_index->length(), columns);
    EvalContext inner{*batch, in.ctx, row_index->length(), {}};
    PILUM_ASSIGN_OR_RETURN(Tri t, equal_->Eval(inner));
    Tri out = Tri::Null(in.rows);
    for (int64_t i = 0; i < in.rows; ++i) {
      if (v.list->IsValid(i) && value->IsValid(i)) out.is_false[static_cast<size_t>(i / 64)] |= uint64_t{1} << (i % 64);
    }
    const auto& rows = static_cast<const arrow::Int64Array&>(*row_index);
    for (int64_t k = 0; k < rows.length(); ++k) {
      if ((t.is_true[static_cast<size_t>(k / 64)] >> (k % 64) & 1) == 0) continue;
      const auto word = static_cast<size_t>(rows.Value(k) / 64);
      const uint64_t bit = uint64_t{1} << (rows.Value(k) % 64);
      out.is_true[word] |= bit;
      out.is_false[word] &= ~bit;
    }
    return out;
  }

 private:
  ValuePtr list_, value_;
  BoolPtr equal_;
};

class Cardinality : public ValueExpr {
 public:
  explicit Cardinality(ValuePtr list) : ValueExpr(arrow::int64()), list_(std::move(list)) {}
  std::string ToString() const override { return fmt::format("cardinality({})", list_->ToString()); }
  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto array, list_->Eval(in));
    PILUM_ASSIGN_OR_RETURN(ListView v, ViewOf(std::move(array)));
    arrow::Int64Builder out;
    PILUM_RETURN_NOT_OK(out.Reserve(in.rows));
    for (int64_t i = 0; i < in.rows; ++i) {
      if (v.list->IsNull(i)) {
        out.UnsafeAppendNull();
      } else {
        auto [from, to] = v.span(i);
        out.UnsafeAppend(to - from);
      }
    }
    return out.Finish();
  }

 private:
  ValuePtr list_;
};

// What an index is asked: an element in any of the sets, or one in each.
std::shared_ptr<BoundPredicate::Node> HasElementNode(const FieldPath& column, const std::vector<ValueSet>& sets,
                                                     bool all) {
  auto node = std::make_shared<BoundPredicate::Node>();
  auto probe = [&](ValueSet set, bool exact) { return Probe{Probe::Kind::kHasElement, column, std::move(set), exact}; };
  if (!all || sets.size() == 1) {
    ValueSet any;
    for (const ValueSet& s : sets) any = any.Union(s);
    node->probe = probe(std::move(any), true);
    return node;
  }
  for (const ValueSet& s : sets) {  // none: TRUE, but NULL where the list is: no index knows
    if (node->probe)
      node->more_probes.push_back(probe(s, false));
    else
      node->probe = probe(s, false);
  }
  return node;
}

}  // namespace

Result<Operand> BindArrayHas(FunctionCall f) {
  const bool one = f.call.name == "array_has" || f.call.name == "array_contains";
  const Operand& list = f.args[0];
  if (IsNullOperand(list) || IsNullOperand(f.args[1])) return NullOperand(f.call.pos);
  if (list.literal) return NotYetAt(list.pos, "a list literal as the first argument is");
  if (!list.value || !IsList(list.value->type())) return WrongArgument(f, 0, "a list");
  const auto item_type = TypeOf(*PlainType(list.value->type())->field(0));
  if (!f.args[1].literal) {
    if (!one) return NotYetAt(f.args[1].pos, "a list that is not a literal as the second argument is");
    PILUM_ASSIGN_OR_RETURN(ValuePtr value, f.binder.AsValue(f.args[1]));
    PILUM_ASSIGN_OR_RETURN(BoolPtr equal, MakeCompare("=", std::make_shared<Items>(PlainType(item_type)),
                                                      std::make_shared<Items>(PlainType(value->type()), 1)));
    auto node = std::make_shared<BoundPredicate::Node>();
    node->text = fmt::format("{}({}, {})", f.call.name, list.value->ToString(), value->ToString());
    node->cost = 200 + list.value->cost() + value->cost();
    return Boolean(std::make_shared<ListHasValue>(std::move(node), list.value, std::move(value), std::move(equal)),
                   f.call.pos);
  }
  const bool is_list = f.args[1].literal->kind == Literal::Kind::kList;
  if (one == is_list) return WrongArgument(f, 1, one ? "a value" : "a list");
  auto item = std::make_shared<Items>(item_type);
  std::vector<Literal> wanted = is_list ? f.args[1].literal->items : std::vector<Literal>{*f.args[1].literal};
  std::vector<BoolPtr> tests;
  std::vector<ValueSet> sets;
  for (const auto& l : wanted) {
    if (l.kind == Literal::Kind::kNull) {  // NULL equals nothing
      tests.push_back(MakeConst(std::nullopt));
      sets.push_back(ValueSet::None());
      continue;
    }
    PILUM_ASSIGN_OR_RETURN(ValueSet set, CompareSet("=", l, item_type));
    sets.push_back(set);
    tests.push_back(MakeInSet(item, std::move(set), "item"));
  }
  const bool all = f.call.name == "array_has_all";
  if (!all && tests.size() > 1) tests = {MakeOr(std::move(tests))};
  auto node = list.value->column() && !list.value->through_list() ? HasElementNode(*list.value->column(), sets, all)
                                                                  : std::make_shared<BoundPredicate::Node>();
  node->text = fmt::format("{}({}, {})", f.call.name, list.value->ToString(), f.args[1].literal->ToString());
  node->cost = 20 + 10.0 * static_cast<double>(tests.size()) + list.value->cost();
  return Boolean(std::make_shared<ListHas>(std::move(node), list.value, std::move(tests), all), f.call.pos);
}

Result<Operand> BindCardinality(FunctionCall f) {
  const Operand& list = f.args[0];
  if (IsNullOperand(list)) return NullOperand(f.call.pos);
  if (!list.value || !(IsList(list.value->type()) || PlainType(list.value->type())->id() == arrow::Type::MAP)) {
    return WrongArgument(f, 0, "a list");
  }
  return ValueResult(std::make_shared<Cardinality>(list.value), f.call.pos);
}

}  // namespace pilum
