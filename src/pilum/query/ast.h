// The syntax tree of one statement: what was written, before names and types. Made by parse, read by bind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/status.h"

namespace pilum {

// Deepest nesting of a statement. Chains of AND and OR are one node however long.
constexpr int kMaxNesting = 500;

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct NamePart {
  std::string text;
  bool quoted = false;
};

struct Expr {
  enum class Kind {
    kNumber,  // text
    kText,    // text
    kBinary,  // text: the bytes
    kBool,    // flag
    kNull,
    kTyped,   // name: DATE, TIME, TIMESTAMP or INTERVAL; text
    kParam,   // text: "?1" of the first ?, else number or name; flag: :name
    kColumn,  // parts
    kAnd,
    kOr,        // args, two or more
    kNot,       // args[0]
    kCompare,   // name: = <> < <= > >=
    kDistinct,  // IS [NOT] DISTINCT FROM
    kIsNull,    // IS [NOT] NULL
    kIsTruth,   // IS [NOT] TRUE / FALSE / UNKNOWN (name)
    kIn,        // args[0] [NOT] IN (args[1..])
    kBetween,   // args[0] [NOT] BETWEEN args[1] AND args[2]
    kLike,      // args[0] [NOT] LIKE args[1]; name: LIKE or ILIKE; escape in args[2] if there
    kArith,     // name: + - * / % ||
    kNegate,    // -args[0]
    kCase,      // args: [operand if flag] when, then, …, [else if count is odd then]
    kCast,      // args[0] to the type in name; flag: TRY_CAST
    kCall,      // name(args), lower case
    kArray,     // [args]
    kStar,      // COUNT(*)
  };
  Kind kind;
  size_t pos = 0;
  std::string name, text;
  bool flag = false;
  bool negated = false;
  std::vector<NamePart> parts;
  std::vector<ExprPtr> args;
  int height = 1;  // of the tree below, itself included; bounded by the parser
};

struct SelectItem {
  bool star = false;
  ExprPtr expr;       // of a star: the name before it, if any
  std::string alias;  // empty: none
  size_t pos = 0;
};

struct OrderItem {
  ExprPtr expr;
  bool descending = false, nulls_first = false;
};

struct Statement {
  bool bare_predicate = false;
  bool distinct = false;
  std::vector<SelectItem> items;
  std::vector<NamePart> source_names;  // the FROM name and its alias, where given
  ExprPtr where;                       // may be null
  std::vector<ExprPtr> group_by;
  ExprPtr having;  // may be null
  std::vector<OrderItem> order_by;
  ExprPtr limit, offset;      // a number or a parameter
  size_t question_marks = 0;  // parameters written as ?
};

// One SELECT or one bare predicate, to the end of the text. Errors: kQuery "at N: …", kUnsupported for what is known but
// not built yet.
Result<Statement> ParseStatement(std::string_view sql);
// A predicate only (Statement::where); a SELECT is an error.
Result<Statement> ParsePredicate(std::string_view sql);

}  // namespace pilum
