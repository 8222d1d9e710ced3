// Three-valued logic over bitmaps, columns, constants, and the bound predicate itself.
#include "pilum/query/evaluate.h"

#include <algorithm>

#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/util/bitmap_ops.h>

#include "pilum/query/eval_order.h"
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
  double cost() const override { return value_->node()->cost; }
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
  const arrow::Scalar* constant() const override { return scalar_.get(); }
  double cost() const override { return 1; }
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
  double cost() const override { return 0; }
  std::string ToString() const override { return path_.ToString(); }

  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    auto& slot = in.columns[path_];
    if (slot) return slot;
    if (in.whole) {
      PILUM_ASSIGN_OR_RETURN(auto whole, Eval(*in.whole));
      PILUM_ASSIGN_OR_RETURN(slot, in.OwnRows(std::move(whole)));
      return slot;
    }
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

}  // namespace

BoolPtr MakeConst(std::optional<bool> value) {
  auto node = MakeNode(Node::Kind::kConst, !value ? "NULL" : *value ? "TRUE" : "FALSE");
  node->constant = value;
  return std::make_shared<ConstBool>(std::move(node), value);
}

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
  node->cost = child->node()->cost;
  node->children.push_back(child->node());
  return std::make_shared<NotBool>(std::move(node), std::move(child));
}

BoolPtr MakeIsNull(ValuePtr value) {
  auto node = MakeNode(Node::Kind::kLeaf, value->ToString() + " IS NULL");
  node->cost = 0.5 + value->cost();
  node->guess = 0.05;
  if (value->column() != nullptr && !value->through_list()) {
    node->probe = Probe{Probe::Kind::kIsNull, *value->column(), ValueSet(), true};
  }
  return std::make_shared<IsNullValue>(std::move(node), std::move(value));
}

BoolPtr MakeIsNull(BoolPtr value) {
  if (value->node()->kind == Node::Kind::kConst) return MakeConst(!value->node()->constant);
  auto node = MakeNode(Node::Kind::kLeaf, value->node()->text + " IS UNKNOWN");
  node->cost = value->node()->cost;
  node->guess = 0.05;
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
  node->cost = value->node()->cost;
  return std::make_shared<TruthOf>(std::move(node), std::move(value), wanted);
}

BoolPtr MakeBoolOf(ValuePtr value) {
  if (value->column() != nullptr) {
    std::string text = value->ToString();
    return MakeInSet(std::move(value), ValueSet::Point(Value::Int(1)), std::move(text));
  }
  auto node = MakeNode(Node::Kind::kLeaf, value->ToString());
  node->cost = value->cost();
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
  BoundTree(BoolPtr root, std::vector<FieldPath> columns, std::vector<FieldPath> json_only,
            std::vector<std::vector<FieldPath>> conjunct_columns, std::string text)
      : root_(std::move(root)),
        columns_(std::move(columns)),
        json_only_(std::move(json_only)),
        conjunct_columns_(std::move(conjunct_columns)),
        text_(std::move(text)) {}
  const Node& root() const override { return *root_->node(); }
  const std::vector<FieldPath>& columns() const override { return columns_; }
  const std::vector<FieldPath>& json_only() const override { return json_only_; }
  std::vector<std::vector<FieldPath>> conjunct_columns() const override { return conjunct_columns_; }
  std::string ToString() const override { return text_; }
  Result<std::shared_ptr<arrow::BooleanArray>> Evaluate(const arrow::RecordBatch& batch,
                                                        ReadContext& ctx) const override {
    return Run(batch, nullptr, ctx);
  }
  Result<std::shared_ptr<arrow::BooleanArray>> Filter(const arrow::RecordBatch& batch, EvalOrder& order,
                                                      ReadContext& ctx) const override {
    return Run(batch, &order, ctx);
  }

 private:
  Result<std::shared_ptr<arrow::BooleanArray>> Run(const arrow::RecordBatch& batch, EvalOrder* order,
                                                   ReadContext& ctx) const {
    PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
    PILUM_RETURN_NOT_OK(ctx.Check());
    EvalContext in{batch, ctx, batch.num_rows(), {}};
    in.order = order;
    in.only_true = order != nullptr && IsChain(root());
    PILUM_ASSIGN_OR_RETURN(Tri t, root_->Eval(in));
    return t.ToArray();
  }

  BoolPtr root_;
  std::vector<FieldPath> columns_, json_only_;
  std::vector<std::vector<FieldPath>> conjunct_columns_;
  std::string text_;
};

}  // namespace

double ValueExpr::cost() const { return arrow::is_fixed_width(type()->id()) ? 15 : 60; }

Result<std::shared_ptr<arrow::Array>> EvalContext::OwnRows(std::shared_ptr<arrow::Array> array) const {
  if (!whole) return array;
  arrow::compute::ExecContext exec(ctx.memory_pool());
  return arrow::compute::Take(*array, *rows_of_whole, arrow::compute::TakeOptions::NoBoundsCheck(), &exec);
}

std::shared_ptr<const BoundPredicate> MakeBoundPredicate(BoolPtr root, std::vector<FieldPath> columns,
                                                         std::vector<FieldPath> json_only, const ColumnsOf& columns_of,
                                                         std::string text) {
  std::vector<std::vector<FieldPath>> parts;
  if (root->node()->kind == Node::Kind::kAnd) {
    for (const auto& child : root->node()->children) {
      const auto it = columns_of.find(child);
      if (it != columns_of.end()) {
        parts.push_back(it->second);
      } else if (child->kind == Node::Kind::kLeaf && child->probe) {  // several tests of one column, made one
        parts.push_back({child->probe->column});
      } else {
        parts.clear();
        break;
      }
    }
  }
  return std::make_shared<BoundTree>(std::move(root), std::move(columns), std::move(json_only), std::move(parts),
                                     std::move(text));
}

}  // namespace pilum
