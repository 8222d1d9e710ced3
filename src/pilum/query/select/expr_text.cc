// Expressions as text, for names of columns and to see whether two are the same.
#include <functional>

#include "pilum/query/select/select.h"

namespace pilum {
namespace {

std::string Quoted(const std::string& text, char quote) {
  std::string out(1, quote);
  for (char c : text) {
    if (c == quote) out += quote;
    out += c;
  }
  return out + quote;
}

std::string Hex(const std::string& bytes) {
  std::string out = "X'";
  for (char c : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return out + "'";
}

class Printer {
 public:
  explicit Printer(const PathOf* path_of) : path_of_(path_of) {}

  std::string Print(const Expr& e) const {
    using Kind = Expr::Kind;
    switch (e.kind) {
      case Kind::kNumber: return e.text;
      case Kind::kText: return Quoted(e.text, '\'');
      case Kind::kBinary: return Hex(e.text);
      case Kind::kBool: return e.flag ? "true" : "false";
      case Kind::kNull: return "NULL";
      case Kind::kTyped: return e.name + " " + Quoted(e.text, '\'');
      case Kind::kParam: return e.flag ? ":" + e.text : e.text[0] == '?' ? (path_of_ ? e.text : "?") : "$" + e.text;
      case Kind::kColumn: return path_of_ ? (*path_of_)(e) : Path(e);
      case Kind::kAnd: return Join(e, 0, " AND ");
      case Kind::kOr: return Join(e, 0, " OR ");
      case Kind::kNot: return "NOT " + Inner(*e.args[0]);
      case Kind::kNegate: return "-" + Inner(*e.args[0]);
      case Kind::kCompare:
      case Kind::kArith: return Join(e, 0, " " + e.name + " ");
      case Kind::kDistinct:
        return Inner(*e.args[0]) + (e.negated ? " IS NOT DISTINCT FROM " : " IS DISTINCT FROM ") + Inner(*e.args[1]);
      case Kind::kIsNull: return Inner(*e.args[0]) + (e.negated ? " IS NOT NULL" : " IS NULL");
      case Kind::kIsTruth: return Inner(*e.args[0]) + (e.negated ? " IS NOT " : " IS ") + e.name;
      case Kind::kIn: return Inner(*e.args[0]) + (e.negated ? " NOT IN (" : " IN (") + List(e, 1) + ")";
      case Kind::kBetween:
        return Inner(*e.args[0]) + (e.negated ? " NOT BETWEEN " : " BETWEEN ") + Inner(*e.args[1]) + " AND " +
               Inner(*e.args[2]);
      case Kind::kLike:
        return Inner(*e.args[0]) + (e.negated ? " NOT " : " ") + e.name + " " + Inner(*e.args[1]) +
               (e.args.size() > 2 ? " ESCAPE " + Inner(*e.args[2]) : "");
      case Kind::kCase: return Case(e);
      case Kind::kCast: return (e.flag ? "try_cast(" : "cast(") + Print(*e.args[0]) + " AS " + e.name + ")";
      case Kind::kCall: return e.name + "(" + (e.flag ? "DISTINCT " : "") + List(e, 0) + ")";
      case Kind::kArray: return "[" + List(e, 0) + "]";
      case Kind::kStar: return "*";
    }
    return "";
  }

 private:
  static std::string Path(const Expr& e) {
    std::string out;
    for (const auto& part : e.parts) out += (out.empty() ? "" : ".") + part.text;
    return out;
  }

  std::string Inner(const Expr& e) const {
    using Kind = Expr::Kind;
    switch (e.kind) {
      case Kind::kNumber:
      case Kind::kText:
      case Kind::kBinary:
      case Kind::kBool:
      case Kind::kNull:
      case Kind::kTyped:
      case Kind::kParam:
      case Kind::kColumn:
      case Kind::kCast:
      case Kind::kCall:
      case Kind::kArray:
      case Kind::kStar: return Print(e);
      default: return "(" + Print(e) + ")";
    }
  }

  std::string Join(const Expr& e, size_t from, const std::string& between) const {
    std::string out;
    for (size_t i = from; i < e.args.size(); ++i) out += (i > from ? between : "") + Inner(*e.args[i]);
    return out;
  }

  std::string List(const Expr& e, size_t from) const {
    std::string out;
    for (size_t i = from; i < e.args.size(); ++i) out += (i > from ? ", " : "") + Print(*e.args[i]);
    return out;
  }

  std::string Case(const Expr& e) const {
    std::string out = "CASE";
    size_t i = 0;
    if (e.flag) out += " " + Inner(*e.args[i++]);
    for (; i + 1 < e.args.size(); i += 2) out += " WHEN " + Inner(*e.args[i]) + " THEN " + Inner(*e.args[i + 1]);
    if (i < e.args.size()) out += " ELSE " + Inner(*e.args[i]);
    return out + " END";
  }

  const PathOf* path_of_;
};

}  // namespace

std::string ExprText(const Expr& e) {
  if (e.kind == Expr::Kind::kColumn) return e.parts.back().text;
  return Printer(nullptr).Print(e);
}

std::string CanonicalText(const Expr& e, const PathOf& path_of) { return Printer(&path_of).Print(e); }

}  // namespace pilum
