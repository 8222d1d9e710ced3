// Three-valued logic over bitmaps, columns, constants, and the bound predicate itself.
#include "pilum/query/evaluate.h"

#include <algorithm>

#include <arrow/compute/initialize.h>
#include <arrow/util/bitmap_ops.h>

#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

using Node = BoundPredicate::Node;

void ClearTail(std::vector<uint64_t>* bits, int64_t rows) {
  if (rows % 64 != 0) bits->back() &= (uint64_t{1} << (rows % 64)) - 1;
}

}  // namespace

Tri Tri::Null(int64_t rows) {
  Tri t;
  t.rows = rows;
  t.is_true.assign(WordsFor(rows), 0);
  t.is_false.assign(WordsFor(rows), 0);
  return t;
}

Tri Tri::Constant(int64_t rows, std::optional<bool> value) {
  Tri t = Null(rows);
  if (!value) return t;
  auto& bits = *value ? t.is_true : t.is_false;
  std::fill(bits.begin(), bits.end(), ~uint64_t{0});
  ClearTail(&bits, rows);
  return t;
}

Tri Tri::FromMatches(const arrow::Array& array, std::vector<uint64_t> matches) {
  Tri t = Constant(array.length(), false);
  if (array.null_count() == array.length()) return Null(array.length());
  if (array.null_count() > 0 && array.null_bitmap_data() != nullptr) {
    arrow::internal::CopyBitmap(array.null_bitmap_data(), array.offset(), array.length(),
                                reinterpret_cast<uint8_t*>(t.is_false.data()), 0);
    ClearTail(&t.is_false, t.rows);
  }
  t.is_true = std::move(matches);
  for (size_t w = 0; w < t.is_true.size(); ++w) {
    t.is_true[w] &= t.is_false[w];
    t.is_false[w] &= ~t.is_true[w];
  }
  return t;
}

Result<Tri> Tri::FromArray(const arrow::Array& array) {
  if (array.type_id() == arrow::Type::NA) return Null(array.length());
  if (array.type_id() != arrow::Type::BOOL) return Status::TypeError("not booleans: ", array.type()->ToString());
  std::vector<uint64_t> bits(WordsFor(array.length()), 0);
  if (array.length() > 0) {
    arrow::internal::CopyBitmap(static_cast<const arrow::BooleanArray&>(array).values()->data(), array.offset(),
                                array.length(), reinterpret_cast<uint8_t*>(bits.data()), 0);
  }
  return FromMatches(array, std::move(bits));
}

Result<Tri> Tri::FromEntries(const arrow::DictionaryArray& rows, const Tri& entries) {
  Tri t = Null(rows.length());
  for (int64_t i = 0; i < rows.length(); ++i) {
    if (rows.IsNull(i)) continue;
    const int64_t e = rows.GetValueIndex(i);
    if (e < 0 || e >= entries.rows) {
      return Status::Invalid("dictionary index ", e, " of ", entries.rows, " entries");
    }
    const auto word = static_cast<size_t>(i / 64), entry = static_cast<size_t>(e / 64);
    t.is_true[word] |= (entries.is_true[entry] >> (e % 64) & 1) << (i % 64);
    t.is_false[word] |= (entries.is_false[entry] >> (e % 64) & 1) << (i % 64);
  }
  return t;
}

Result<std::shared_ptr<arrow::BooleanArray>> Tri::ToArray() const {
  const auto size = static_cast<int64_t>(is_true.size() * 8);
  PILUM_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> values, arrow::AllocateBuffer(size));
  PILUM_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> valid, arrow::AllocateBuffer(size));
  auto* v = reinterpret_cast<uint64_t*>(values->mutable_data());
  auto* k = reinterpret_cast<uint64_t*>(valid->mutable_data());
  bool all = true;
  for (size_t w = 0; w < is_true.size(); ++w) {
    v[w] = is_true[w];
    k[w] = is_true[w] | is_false[w];
    int64_t left = rows - static_cast<int64_t>(w) * 64;
    all &= k[w] == (left >= 64 ? ~uint64_t{0} : (uint64_t{1} << left) - 1);
  }
  return std::make_shared<arrow::BooleanArray>(rows, values, all ? nullptr : valid);
}

namespace {

class ConstBool : public BoolExpr {
 public:
  ConstBool(std::shared_ptr<const Node> node, std::optional<bool> value) : BoolExpr(std::move(node)), value_(value) {}
  Result<Tri> Eval(EvalContext& in) const override { return Tri::Constant(in.rows, value_); }

 private:
  std::optional<bool> value_;
};

class ChainBool : public BoolExpr {
 public:
  ChainBool(std::shared_ptr<const Node> node, bool is_and, std::vector<BoolPtr> children)
      : BoolExpr(std::move(node)), is_and_(is_and), children_(std::move(children)) {}

  Result<Tri> Eval(EvalContext& in) const override {
    Tri t = Tri::Constant(in.rows, is_and_);
    for (const auto& child : children_) {
      PILUM_RETURN_NOT_OK(in.ctx.Check());
      PILUM_ASSIGN_OR_RETURN(Tri c, child->Eval(in));
      // AND: true where all are, false where any is. OR: the same with the bitmaps exchanged.
      auto& all = is_and_ ? t.is_true : t.is_false;
      auto& any = is_and_ ? t.is_false : t.is_true;
      const auto& child_all = is_and_ ? c.is_true : c.is_false;
      const auto& child_any = is_and_ ? c.is_false : c.is_true;
      bool decided = true;
      for (size_t w = 0; w < all.size(); ++w) {
        all[w] &= child_all[w];
        any[w] |= child_any[w];
        const int64_t left = in.rows - static_cast<int64_t>(w) * 64;
        decided &= any[w] == (left >= 64 ? ~uint64_t{0} : (uint64_t{1} << left) - 1);
      }
      if (decided) break;  // no row can change any more
    }
    return t;
  }

 private:
  bool is_and_;
  std::vector<BoolPtr> children_;
};

class NotBool : public BoolExpr {
 public:
  NotBool(std::shared_ptr<const Node> node, BoolPtr child) : BoolExpr(std::move(node)), child_(std::move(child)) {}
  Result<Tri> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(Tri t, child_->Eval(in));
    std::swap(t.is_true, t.is_false);
    return t;
  }

 private:
  BoolPtr child_;
};

class IsNullValue : public BoolExpr {
 public:
  IsNullValue(std::shared_ptr<const Node> node, ValuePtr value) : BoolExpr(std::move(node)), value_(std::move(value)) {}
  Result<Tri> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto array, value_->Eval(in));
    array = Storage(std::move(array));
    Tri t = Tri::Constant(in.rows, false);
    const bool indirect = array->type_id() == arrow::Type::DICTIONARY &&
                          static_cast<const arrow::DictionaryArray&>(*array).dictionary()->null_count() > 0;
    if (array->null_count() == 0 && !indirect) return t;
    if (indirect) {
      PILUM_ASSIGN_OR_RETURN(array, Plain(array));
    }
    t = Tri::FromMatches(*array, std::vector<uint64_t>(WordsFor(in.rows), 0));  // false where there is a value
    for (size_t w = 0; w < t.is_true.size(); ++w) t.is_true[w] = ~t.is_false[w];
    ClearTail(&t.is_true, t.rows);
    return t;
  }

 private:
  ValuePtr value_;
};

// IS NULL (nullopt), IS TRUE or IS FALSE of a predicate. Never NULL.
class TruthOf : public BoolExpr {
 public:
  TruthOf(std::shared_ptr<const Node> node, BoolPtr child, std::optional<bool> wanted)
      : BoolExpr(std::move(node)), child_(std::move(child)), wanted_(wanted) {}
  Result<Tri> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(Tri t, child_->Eval(in));
    Tri out = Tri::Constant(in.rows, true);
    for (size_t w = 0; w < t.is_true.size(); ++w) {
      uint64_t is = !wanted_ ? ~(t.is_true[w] | t.is_false[w]) : *wanted_ ? t.is_true[w] : t.is_false[w];
      out.is_true[w] &= is;
      out.is_false[w] = ~is;
    }
    if (in.rows > 0) ClearTail(&out.is_false, in.rows);
    return out;
  }

 private:
  BoolPtr child_;
  std::optional<bool> wanted_;
};

class BoolOf : public BoolExpr {
 public:
  BoolOf(std::shared_ptr<const Node> node, ValuePtr value) : BoolExpr(std::move(node)), value_(std::move(value)) {}
  Result<Tri> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto array, EvalPlain(*value_, in));
    return Tri::FromArray(*array);
  }

 private:
  ValuePtr value_;
};

class ValueOf : public ValueExpr {
 public:
  explicit ValueOf(BoolPtr value) : ValueExpr(arrow::boolean()), value_(std::move(value)) {}
  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(Tri t, value_->Eval(in));
    return t.ToArray();
  }
  std::string ToString() const override { return value_->node()->text; }

 private:
  BoolPtr value_;
};

class ConstantValue : public ValueExpr {
 public:
  explicit ConstantValue(std::shared_ptr<arrow::Scalar> scalar) : ValueExpr(scalar->type), scalar_(std::move(scalar)) {}
  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    return arrow::MakeArrayFromScalar(*scalar_, in.rows, in.ctx.memory_pool());
  }
  std::string ToString() const override { return scalar_->ToString(); }

 private:
  std::shared_ptr<arrow::Scalar> scalar_;
};

class ColumnValue : public ValueExpr {
 public:
  ColumnValue(FieldPath path, std::shared_ptr<arrow::DataType> type, bool through_list)
      : ValueExpr(std::move(type)), path_(std::move(path)), through_list_(through_list) {}
  const FieldPath* column() const override { return &path_; }
  bool through_list() const override { return through_list_; }
  std::string ToString() const override { return path_.ToString(); }

  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    auto& slot = in.columns[path_];
    if (slot) return slot;
    const int at = in.batch.schema()->GetFieldIndex(path_.steps[0]);
    if (at < 0) return Status::KeyError("the batch has no column '", path_.steps[0], "' (or more than one)");
    std::shared_ptr<arrow::Array> array = in.batch.column(at);
    for (size_t i = 1; i < path_.steps.size(); ++i) {
      PILUM_ASSIGN_OR_RETURN(array, StepInto(array, path_.steps[i]));
    }
    return slot = std::move(array);
  }

 private:
  FieldPath path_;
  bool through_list_;
};

std::shared_ptr<Node> MakeNode(Node::Kind kind, std::string text) {
  auto node = std::make_shared<Node>();
  node->kind = kind;
  node->text = std::move(text);
  return node;
}

std::shared_ptr<const Node> ChainNode(bool is_and, const std::vector<BoolPtr>& children) {
  auto node = MakeNode(is_and ? Node::Kind::kAnd : Node::Kind::kOr, "");
  size_t shown = 0;
  for (const auto& c : children) {
    node->children.push_back(c->node());
    if (++shown <= 20) node->text += (shown > 1 ? (is_and ? " AND " : " OR ") : "") + c->node()->text;
  }
  if (shown > 20) node->text += fmt::format(" … ({} in all)", children.size());
  node->text = "(" + node->text + ")";
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

BoolPtr MakeConst(std::optional<bool> value) {
  auto node = MakeNode(Node::Kind::kConst, !value ? "NULL" : *value ? "TRUE" : "FALSE");
  node->constant = value;
  return std::make_shared<ConstBool>(std::move(node), value);
}
BoolPtr MakeAnd(std::vector<BoolPtr> children) { return MakeChain(true, std::move(children)); }
BoolPtr MakeOr(std::vector<BoolPtr> children) { return MakeChain(false, std::move(children)); }

BoolPtr MakeNot(BoolPtr child) {
  if (child->set() != nullptr) {
    ValueSet set = child->set()->Complement();
    std::string text = child->operand()->ToString() + " in " + set.ToString();
    return MakeInSet(child->operand(), std::move(set), std::move(text));
  }
  if (child->node()->kind == Node::Kind::kConst) {
    auto value = child->node()->constant;
    return MakeConst(value ? std::optional<bool>(!*value) : std::nullopt);
  }
  auto node = MakeNode(Node::Kind::kNot, "NOT " + child->node()->text);
  node->children.push_back(child->node());
  return std::make_shared<NotBool>(std::move(node), std::move(child));
}

BoolPtr MakeIsNull(ValuePtr value) {
  auto node = MakeNode(Node::Kind::kLeaf, value->ToString() + " IS NULL");
  if (value->column() != nullptr && !value->through_list() && !arrow::is_list_like(PlainType(value->type())->id())) {
    node->probe = Probe{Probe::Kind::kIsNull, *value->column(), ValueSet(), true};
  }
  return std::make_shared<IsNullValue>(std::move(node), std::move(value));
}

BoolPtr MakeIsNull(BoolPtr value) {
  if (value->node()->kind == Node::Kind::kConst) return MakeConst(!value->node()->constant);
  auto node = MakeNode(Node::Kind::kLeaf, value->node()->text + " IS UNKNOWN");
  return std::make_shared<TruthOf>(std::move(node), std::move(value), std::nullopt);
}

BoolPtr MakeIsTruth(BoolPtr value, bool wanted) {
  if (value->node()->kind == Node::Kind::kConst) return MakeConst(value->node()->constant == wanted);
  if (value->set() != nullptr && value->operand()->column() != nullptr) {
    // x IS TRUE is x AND x IS NOT NULL: the second part turns NULL into FALSE, and an index can answer both.
    BoolPtr there = MakeNot(MakeIsNull(value->operand()));
    return MakeAnd({std::move(there), wanted ? value : MakeNot(value)});
  }
  auto node = MakeNode(Node::Kind::kLeaf, value->node()->text + (wanted ? " IS TRUE" : " IS FALSE"));
  return std::make_shared<TruthOf>(std::move(node), std::move(value), wanted);
}

BoolPtr MakeBoolOf(ValuePtr value) {
  if (value->column() != nullptr) {
    std::string text = value->ToString();
    return MakeInSet(std::move(value), ValueSet::Point(Value::Int(1)), std::move(text));
  }
  auto node = MakeNode(Node::Kind::kLeaf, value->ToString());
  return std::make_shared<BoolOf>(std::move(node), std::move(value));
}

ValuePtr MakeValueOf(BoolPtr value) { return std::make_shared<ValueOf>(std::move(value)); }
ValuePtr MakeColumn(FieldPath path, std::shared_ptr<arrow::DataType> type, bool through_list) {
  return std::make_shared<ColumnValue>(std::move(path), std::move(type), through_list);
}
ValuePtr MakeConstant(std::shared_ptr<arrow::Scalar> scalar) {
  return std::make_shared<ConstantValue>(std::move(scalar));
}

namespace {

class BoundTree : public BoundPredicate {
 public:
  BoundTree(BoolPtr root, std::vector<FieldPath> columns, std::string text)
      : root_(std::move(root)), columns_(std::move(columns)), text_(std::move(text)) {}
  const Node& root() const override { return *root_->node(); }
  const std::vector<FieldPath>& columns() const override { return columns_; }
  std::string ToString() const override { return text_; }
  Result<std::shared_ptr<arrow::BooleanArray>> Evaluate(const arrow::RecordBatch& batch,
                                                        ReadContext& ctx) const override {
    PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
    PILUM_RETURN_NOT_OK(ctx.Check());
    EvalContext in{batch, ctx, batch.num_rows(), {}};
    PILUM_ASSIGN_OR_RETURN(Tri t, root_->Eval(in));
    return t.ToArray();
  }

 private:
  BoolPtr root_;
  std::vector<FieldPath> columns_;
  std::string text_;
};

}  // namespace

std::shared_ptr<const BoundPredicate> MakeBoundPredicate(BoolPtr root, std::vector<FieldPath> columns,
                                                         std::string text) {
  return std::make_shared<BoundTree>(std::move(root), std::move(columns), std::move(text));
}

}  // namespace pilum
