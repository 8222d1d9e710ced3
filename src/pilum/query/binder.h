// Binding: names to columns, literals to the types beside them. Used by bind*.cc and functions*.cc only.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pilum/query/ast.h"
#include "pilum/query/evaluate.h"
#include "pilum/query/lexer.h"
#include "pilum/query/literal.h"
#include "pilum/query/query.h"

namespace pilum {

// One bound expression: exactly one of the three. A boolean one can be used as a value, and a literal too.
struct Operand {
  std::optional<Literal> literal;
  ValuePtr value;
  BoolPtr boolean;
  size_t pos = 0;
};

struct ResolvedColumn {
  FieldPath path;
  std::shared_ptr<arrow::DataType> type;
  bool through_list = false;
};

class Binder {
 public:
  // `strict`: of SELECT, where an overflow, a division by zero or an impossible cast is an error instead of NULL.
  Binder(const arrow::Schema& schema, const Params& params, bool strict = false)
      : schema_(schema), params_(params), strict_(strict) {}
  void AddSourceName(const NamePart& name) { source_names_.push_back(name.text); }

  Result<BoolPtr> BindBool(const Expr& e);
  Result<Operand> BindOperand(const Expr& e);
  Result<ResolvedColumn> Resolve(const std::vector<NamePart>& parts, size_t pos) const;
  bool IsSourceName(const std::string& name) const;
  Result<Literal> BindParam(const Expr& e);

  // Columns met so far, in order of appearance; none lies inside another.
  std::vector<FieldPath> columns() const;
  // As they were met: with repeats, and parents beside children.
  const std::vector<FieldPath>& all_columns() const { return columns_; }
  // Those of them that stand in json_* functions alone, as the JSON that is looked into.
  std::vector<FieldPath> json_only() const;
  // The others: what is read as it is bound.
  std::set<FieldPath> plain_columns() const;
  const ColumnsOf& columns_of() const { return columns_of_; }

  // Used by functions: a bound operand as a value (literals by their default type), and errors with a place.
  Result<ValuePtr> AsValue(const Operand& o) const;
  Result<ValuePtr> AsValueOf(const Operand& o, const std::shared_ptr<arrow::DataType>& type) const;
  Result<BoolPtr> AsBool(const Operand& o) const;
  Result<BoolPtr> Compare(const std::string& op, const Operand& a, const Operand& b, size_t pos) const;

 private:
  // bind_value.cc
  Result<Operand> BindLiteral(const Expr& e);
  Result<Operand> BindColumn(const Expr& e);
  Result<Operand> BindArith(const Expr& e);
  Result<Operand> BindCase(const Expr& e);
  Result<Operand> BindCast(const Expr& e);
  Result<Operand> BindCall(const Expr& e);
  // An operand over literals alone becomes a literal.
  Result<Operand> Fold(Operand o, bool constant) const;
  // bind.cc
  Result<BoolPtr> BindChain(const Expr& e);
  Result<BoolPtr> BindIn(const Expr& e);
  Result<BoolPtr> BindBetween(const Expr& e);
  Result<BoolPtr> BindLike(const Expr& e);
  Result<BoolPtr> BindIsNull(const Expr& e);
  Result<BoolPtr> BindDistinct(const Expr& e);
  Result<BoolPtr> BindTruth(const Expr& e);
  Result<BoolPtr> InLiterals(const Operand& tested, const std::vector<Operand>& items) const;

  const arrow::Schema& schema_;
  const Params& params_;
  std::vector<std::string> source_names_ = {"t"};
  std::vector<FieldPath> columns_;
  std::set<size_t> looked_into_;  // which of columns_ stand as the JSON of a json_* function
  ColumnsOf columns_of_;
  const bool strict_;
};

// As many positional values as the text has '?', where it has any.
Status CheckParams(size_t question_marks, const Params& params);

bool IsAggregate(const std::string& name);  // lower case (query/select/bind_select.cc)

// functions.cc
// Binds name(args); an unknown name is an error that lists near ones.
Result<Operand> BindFunction(const Binder& binder, const Expr& call, std::vector<Operand> args);
// arithmetic.cc, cast.cc, choice.cc
Result<ValuePtr> MakeArith(const std::string& op, ValuePtr a, ValuePtr b);  // errors without a position
Result<ValuePtr> MakeNegate(ValuePtr a);
Result<ValuePtr> MakeMonths(ValuePtr a, int64_t months);  // calendar months on the wall clock of the zone
Result<ValuePtr> MakeConcat(std::vector<ValuePtr> parts, bool skip_null);
Result<std::shared_ptr<arrow::DataType>> ParseType(const std::string& name, size_t pos);
Result<ValuePtr> MakeCast(ValuePtr value, std::shared_ptr<arrow::DataType> type, bool try_cast = false);
// The type all branches can take: equal ones, or the smallest numeric that holds both kinds.
Result<std::shared_ptr<arrow::DataType>> CommonType(const std::vector<Operand>& operands, size_t pos);
// conditions[i] true first gives results[i]; else the last result (there is one more).
ValuePtr MakeChoice(std::vector<BoolPtr> conditions, std::vector<ValuePtr> results,
                    std::shared_ptr<arrow::DataType> type);
ValuePtr MakeCoalesce(std::vector<ValuePtr> values, std::shared_ptr<arrow::DataType> type);

// Up to three of `names` that are spelled nearly like `name`: "; near: a, b" or nothing.
std::string NearNames(const std::string& name, const std::vector<std::string>& names);

}  // namespace pilum
