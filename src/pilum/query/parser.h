// The token stream and the expression parser; used by parse.cc (statements) and parse_expr.cc only.
#pragma once

#include "pilum/query/ast.h"
#include "pilum/query/lexer.h"

namespace pilum {

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  // What follows an expression is left for the caller.
  Result<ExprPtr> ParseExpr() { return ParseBinary(0); }
  // name(.name)* of the current token on.
  Result<std::vector<NamePart>> ParsePath();

  const Token& Peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  Token Next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool TakeWord(std::string_view upper);
  bool TakeOp(std::string_view op);
  Status Expect(std::string_view op);
  Status ExpectWord(std::string_view upper);
  Status Unexpected(std::string_view wanted) const;

 private:
  Result<ExprPtr> ParseBinary(int least);
  Result<ExprPtr> ParsePrefix();
  Result<ExprPtr> ParsePrimary();
  Result<ExprPtr> ParseNamed();
  Result<ExprPtr> ParseCall(const Token& name);
  Result<ExprPtr> ParseCase(size_t pos);
  Result<ExprPtr> ParseSubscripts(ExprPtr of);
  bool IsTypedText(const Token& word) const;
  Result<ExprPtr> ParseCast(const Token& word);
  Result<std::string> ParseTypeName();
  Result<ExprPtr> ParsePostfix(ExprPtr left, bool negated);
  Result<ExprPtr> ParseIs(ExprPtr left, size_t pos);
  Status ParseList(std::string_view close, std::vector<ExprPtr>* out);

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace pilum
