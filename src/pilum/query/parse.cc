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

Status CheckEnd(const Parser& p, bool select) {
  const Token& t = p.Peek();
  if (t.kind == Token::Kind::kEnd) return Status::OK();
  if (t.Is(";")) return ErrorAt(t.pos, "one statement only; nothing may follow it, not even ';'");
  if (t.Is("^")) return ErrorAt(t.pos, "'^' is not an operator here");
  for (const char* word : {"FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET"}) {
    if (!select || !t.IsWord(word)) continue;
    return ErrorAt(t.pos, "{} cannot stand here; the order is SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT",
                   word);
  }
  for (const char* word : {"UNION", "JOIN", "INTERSECT", "EXCEPT", "WINDOW"}) {
    if (t.IsWord(word)) return ErrorAt(t.pos, "{} is not part of this language: one SELECT over one source", word);
  }
  return ErrorAt(t.pos, "the statement should end before '{}'", t.text);
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

Status ParseGroupBy(Parser* p, Statement* s) {
  p->Next();
  PILUM_RETURN_NOT_OK(p->ExpectWord("BY"));
  do {
    PILUM_ASSIGN_OR_RETURN(ExprPtr e, p->ParseExpr());
    s->group_by.push_back(std::move(e));
  } while (p->TakeOp(","));
  return Status::OK();
}

Status ParseOrderBy(Parser* p, Statement* s) {
  p->Next();
  PILUM_RETURN_NOT_OK(p->ExpectWord("BY"));
  do {
    OrderItem item;
    PILUM_ASSIGN_OR_RETURN(item.expr, p->ParseExpr());
    item.descending = p->TakeWord("DESC");
    if (!item.descending) p->TakeWord("ASC");
    if (p->TakeWord("NULLS")) {
      item.nulls_first = p->TakeWord("FIRST");
      if (!item.nulls_first) PILUM_RETURN_NOT_OK(p->ExpectWord("LAST"));
    }
    s->order_by.push_back(std::move(item));
  } while (p->TakeOp(","));
  return Status::OK();
}

Result<Statement> ParseSelect(Parser* p) {
  Statement s;
  PILUM_RETURN_NOT_OK(p->ExpectWord("SELECT"));
  // A column may be called distinct: then a comma, a dot or a clause follows.
  if (p->Peek().IsWord("DISTINCT") && !p->Peek(1).Is(",") && !p->Peek(1).Is(".") && !IsClauseWord(p->Peek(1)) &&
      p->Peek(1).kind != Token::Kind::kEnd) {
    p->Next();
    if (p->Peek().IsWord("ON") && p->Peek(1).Is("(")) return NotYetAt(p->Peek().pos, "DISTINCT ON is");
    s.distinct = true;
  }
  do {
    PILUM_ASSIGN_OR_RETURN(SelectItem item, ParseItem(p));
    s.items.push_back(std::move(item));
  } while (p->TakeOp(","));
  if (p->TakeWord("FROM")) PILUM_RETURN_NOT_OK(ParseFrom(p, &s));
  if (p->TakeWord("WHERE")) {
    PILUM_ASSIGN_OR_RETURN(s.where, p->ParseExpr());
  }
  if (p->Peek().IsWord("GROUP")) PILUM_RETURN_NOT_OK(ParseGroupBy(p, &s));
  if (p->TakeWord("HAVING")) {
    PILUM_ASSIGN_OR_RETURN(s.having, p->ParseExpr());
  }
  if (p->Peek().IsWord("ORDER")) PILUM_RETURN_NOT_OK(ParseOrderBy(p, &s));
  while (true) {
    if (!s.limit && p->TakeWord("LIMIT")) {
      PILUM_ASSIGN_OR_RETURN(s.limit, ParseCount(p, "LIMIT"));
    } else if (!s.offset && p->TakeWord("OFFSET")) {
      PILUM_ASSIGN_OR_RETURN(s.offset, ParseCount(p, "OFFSET"));
    } else {
      break;
    }
  }
  PILUM_RETURN_NOT_OK(CheckEnd(*p, true));
  return s;
}

// SELECT starts a statement unless it is used like a column ("select = 5").
bool StartsSelect(const Parser& p) {
  if (!p.Peek().IsWord("SELECT")) return false;
  const Token& t = p.Peek(1);
  return t.kind != Token::Kind::kOp || t.Is("*") || t.Is("(") || t.Is("-") || t.Is("[") || t.Is("+");
}

}  // namespace

namespace {

// A bare predicate, or a SELECT where `select` allows.
Result<Statement> Parse(std::string_view sql, bool select, const char* empty) {
  PILUM_ASSIGN_OR_RETURN(auto tokens, Lex(sql));
  if (tokens.front().kind == Token::Kind::kEnd) return ErrorAt(1, "the {} is empty", empty);
  size_t question_marks = 0;
  for (const Token& t : tokens) question_marks += t.kind == Token::Kind::kParam && t.text[0] == '?';
  Parser p(std::move(tokens));
  Statement s;
  if (StartsSelect(p)) {
    if (!select) return ErrorAt(p.Peek().pos, "a predicate is expected here, not a SELECT");
    PILUM_ASSIGN_OR_RETURN(s, ParseSelect(&p));
  } else {
    s.bare_predicate = true;
    PILUM_ASSIGN_OR_RETURN(s.where, p.ParseExpr());
    PILUM_RETURN_NOT_OK(CheckEnd(p, false));
  }
  s.question_marks = question_marks;
  return s;
}

}  // namespace

Result<Statement> ParseStatement(std::string_view sql) { return Parse(sql, true, "query"); }

Result<Statement> ParsePredicate(std::string_view sql) { return Parse(sql, false, "predicate"); }

}  // namespace pilum
