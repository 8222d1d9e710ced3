// Statements: one SELECT over one source, or one bare predicate, to the end of the text.
#include "pilum/query/parser.h"

namespace pilum {
namespace {

bool IsClauseWord(const Token& t) {
  if (t.kind != Token::Kind::kName) return false;
  static constexpr std::string_view kWords[] = {"FROM",  "WHERE", "GROUP",     "HAVING", "ORDER", "LIMIT",   "OFFSET",
                                                "UNION", "JOIN",  "INTERSECT", "EXCEPT", "LEFT",  "RIGHT",   "FULL",
                                                "INNER", "CROSS", "NATURAL",   "WINDOW", "FETCH", "QUALIFY", "AS"};
  std::string upper = Upper(t.text);
  return std::find(std::begin(kWords), std::end(kWords), upper) != std::end(kWords);
}

Status CheckEnd(const Parser& p) {
  const Token& t = p.Peek();
  if (t.kind == Token::Kind::kEnd) return Status::OK();
  if (t.Is(";")) return ErrorAt(t.pos, "one statement only; nothing may follow it, not even ';'");
  if (t.Is("^")) return ErrorAt(t.pos, "'^' is not an operator here");
  for (const char* word : {"GROUP", "ORDER", "HAVING"}) {
    if (t.IsWord(word)) return NotYetAt(t.pos, "{} is", word);
  }
  for (const char* word : {"UNION", "JOIN", "INTERSECT", "EXCEPT", "WINDOW"}) {
    if (t.IsWord(word)) return ErrorAt(t.pos, "{} is not part of this language: one SELECT over one source", word);
  }
  return ErrorAt(t.pos, "the statement should end before '{}'", t.text);
}

bool IsAggregate(const std::string& name) {
  for (const char* a : {"count", "sum", "min", "max", "avg", "median", "stddev", "variance", "any_value", "first",
                        "last", "approx_count_distinct", "approx_percentile", "approx_top_k"}) {
    if (name == a) return true;
  }
  return false;
}

Result<SelectItem> ParseItem(Parser* p) {
  SelectItem item;
  item.pos = p->Peek().pos;
  if (p->TakeOp("*")) {
    item.star = true;
    return item;
  }
  if (p->Peek(1).Is(".") && p->Peek(2).Is("*")) {
    item.expr = std::make_unique<Expr>();
    item.expr->kind = Expr::Kind::kColumn;
    const Token t = p->Next();
    item.expr->parts.push_back({t.text, t.kind == Token::Kind::kQuotedName});
    p->Next();
    p->Next();
    item.star = true;
    return item;
  }
  PILUM_ASSIGN_OR_RETURN(item.expr, p->ParseExpr());
  if (item.expr->kind == Expr::Kind::kCall && IsAggregate(item.expr->name)) {
    return NotYetAt(item.pos, "the aggregate {} is", Upper(item.expr->name));
  }
  if (item.expr->kind != Expr::Kind::kColumn) return NotYetAt(item.pos, "an expression in SELECT is");
  bool as = p->TakeWord("AS");
  const Token& t = p->Peek();
  if (t.kind == Token::Kind::kQuotedName || (t.kind == Token::Kind::kName && (as || !IsClauseWord(t)))) {
    item.alias = p->Next().text;
  } else if (as) {
    return p->Unexpected("a name after AS");
  }
  return item;
}

Status ParseFrom(Parser* p, Statement* s) {
  if (p->Peek().Is("(")) return NotYetAt(p->Peek().pos, "a query inside a query is");
  const size_t pos = p->Peek().pos;
  PILUM_ASSIGN_OR_RETURN(auto path, p->ParsePath());
  if (path.size() > 1) return ErrorAt(pos, "FROM takes one name, the source; quote a name that holds a dot");
  s->source_names.push_back(path[0]);
  bool as = p->TakeWord("AS");
  const Token& t = p->Peek();
  if (t.kind == Token::Kind::kQuotedName || (t.kind == Token::Kind::kName && !IsClauseWord(t))) {
    s->source_names.push_back({t.text, t.kind == Token::Kind::kQuotedName});
    p->Next();
  } else if (as) {
    return p->Unexpected("a name after AS");
  }
  if (p->Peek().Is(",")) return ErrorAt(p->Peek().pos, "one source only");
  return Status::OK();
}

Result<ExprPtr> ParseCount(Parser* p, const char* clause) {
  const Token& t = p->Peek();
  if (t.kind != Token::Kind::kNumber && t.kind != Token::Kind::kParam) {
    return p->Unexpected(fmt::format("a whole number or a parameter after {}", clause));
  }
  auto e = std::make_unique<Expr>();
  e->kind = t.kind == Token::Kind::kNumber ? Expr::Kind::kNumber : Expr::Kind::kParam;
  e->pos = t.pos;
  e->text = t.text;
  e->flag = t.named_param;
  p->Next();
  return e;
}

Result<Statement> ParseSelect(Parser* p) {
  Statement s;
  PILUM_RETURN_NOT_OK(p->ExpectWord("SELECT"));
  // A column may be called distinct: then a comma, a dot or a clause follows.
  if (p->Peek().IsWord("DISTINCT") && !p->Peek(1).Is(",") && !p->Peek(1).Is(".") && !IsClauseWord(p->Peek(1)) &&
      p->Peek(1).kind != Token::Kind::kEnd) {
    return NotYetAt(p->Peek().pos, "DISTINCT is");
  }
  do {
    PILUM_ASSIGN_OR_RETURN(SelectItem item, ParseItem(p));
    s.items.push_back(std::move(item));
  } while (p->TakeOp(","));
  if (p->TakeWord("FROM")) PILUM_RETURN_NOT_OK(ParseFrom(p, &s));
  if (p->TakeWord("WHERE")) {
    PILUM_ASSIGN_OR_RETURN(s.where, p->ParseExpr());
  }
  while (true) {
    if (!s.limit && p->TakeWord("LIMIT")) {
      PILUM_ASSIGN_OR_RETURN(s.limit, ParseCount(p, "LIMIT"));
    } else if (!s.offset && p->TakeWord("OFFSET")) {
      PILUM_ASSIGN_OR_RETURN(s.offset, ParseCount(p, "OFFSET"));
    } else {
      break;
    }
  }
  PILUM_RETURN_NOT_OK(CheckEnd(*p));
  return s;
}

// SELECT starts a statement unless it is used like a column ("select = 5").
bool StartsSelect(const Parser& p) {
  if (!p.Peek().IsWord("SELECT")) return false;
  const Token& t = p.Peek(1);
  return t.kind != Token::Kind::kOp || t.Is("*") || t.Is("(") || t.Is("-") || t.Is("[") || t.Is("+");
}

}  // namespace

Result<Statement> ParseStatement(std::string_view sql) {
  PILUM_ASSIGN_OR_RETURN(auto tokens, Lex(sql));
  Parser p(std::move(tokens));
  if (p.Peek().kind == Token::Kind::kEnd) return ErrorAt(1, "the query is empty");
  if (StartsSelect(p)) return ParseSelect(&p);
  Statement s;
  s.bare_predicate = true;
  PILUM_ASSIGN_OR_RETURN(s.where, p.ParseExpr());
  PILUM_RETURN_NOT_OK(CheckEnd(p));
  return s;
}

Result<ExprPtr> ParsePredicate(std::string_view sql) {
  PILUM_ASSIGN_OR_RETURN(auto tokens, Lex(sql));
  Parser p(std::move(tokens));
  if (p.Peek().kind == Token::Kind::kEnd) return ErrorAt(1, "the predicate is empty");
  if (StartsSelect(p)) return ErrorAt(p.Peek().pos, "a predicate is expected here, not a SELECT");
  PILUM_ASSIGN_OR_RETURN(ExprPtr e, p.ParseExpr());
  PILUM_RETURN_NOT_OK(CheckEnd(p));
  return e;
}

}  // namespace pilum
