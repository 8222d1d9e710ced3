// The functions by subject; used by functions*.cc only. A Bind… gets arguments whose number was checked.
#pragma once

#include <vector>

#include "pilum/query/binder.h"

namespace pilum {

struct FunctionCall {
  const Binder& binder;
  const Expr& call;
  std::vector<Operand> args;
};

Status WrongArgument(const FunctionCall& f, size_t i, const char* wanted);
bool IsNullOperand(const Operand& o);
bool IsTextOperand(const Operand& o);
Operand NullOperand(size_t pos);
Operand Boolean(BoolPtr b, size_t pos);
Operand ValueResult(ValuePtr v, size_t pos);
std::string Shown(const FunctionCall& f);  // the call as text, for --explain

// functions_text.cc
Result<Operand> BindTextFunction(FunctionCall f);  // lower upper trim length substr
Result<Operand> BindConcat(FunctionCall f);
Result<Operand> BindRegexp(FunctionCall f);
// functions_regexp.cc
Result<Operand> BindRegexpReplace(FunctionCall f);
// functions_pieces.cc
Result<Operand> BindPiece(FunctionCall f);  // left right lpad … strpos …
Result<Operand> BindConcatWs(FunctionCall f);
// functions_bytes.cc
Result<Operand> BindDigest(FunctionCall f);  // md5 sha224 sha256 sha384 sha512 digest
Result<Operand> BindEncode(FunctionCall f);  // encode decode
// functions_words.cc
Result<Operand> BindWordSearch(FunctionCall f);  // contains_words contains_tokens
// functions_json.cc
Result<Operand> BindJsonFunction(FunctionCall f);  // json_…
// functions_number.cc
Result<Operand> BindRounding(FunctionCall f);  // abs round floor ceil
// functions_math.cc
Result<Operand> BindFloatFunction(FunctionCall f);  // sqrt power log …
Result<Operand> BindPi(FunctionCall f);
Result<Operand> BindWholeNumberFunction(FunctionCall f);  // gcd lcm factorial
Result<Operand> BindFloatTest(FunctionCall f);            // isnan iszero
Result<Operand> BindExtreme(FunctionCall f);              // greatest least
Result<Operand> BindNvl2(FunctionCall f);
// functions_list.cc
Result<Operand> BindArrayHas(FunctionCall f);
Result<Operand> BindCardinality(FunctionCall f);
// functions_element.cc
Result<Operand> BindElement(FunctionCall f);
Result<Operand> BindGetField(FunctionCall f);
// functions_time.cc
Result<Operand> BindDateTrunc(FunctionCall f);
Result<Operand> BindDatePart(FunctionCall f);
Result<Operand> BindToTimestamp(FunctionCall f);
Result<Operand> BindCurrentDate(FunctionCall f);
Result<Operand> BindArrowCast(FunctionCall f);

}  // namespace pilum
