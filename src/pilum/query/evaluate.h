// Bound expressions, ready to run over batches: booleans (three-valued) and values. Built by bind, immutable afterwards.
// The pieces live in evaluate_*.cc, one concern each.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/query/predicate.h"

namespace pilum {

// TRUE / FALSE / NULL a row, as two bitmaps: NULL is neither. Bits past `rows` are zero.
struct Tri {
  int64_t rows = 0;
  std::vector<uint64_t> is_true, is_false;

  static Tri Null(int64_t rows);
  static Tri Constant(int64_t rows, std::optional<bool> value);
  // `matches`: one bit a row, meaningless where `array` is null.
  static Tri FromMatches(const arrow::Array& array, std::vector<uint64_t> matches);
  static Result<Tri> FromArray(const arrow::Array& booleans);
  // One value a row from one value a dictionary entry.
  static Result<Tri> FromEntries(const arrow::DictionaryArray& rows, const Tri& entries);
  Result<std::shared_ptr<arrow::BooleanArray>> ToArray() const;
};

inline size_t WordsFor(int64_t rows) { return static_cast<size_t>((rows + 63) / 64); }

// One Evaluate: the batch and what was already taken out of it.
// Without row errors (strict is false) rows may be asked in any order and left out where nothing depends on them; strict ones
// are asked from left to right, each part of AND and OR for the rows that those before it have not decided.
struct EvalContext {
  const arrow::RecordBatch& batch;
  ReadContext& ctx;
  int64_t rows;
  std::map<FieldPath, std::shared_ptr<arrow::Array>> columns;
  bool strict = false;  // of SELECT: a row without a value where its arguments have one is an error
  // The rows that are asked for (a branch was chosen for them, or nothing before decided them); null: all. What comes out
  // for others means nothing, and is no error.
  const std::vector<uint64_t>* active = nullptr;
  EvalOrder* order = nullptr;  // of AND and OR; null: as written
  bool only_true = false;      // the caller does not tell FALSE from NULL; taken by the AND or OR that is asked next
  // These rows of another context, which has the columns; null: the batch's.
  EvalContext* whole = nullptr;
  std::shared_ptr<arrow::Array> rows_of_whole;  // int64, as many as `rows`

  // The rows of `array`, which has one slot a row of `whole` where that is given.
  Result<std::shared_ptr<arrow::Array>> OwnRows(std::shared_ptr<arrow::Array> array) const;
};

// Strict: the error for the first active row that has no value in `result` while all of `arguments` have one.
Status CheckHasValues(const EvalContext& in, const arrow::Array& result,
                      std::initializer_list<const arrow::Array*> arguments, const std::string& expression);

class ValueExpr {
 public:
  explicit ValueExpr(std::shared_ptr<arrow::DataType> type) : type_(std::move(type)) {}
  virtual ~ValueExpr() = default;
  const std::shared_ptr<arrow::DataType>& type() const { return type_; }
  // One slot a row, of type() (a column: exactly as the batch holds it).
  virtual Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const = 0;
  // A plain column: its path, else null.
  virtual const FieldPath* column() const { return nullptr; }
  // Does the path step through a list? (No index knows such a column.)
  virtual bool through_list() const { return false; }
  // A constant's value, else null.
  virtual const arrow::Scalar* constant() const { return nullptr; }
  // Of one row, about nanoseconds, without reading columns.
  virtual double cost() const;
  virtual std::string ToString() const = 0;

 private:
  std::shared_ptr<arrow::DataType> type_;
};
using ValuePtr = std::shared_ptr<const ValueExpr>;

class BoolExpr {
 public:
  using Node = BoundPredicate::Node;
  explicit BoolExpr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  virtual ~BoolExpr() = default;
  virtual Result<Tri> Eval(EvalContext& in) const = 0;
  const std::shared_ptr<const Node>& node() const { return node_; }
  // A set test of a column: the two below, for merging.
  virtual const ValueSet* set() const { return nullptr; }
  virtual ValuePtr operand() const { return nullptr; }

 private:
  std::shared_ptr<const Node> node_;
};
using BoolPtr = std::shared_ptr<const BoolExpr>;

// evaluate_chain.cc
BoolPtr MakeAnd(std::vector<BoolPtr> children);  // set tests of one column become one
BoolPtr MakeOr(std::vector<BoolPtr> children);

// evaluate.cc: logic, columns, constants
BoolPtr MakeConst(std::optional<bool> value);
BoolPtr MakeNot(BoolPtr child);
BoolPtr MakeIsNull(ValuePtr value);
BoolPtr MakeIsNull(BoolPtr value);
BoolPtr MakeIsTruth(BoolPtr value, bool wanted);  // IS TRUE / IS FALSE
BoolPtr MakeBoolOf(ValuePtr value);               // a boolean value as a predicate
ValuePtr MakeValueOf(BoolPtr value);
ValuePtr MakeColumn(FieldPath path, std::shared_ptr<arrow::DataType> type, bool through_list);
ValuePtr MakeConstant(std::shared_ptr<arrow::Scalar> scalar);
// `columns_of`: what the parts of an AND were bound to.
using ColumnsOf = std::map<std::shared_ptr<const BoolExpr::Node>, std::vector<FieldPath>>;
std::shared_ptr<const BoundPredicate> MakeBoundPredicate(BoolPtr root, std::vector<FieldPath> columns,
                                                         std::vector<FieldPath> json_only, const ColumnsOf& columns_of,
                                                         std::string text);

// evaluate_set.cc: a value against a set of its type's normal form
BoolPtr MakeInSet(ValuePtr value, ValueSet set, std::string text);
// evaluate_text.cc: any test of a text that is not a set; a probe where the test implies one
using TextTest = std::function<bool(std::string_view)>;
// Pieces that a text contains wherever the test is TRUE; `folded`: they are in folded case, and so is the text looked at.
// `words`: in folded case; the test asks for nothing else than these, as whole words (with `exact`), or also for these.
struct Needles {
  std::vector<std::string> pieces = {};
  bool folded = false;
  std::vector<std::string> words = {};
  bool exact = false;
};
BoolPtr MakeTextTest(ValuePtr value, TextTest test, std::optional<ValueSet> implied, std::string text, double cost = 30,
                     Needles needles = {});
// Two texts a row; nullopt is NULL.
using TextPairTest = std::function<std::optional<bool>(std::string_view, std::string_view)>;
BoolPtr MakeTextPairTest(ValuePtr a, ValuePtr b, TextPairTest test, std::string text);
// evaluate_compare.cc: two values by mathematical value; kQuery where the types do not compare (without a position)
Result<BoolPtr> MakeCompare(const std::string& op, ValuePtr a, ValuePtr b);

// evaluate_arrays.cc: helpers
// Without extension.
std::shared_ptr<arrow::Array> Storage(std::shared_ptr<arrow::Array> array);
// Without dictionary and extension.
Result<std::shared_ptr<arrow::Array>> Plain(std::shared_ptr<arrow::Array> array);
Result<std::shared_ptr<arrow::Array>> EvalPlain(const ValueExpr& value, EvalContext& in);
// Field `name` of the structs (through lists), null where a struct above is null.
Result<std::shared_ptr<arrow::Array>> StepInto(const std::shared_ptr<arrow::Array>& array, const std::string& name);
// Views of a plain text or binary array; null slots are empty.
Result<std::vector<std::string_view>> BytesOf(const arrow::Array& array);
// Integers of any plain Domain::kInt array, floats of any float array, unscaled decimals. Null slots are zero.
Result<std::vector<Int128>> IntsOf(const arrow::Array& array);
Result<std::vector<double>> FloatsOf(const arrow::Array& array);
Result<std::vector<arrow::Decimal256>> DecimalsOf(const arrow::Array& array);
// Any of these as floats.
Result<std::vector<double>> DoublesOf(const arrow::Array& array);

}  // namespace pilum
