// Expressions, by precedence climbing. From loosest: OR, AND, NOT, comparisons and IS / IN / LIKE / BETWEEN, ||, + -, * / %,
// sign, ::. A chain of one of AND or OR becomes one node, so its length costs no depth.
#include "pilum/query/parser.h"

namespace pilum {
namespace {

enum Level { kOr = 1, kAnd = 2, kNot = 3, kCompare = 4, kConcat = 5, kAdd = 6, kMultiply = 7, kSign = 8, kCast = 9 };

ExprPtr Make(Expr::Kind kind, size_t pos) {
  auto e = std::make_unique<Expr>();
  e->kind = kind;
  e->pos = pos;
  return e;
}

// Counts one level of nesting for as long as it lives.
class Nest {
 public:
  explicit Nest(int* depth) : depth_(depth) { ++*depth_; }
  ~Nest() { --*depth_; }
  bool too_deep() const { return *depth_ > kMaxNesting; }

 private:
  int* depth_;
};

// A chain such as a + b + c leans left and is deep without nesting; this bounds every walk over the tree.
constexpr int kMaxHeight = 4 * kMaxNesting;
bool TooTall(Expr* e) {
  e->height = 1;
  for (const auto& arg : e->args) e->height = std::max(e->height, arg->height + 1);
  return e->height > kMaxHeight;
}

Status TooDeep(size_t pos) { return ErrorAt(pos, "nested more than {} deep", kMaxNesting); }

// 0: not a binary operator of this grammar.
int LevelOf(const Token& t) {
  if (t.IsWord("OR")) return kOr;
  if (t.IsWord("AND")) return kAnd;
  for (const char* word : {"IS", "IN", "LIKE", "ILIKE", "BETWEEN", "NOT"}) {
    if (t.IsWord(word)) return kCompare;
  }
  if (t.kind != Token::Kind::kOp) return 0;
  for (const char* op : {"=", "==", "<>", "!=", "<", "<=", ">", ">="}) {
    if (t.text == op) return kCompare;
  }
  if (t.text == "||") return kConcat;
  if (t.text == "+" || t.text == "-") return kAdd;
  if (t.text == "*" || t.text == "/" || t.text == "%") return kMultiply;
  if (t.text == "::") return kCast;
  return 0;
}

bool IsIntervalUnit(const Token& t) {
  if (t.kind != Token::Kind::kName) return false;
  static constexpr std::string_view kUnits[] = {"YEAR",   "MONTH",  "WEEK",        "DAY",         "HOUR",
                                                "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND"};
  std::string upper = Upper(t.text);
  if (upper.ends_with('S')) upper.pop_back();
  return std::find(std::begin(kUnits), std::end(kUnits), upper) != std::end(kUnits);
}

bool IsReserved(const Token& t) {
  if (t.kind != Token::Kind::kName) return false;
  static constexpr std::string_view kWords[] = {"AND",  "OR",   "IN",  "IS", "LIKE",   "ILIKE", "BETWEEN", "WHEN",
                                                "THEN", "ELSE", "END", "AS", "SELECT", "FROM",  "WHERE"};
  std::string upper = Upper(t.text);
  return std::find(std::begin(kWords), std::end(kWords), upper) != std::end(kWords);
}

}  // namespace

bool Parser::TakeWord(std::string_view upper) {
  if (!Peek().IsWord(upper)) return false;
  Next();
  return true;
}
bool Parser::TakeOp(std::string_view op) {
  if (!Peek().Is(op)) return false;
  Next();
  return true;
}
Status Parser::Expect(std::string_view op) { return TakeOp(op) ? Status::OK() : Unexpected(fmt::format("'{}'", op)); }
Status Parser::ExpectWord(std::string_view upper) { return TakeWord(upper) ? Status::OK() : Unexpected(upper); }

Status Parser::Unexpected(std::string_view wanted) const {
  const Token& t = Peek();
  if (t.Is("^")) return ErrorAt(t.pos, "'^' is not an operator here");
  if (t.kind == Token::Kind::kEnd) return ErrorAt(t.pos, "expected {}, found the end", wanted);
  if (t.kind == Token::Kind::kText) return ErrorAt(t.pos, "expected {}, found a text", wanted);
  return ErrorAt(t.pos, "expected {}, found '{}'", wanted, t.text);
}

Result<std::vector<NamePart>> Parser::ParsePath() {
  std::vector<NamePart> parts;
  do {
    const Token& t = Peek();
    if (t.kind != Token::Kind::kName && t.kind != Token::Kind::kQuotedName) return Unexpected("a name");
    parts.push_back({t.text, t.kind == Token::Kind::kQuotedName});
    Next();
    if (parts.size() > kMaxNesting) return TooDeep(t.pos);
  } while (TakeOp("."));
  return parts;
}

Result<ExprPtr> Parser::ParseBinary(int least) {
  PILUM_ASSIGN_OR_RETURN(ExprPtr left, ParsePrefix());
  while (true) {
    const Token t = Peek();
    if (TooTall(left.get())) return TooDeep(t.pos);
    int level = LevelOf(t);
    if (t.IsWord("NOT") &&
        !(Peek(1).IsWord("IN") || Peek(1).IsWord("LIKE") || Peek(1).IsWord("ILIKE") || Peek(1).IsWord("BETWEEN"))) {
      level = 0;
    }
    if (level == 0 || level < least) return left;
    if (level == kAnd || level == kOr) {
      auto chain = Make(level == kAnd ? Expr::Kind::kAnd : Expr::Kind::kOr, t.pos);
      chain->args.push_back(std::move(left));
      while (TakeWord(level == kAnd ? "AND" : "OR")) {
        PILUM_ASSIGN_OR_RETURN(ExprPtr right, ParseBinary(level + 1));
        chain->args.push_back(std::move(right));
      }
      left = std::move(chain);
      continue;
    }
    Next();
    if (level == kCast) {
      auto cast = Make(Expr::Kind::kCast, t.pos);
      PILUM_ASSIGN_OR_RETURN(cast->name, ParseTypeName());
      cast->args.push_back(std::move(left));
      left = std::move(cast);
    } else if (t.IsWord("IS")) {
      PILUM_ASSIGN_OR_RETURN(left, ParseIs(std::move(left), t.pos));
    } else if (t.kind == Token::Kind::kName) {
      if (!t.IsWord("NOT")) --at_;
      PILUM_ASSIGN_OR_RETURN(left, ParsePostfix(std::move(left), t.IsWord("NOT")));
    } else {
      auto e = Make(level == kCompare ? Expr::Kind::kCompare : Expr::Kind::kArith, t.pos);
      e->name = t.text == "==" ? "=" : t.text == "!=" ? "<>" : t.text;
      PILUM_ASSIGN_OR_RETURN(ExprPtr right, ParseBinary(level + 1));
      if (level == kCompare && LevelOf(Peek()) == kCompare && Peek().kind == Token::Kind::kOp) {
        return ErrorAt(Peek().pos, "comparisons do not chain; use AND or parentheses");
      }
      e->args.push_back(std::move(left));
      e->args.push_back(std::move(right));
      left = std::move(e);
    }
  }
}

// IN, LIKE, ILIKE, BETWEEN, after an optional NOT.
Result<ExprPtr> Parser::ParsePostfix(ExprPtr left, bool negated) {
  const Token t = Next();
  auto e = Make(t.IsWord("IN")        ? Expr::Kind::kIn
                : t.IsWord("BETWEEN") ? Expr::Kind::kBetween
                                      : Expr::Kind::kLike,
                t.pos);
  e->negated = negated;
  e->args.push_back(std::move(left));
  if (e->kind == Expr::Kind::kIn) {
    PILUM_RETURN_NOT_OK(Expect("("));
    if (Peek().IsWord("SELECT")) return NotYetAt(Peek().pos, "a query inside a query is");
    PILUM_RETURN_NOT_OK(ParseList(")", &e->args));
    return e;
  }
  PILUM_ASSIGN_OR_RETURN(ExprPtr first, ParseBinary(kConcat));
  e->args.push_back(std::move(first));
  if (e->kind == Expr::Kind::kBetween) {
    PILUM_RETURN_NOT_OK(ExpectWord("AND"));
    PILUM_ASSIGN_OR_RETURN(ExprPtr second, ParseBinary(kConcat));
    e->args.push_back(std::move(second));
  } else {
    e->name = Upper(t.text);
    if (TakeWord("ESCAPE")) {
      PILUM_ASSIGN_OR_RETURN(ExprPtr escape, ParseBinary(kConcat));
      e->args.push_back(std::move(escape));
    }
  }
  return e;
}

Result<ExprPtr> Parser::ParseIs(ExprPtr left, size_t pos) {
  bool negated = TakeWord("NOT");
  auto finish = [&](Expr::Kind kind) {
    auto e = Make(kind, pos);
    e->negated = negated;
    e->args.push_back(std::move(left));
    return e;
  };
  if (TakeWord("NULL")) return finish(Expr::Kind::kIsNull);
  for (const char* word : {"TRUE", "FALSE", "UNKNOWN"}) {
    if (!TakeWord(word)) continue;
    auto e = finish(Expr::Kind::kIsTruth);
    e->name = word;
    return e;
  }
  if (TakeWord("DISTINCT")) {
    PILUM_RETURN_NOT_OK(ExpectWord("FROM"));
    PILUM_ASSIGN_OR_RETURN(ExprPtr right, ParseBinary(kConcat));
    auto e = finish(Expr::Kind::kDistinct);
    e->args.push_back(std::move(right));
    return e;
  }
  return Unexpected("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM");
}

Result<ExprPtr> Parser::ParsePrefix() {
  Nest nest(&depth_);
  const Token t = Peek();
  if (nest.too_deep()) return TooDeep(t.pos);
  if (t.IsWord("NOT")) {
    Next();
    auto e = Make(Expr::Kind::kNot, t.pos);
    PILUM_ASSIGN_OR_RETURN(ExprPtr arg, ParseBinary(kNot));
    e->args.push_back(std::move(arg));
    return e;
  }
  if (t.Is("-") || t.Is("+")) {
    Next();
    PILUM_ASSIGN_OR_RETURN(ExprPtr arg, ParseBinary(kSign));
    if (t.Is("+")) return arg;
    if (arg->kind == Expr::Kind::kNumber) {
      arg->text = arg->text[0] == '-' ? arg->text.substr(1) : "-" + arg->text;
      arg->pos = t.pos;
      return arg;
    }
    auto e = Make(Expr::Kind::kNegate, t.pos);
    e->args.push_back(std::move(arg));
    return e;
  }
  PILUM_ASSIGN_OR_RETURN(ExprPtr primary, ParsePrimary());
  return ParseSubscripts(std::move(primary));
}

// x[1] is array_element(x, 1), x['name'] is get_field(x, 'name'); of a column that is a step of its path.
Result<ExprPtr> Parser::ParseSubscripts(ExprPtr of) {
  while (Peek().Is("[") && of->kind != Expr::Kind::kNumber && of->kind != Expr::Kind::kText) {
    const size_t pos = Next().pos;
    if (of->kind == Expr::Kind::kColumn && Peek().kind == Token::Kind::kText && Peek(1).Is("]")) {
      of->parts.push_back({Next().text, true});
      Next();
      continue;
    }
    auto call = Make(Expr::Kind::kCall, pos);
    call->args.push_back(std::move(of));
    PILUM_ASSIGN_OR_RETURN(ExprPtr what, ParseExpr());
    call->name = what->kind == Expr::Kind::kText ? "get_field" : "array_element";
    call->args.push_back(std::move(what));
    PILUM_RETURN_NOT_OK(Expect("]"));
    if (TooTall(call.get())) return TooDeep(pos);
    of = std::move(call);
  }
  return of;
}

Result<ExprPtr> Parser::ParsePrimary() {
  const Token t = Peek();
  auto leaf = [&](Expr::Kind kind) {
    Next();
    auto e = Make(kind, t.pos);
    e->text = t.text;
    e->flag = t.named_param;
    return e;
  };
  switch (t.kind) {
    case Token::Kind::kNumber: return leaf(Expr::Kind::kNumber);
    case Token::Kind::kText: return leaf(Expr::Kind::kText);
    case Token::Kind::kBinary: return leaf(Expr::Kind::kBinary);
    case Token::Kind::kParam: return leaf(Expr::Kind::kParam);
    case Token::Kind::kName:
    case Token::Kind::kQuotedName: return ParseNamed();
    case Token::Kind::kOp:
      if (TakeOp("(")) {
        if (Peek().IsWord("SELECT")) return NotYetAt(Peek().pos, "a query inside a query is");
        PILUM_ASSIGN_OR_RETURN(ExprPtr inner, ParseExpr());
        PILUM_RETURN_NOT_OK(Expect(")"));
        // (5) is no longer a bare literal to a sign before it, but has the same value: nothing to wrap.
        return inner;
      }
      if (TakeOp("[")) {
        auto e = Make(Expr::Kind::kArray, t.pos);
        PILUM_RETURN_NOT_OK(ParseList("]", &e->args));
        return e;
      }
      break;
    case Token::Kind::kEnd: break;
  }
  return Unexpected("an expression");
}

// A word: literal, typed literal, CASE, CAST, call or column.
Result<ExprPtr> Parser::ParseNamed() {
  const Token t = Peek();
  if (t.kind == Token::Kind::kName) {
    if (IsReserved(t)) return Unexpected("an expression");
    const Token& after = Peek(1);
    if (IsTypedText(t)) {  // TIMESTAMP(6) '…', DECIMAL(5, 2) '…'
      auto e = Make(Expr::Kind::kCast, t.pos);
      PILUM_ASSIGN_OR_RETURN(e->name, ParseTypeName());
      auto text = Make(Expr::Kind::kText, Peek().pos);
      text->text = Next().text;
      e->args.push_back(std::move(text));
      return e;
    }
    for (const char* word : {"DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "INTERVAL"}) {
      // TIMESTAMP "2021-01-02", as pylance lets it be written; "x" is a name else.
      const bool digit = after.kind == Token::Kind::kQuotedName && !after.text.empty() && after.text[0] >= '0' &&
                         after.text[0] <= '9' && !t.IsWord("INTERVAL");
      if (!t.IsWord(word) || (after.kind != Token::Kind::kText && !digit)) continue;
      auto e = Make(Expr::Kind::kTyped, t.pos);
      e->name = t.IsWord("TIMESTAMPTZ") ? "TIMESTAMP" : word;
      Next();
      e->text = Next().text;
      // INTERVAL '1' DAY is INTERVAL '1 day'.
      if (t.IsWord("INTERVAL") && IsIntervalUnit(Peek())) e->text += " " + Next().text;
      return e;
    }
    if (t.IsWord("NULL") || t.IsWord("TRUE") || t.IsWord("FALSE")) {
      Next();
      auto e = Make(t.IsWord("NULL") ? Expr::Kind::kNull : Expr::Kind::kBool, t.pos);
      e->flag = t.IsWord("TRUE");
      return e;
    }
    if (t.IsWord("CASE") && !after.Is(".")) {
      Next();
      return ParseCase(t.pos);
    }
    if (t.IsWord("ARRAY") && after.Is("[")) {
      Next();
      return ParsePrimary();
    }
    if ((t.IsWord("CAST") || t.IsWord("TRY_CAST")) && after.Is("(")) return ParseCast(Next());
    if (after.Is("(")) return ParseCall(Next());
  }
  auto e = Make(Expr::Kind::kColumn, t.pos);
  PILUM_ASSIGN_OR_RETURN(e->parts, ParsePath());
  return e;
}

Result<ExprPtr> Parser::ParseCall(const Token& name) {
  auto e = Make(Expr::Kind::kCall, name.pos);
  for (char c : name.text) e->name += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  PILUM_RETURN_NOT_OK(Expect("("));
  if (Peek().Is("*") && Peek(1).Is(")")) {
    e->args.push_back(Make(Expr::Kind::kStar, Next().pos));
    Next();
    return e;
  }
  if (TakeWord("DISTINCT")) e->flag = true;
  PILUM_RETURN_NOT_OK(ParseList(")", &e->args));
  return e;
}

Status Parser::ParseList(std::string_view close, std::vector<ExprPtr>* out) {
  if (TakeOp(close)) return Status::OK();
  do {
    PILUM_ASSIGN_OR_RETURN(ExprPtr item, ParseExpr());
    out->push_back(std::move(item));
  } while (TakeOp(","));
  return TakeOp(close) ? Status::OK() : Unexpected(fmt::format("',' or '{}'", close));
}

Result<ExprPtr> Parser::ParseCase(size_t pos) {
  auto e = Make(Expr::Kind::kCase, pos);
  if (!Peek().IsWord("WHEN")) {
    e->flag = true;
    PILUM_ASSIGN_OR_RETURN(ExprPtr operand, ParseExpr());
    e->args.push_back(std::move(operand));
  }
  if (!Peek().IsWord("WHEN")) return Unexpected("WHEN");
  while (TakeWord("WHEN")) {
    PILUM_ASSIGN_OR_RETURN(ExprPtr when, ParseExpr());
    PILUM_RETURN_NOT_OK(ExpectWord("THEN"));
    PILUM_ASSIGN_OR_RETURN(ExprPtr then, ParseExpr());
    e->args.push_back(std::move(when));
    e->args.push_back(std::move(then));
  }
  if (TakeWord("ELSE")) {
    PILUM_ASSIGN_OR_RETURN(ExprPtr otherwise, ParseExpr());
    e->args.push_back(std::move(otherwise));
  }
  PILUM_RETURN_NOT_OK(ExpectWord("END"));
  return e;
}

// A type with arguments, then text.
bool Parser::IsTypedText(const Token& word) const {
  if (!(word.IsWord("TIMESTAMP") || word.IsWord("DECIMAL") || word.IsWord("NUMERIC")) || !Peek(1).Is("(")) return false;
  const size_t close = Peek(3).Is(",") ? 5 : 3;
  return Peek(2).kind == Token::Kind::kNumber && Peek(close).Is(")") && Peek(close + 1).kind == Token::Kind::kText;
}

Result<ExprPtr> Parser::ParseCast(const Token& word) {
  auto e = Make(Expr::Kind::kCast, word.pos);
  e->flag = word.IsWord("TRY_CAST");
  PILUM_RETURN_NOT_OK(Expect("("));
  PILUM_ASSIGN_OR_RETURN(ExprPtr arg, ParseExpr());
  PILUM_RETURN_NOT_OK(ExpectWord("AS"));
  PILUM_ASSIGN_OR_RETURN(e->name, ParseTypeName());
  PILUM_RETURN_NOT_OK(Expect(")"));
  e->args.push_back(std::move(arg));
  return e;
}

// word [precision] [(number [, number])], e.g. double precision, decimal(10, 2); lower case, arguments in parentheses.
Result<std::string> Parser::ParseTypeName() {
  if (Peek().kind != Token::Kind::kName) return Unexpected("a type name");
  std::string name = Upper(Next().text);
  if (name == "DOUBLE" && TakeWord("PRECISION")) name = "DOUBLE";
  if (TakeOp("(")) {
    name += "(";
    bool first = true;
    do {
      bool negative = !first && TakeOp("-");
      if (Peek().kind != Token::Kind::kNumber || Peek().text.size() > 4) return Unexpected("a small number");
      name += (first ? "" : ",") + std::string(negative ? "-" : "") + Next().text;
      first = false;
    } while (TakeOp(","));
    PILUM_RETURN_NOT_OK(Expect(")"));
    name += ")";
  }
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return name;
}

}  // namespace pilum
