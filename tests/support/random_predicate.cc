#include "tests/support/random_predicate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include <arrow/api.h>
#include <fmt/format.h>

namespace pilum::testing {
namespace {

using arrow::Type;
using Get = std::function<Cell(const Row&)>;

constexpr int64_t kSecond = 1000000000, kDay = 86400 * kSecond;

Truth Neg(Truth v) { return v ? Truth(!*v) : std::nullopt; }
Truth Conj(Truth a, Truth b) { return a == false || b == false ? Truth(false) : !a || !b ? std::nullopt : Truth(true); }
Truth Disj(Truth a, Truth b) { return Neg(Conj(Neg(a), Neg(b))); }

Truth Compare(const std::string& op, const Cell& a, const Cell& b) {
  if (a.is_null() || b.is_null()) return std::nullopt;
  const int c = CompareCells(a, b);
  if (op == "=" || op == "==") return c == 0;
  if (op == "<>" || op == "!=") return c != 0;
  if (op == "<") return c < 0;
  if (op == "<=") return c <= 0;
  if (op == ">") return c > 0;
  return c >= 0;
}

const std::vector<std::string>& Operators() {
  static const std::vector<std::string> ops = {"=", "==", "<>", "!=", "<", "<=", ">", ">="};
  return ops;
}

struct Literal {
  std::string sql;
  Cell value;
};

std::string Quote(const std::string& s) {
  std::string out = "'";
  for (char c : s) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

// "-12.50" -> -1250 / 10^2
Cell ExactOf(const std::string& text) {
  __int128 units = 0;
  int scale = 0;
  bool point = false;
  for (char c : text) {
    if (c == '.') point = true;
    if (c < '0' || c > '9') continue;
    units = units * 10 + (c - '0');
    scale += point;
  }
  return Cell::Exact(text[0] == '-' ? -units : units, scale);
}

// Civil date from days since 1970 (Howard Hinnant's algorithm, public domain).
std::string DateText(int64_t days) {
  const int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, doe = z - era * 146097;
  const int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365,
                doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const int64_t mp = (5 * doy + 2) / 153, d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;
  return fmt::format("{:04}-{:02}-{:02}", yoe + era * 400 + (m <= 2), m, d);
}

std::string ClockText(int64_t nanos) {
  const int64_t s = nanos / kSecond, frac = nanos % kSecond;
  std::string out = fmt::format("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  if (frac) {
    out += fmt::format(".{:09}", frac);
    while (out.back() == '0') out.pop_back();
  }
  return out;
}

Literal NumberLiteral(Random& rng, const arrow::DataType& type) {
  static const std::vector<std::string> whole = {"0",
                                                 "1",
                                                 "-1",
                                                 "2",
                                                 "5",
                                                 "7",
                                                 "12",
                                                 "14",
                                                 "27",
                                                 "100",
                                                 "127",
                                                 "128",
                                                 "255",
                                                 "256",
                                                 "1000",
                                                 "65504",
                                                 "2147483648",
                                                 "16777217",
                                                 "9007199254740993",
                                                 "9223372036854775807",
                                                 "9223372036854775808",
                                                 "18446744073709551615",
                                                 "-9223372036854775808",
                                                 "99999999999999999999",
                                                 "-129"};
  static const std::vector<std::string> pointed = {"0.5", "1.1",  "-2.5", "0.1",  "2.50",  "1.105", "100.00",
                                                   "0.0", "-0.0", "3.0",  "12.5", "13.01", "1.001"};
  static const std::vector<std::string> halves = {"0",   "1",    "-1",   "5",    "12",  "100",
                                                  "0.5", "-2.5", "0.25", "12.5", "1.5", "65504"};
  const bool is_float = arrow::is_floating(type.id());
  std::string text = rng.Pick(type.id() == Type::HALF_FLOAT ? halves : rng.Chance(0.6) ? whole : pointed);
  if (!is_float) return {text, ExactOf(text)};
  // A literal beside a float column is first rounded to the column's type.
  const double v = type.id() == Type::FLOAT ? static_cast<double>(std::strtof(text.c_str(), nullptr))
                                            : std::strtod(text.c_str(), nullptr);
  if (type.id() == Type::FLOAT && rng.Chance(0.05))
    return {"1e39", Cell::Float(1e39)};  // between the largest float and infinity
  if (type.id() != Type::HALF_FLOAT && rng.Chance(0.05)) return {"'NaN'", Cell::Float(std::nan(""))};
  if (type.id() != Type::HALF_FLOAT && rng.Chance(0.05))
    return {"1e30", Cell::Float(type.id() == Type::FLOAT ? 1e30f : 1e30)};
  return {text, Cell::Float(v)};
}

Literal TimestampLiteral(Random& rng, const arrow::DataType& type) {
  const auto& zone = static_cast<const arrow::TimestampType&>(type).timezone();
  if (zone.empty() && rng.Chance(0.1)) {
    const int64_t days = 19732 + rng.Below(4);
    return {"date " + Quote(DateText(days)), Cell::Exact(static_cast<__int128>(days) * kDay)};
  }
  const int64_t v = (1704862800 + rng.Below(60) * 1800 + rng.Below(3)) * kSecond +
                    rng.Pick(std::vector<int64_t>{0, 0, 0, kSecond / 2, 1000, 1});
  struct Offset {
    const char* text;
    int64_t hours;
  };
  const Offset o = rng.Pick(std::vector<Offset>{{"Z", 0}, {"+00:00", 0}, {"-05:00", -5}, {"+09:00", 9}});
  const bool with_offset = zone == "America/New_York" || rng.Chance(0.3);
  const int64_t wall = v + (with_offset ? o.hours * 3600 * kSecond : 0);
  const std::string text =
      DateText(wall / kDay) + (rng.Chance(0.5) ? " " : "T") + ClockText(wall % kDay) + (with_offset ? o.text : "");
  return {(rng.Chance(0.5) ? "timestamp " : "") + Quote(text), Cell::Exact(v)};
}

std::optional<Literal> LiteralFor(Random& rng, const arrow::DataType& type) {
  static const std::vector<std::string> texts = {"",
                                                 "a",
                                                 "ab",
                                                 "abc",
                                                 "Ab",
                                                 "b%c",
                                                 "é",
                                                 "検索",
                                                 "a'b",
                                                 "k3",
                                                 "k12",
                                                 "k14",
                                                 "nope",
                                                 std::string(80, 'z'),
                                                 std::string(64, 'z')};
  switch (type.id()) {
    case Type::STRING:
    case Type::LARGE_STRING:
    case Type::DICTIONARY: {
      const std::string& t = rng.Pick(texts);
      return Literal{Quote(t), Cell::Bytes(t)};
    }
    case Type::BINARY:
    case Type::FIXED_SIZE_BINARY: {
      using Pair = std::pair<const char*, std::string>;
      const Pair p = rng.Pick(std::vector<Pair>{{"X'00ff'", std::string("\0\xff", 2)},
                                                {"X'6162'", "ab"},
                                                {"X'ffff'", "\xff\xff"},
                                                {"X'0000'", std::string(2, '\0')}});
      return Literal{p.first, Cell::Bytes(p.second)};
    }
    case Type::BOOL: {
      const bool v = rng.Chance(0.5);
      return Literal{v ? "true" : "FALSE", Cell::Bool(v)};
    }
    case Type::DATE32:
    case Type::DATE64: {
      const int64_t days = 19730 + rng.Below(60);
      return Literal{(rng.Chance(0.5) ? "date " : "") + Quote(DateText(days)),
                     Cell::Exact(static_cast<__int128>(days) * kDay)};
    }
    case Type::TIME32:
    case Type::TIME64: {
      const int64_t v =
          rng.Below(20) * 3600 * kSecond + rng.Below(4) * kSecond + rng.Pick(std::vector<int64_t>{0, kSecond / 2, 1});
      return Literal{(rng.Chance(0.5) ? "time " : "") + Quote(ClockText(v)), Cell::Exact(v)};
    }
    case Type::TIMESTAMP: return TimestampLiteral(rng, type);
    case Type::DURATION:
    case Type::LIST:
    case Type::STRUCT: return std::nullopt;
    default: return NumberLiteral(rng, type);
  }
}

// LIKE by backtracking over bytes; `_` takes one code point.
bool Like(const char* p, const char* p_end, const char* s, const char* s_end) {
  while (p < p_end) {
    if (*p == '%') {
      for (const char* t = s; t <= s_end; ++t)
        if (Like(p + 1, p_end, t, s_end)) return true;
      return false;
    }
    if (s == s_end) return false;
    if (*p == '_') {
      ++s;
      while (s < s_end && (static_cast<unsigned char>(*s) & 0xC0) == 0x80) ++s;
      ++p;
      continue;
    }
    if (*p == '\\') ++p;
    if (*p++ != *s++) return false;
  }
  return s == s_end;
}
bool Like(const std::string& pattern, const std::string& s) {
  return Like(pattern.data(), pattern.data() + pattern.size(), s.data(), s.data() + s.size());
}

// Words of the texts of random tables: ASCII letters and digits, and all beyond ASCII but the last code point.
std::vector<std::string> PlainWords(std::string text, bool folded) {
  const std::string last = "\xf4\x8f\xbf\xbf";
  for (size_t at; (at = text.find(last)) != std::string::npos;) text.replace(at, last.size(), " ");
  std::vector<std::string> words(1);
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || std::isalnum(byte))
      words.back() += folded ? static_cast<char>(byte < 0x80 ? std::tolower(byte) : byte) : c;
    else
      words.emplace_back();
  }
  std::erase(words, std::string());
  return words;
}

Predicate WordAtom(Random& rng, const std::string& name, const Get& get) {
  const bool folded = rng.Chance(0.7);
  const std::string wanted = rng.Pick(
      std::vector<std::string>{"a", "AB", "the", "k3 the", "abc", "k1", "検索", "é 検索", "", "?", "line break",
                               std::string(70, 'w') + "1", std::string(70, 'w') + "3", "b c", "nope", "a ABC ab"});
  return {fmt::format("{}({}, {})", folded ? "contains_words" : "contains_tokens", name, Quote(wanted)),
          [=](const Row& row) -> Truth {
            const Cell c = get(row);
            if (c.is_null()) return std::nullopt;
            const auto there = PlainWords(c.bytes, folded);
            for (const std::string& w : PlainWords(wanted, folded))
              if (std::find(there.begin(), there.end(), w) == there.end()) return false;
            return true;
          }};
}

Predicate TextAtom(Random& rng, const std::string& name, const Get& get) {
  if (rng.Chance(0.3)) return WordAtom(rng, name, get);
  if (rng.Chance(0.6)) {
    static const std::vector<std::string> patterns = {
        "a%",   "%b%", "%",  "_",   "a_", "%é%",   "ab",         "%\\%%",   "A%",         "%break",  "x\\_y",
        "%検%", "k1%", "_%", "zz%", "",   "% a %", "%, a ABC;%", "%_ab, %", "% é-検索 %", "%, b, w%"};
    const std::string p = rng.Pick(patterns);
    const bool negated = rng.Chance(0.25);
    return {fmt::format("{} {}LIKE {}", name, negated ? "NOT " : "", Quote(p)), [=](const Row& row) -> Truth {
              const Cell c = get(row);
              return c.is_null() ? std::nullopt : Truth(Like(p, c.bytes) != negated);
            }};
  }
  const std::string f = rng.Pick(std::vector<std::string>{"starts_with", "ends_with", "contains"});
  const std::string v =
      rng.Pick(std::vector<std::string>{"a", "", "b%", "検", "zz", "k1", " the ", ", a ABC; ", " 検索 "});
  return {fmt::format("{}({}, {})", f, name, Quote(v)), [=](const Row& row) -> Truth {
            const Cell c = get(row);
            if (c.is_null()) return std::nullopt;
            if (f == "contains") return c.bytes.find(v) != std::string::npos;
            if (v.size() > c.bytes.size()) return false;
            return c.bytes.compare(f == "starts_with" ? 0 : c.bytes.size() - v.size(), v.size(), v) == 0;
          }};
}

Predicate BoolAtom(Random& rng, const std::string& name, const Get& get) {
  const bool wanted = rng.Chance(0.5), negated = rng.Chance(0.5);
  switch (rng.Below(3)) {
    case 0:
      return {name, [=](const Row& r) -> Truth {
                const Cell c = get(r);
                return c.is_null() ? std::nullopt : Truth(c.truth);
              }};
    case 1:
      return {fmt::format("{} IS {}{}", name, negated ? "NOT " : "", wanted ? "TRUE" : "FALSE"),
              [=](const Row& r) -> Truth {
                const Cell c = get(r);
                return (!c.is_null() && c.truth == wanted) != negated;
              }};
    default:
      return {fmt::format("{} IS {}UNKNOWN", name, negated ? "NOT " : ""),
              [=](const Row& r) -> Truth { return get(r).is_null() != negated; }};
  }
}

Predicate NullAtom(Random& rng, const std::string& name, const Get& get) {
  const bool negated = rng.Chance(0.5);
  return {fmt::format("{} IS {}NULL", name, negated ? "NOT " : ""),
          [=](const Row& r) -> Truth { return get(r).is_null() != negated; }};
}

// Comparison, IN, BETWEEN, IS DISTINCT FROM with literals of the column's type.
Predicate ValueAtom(Random& rng, const arrow::DataType& type, const std::string& name, const Get& get) {
  auto literal = [&] { return *LiteralFor(rng, type); };
  const std::string no = rng.Chance(0.3) ? "NOT " : "";
  const bool negated = !no.empty();
  auto flip = [negated](Truth t) { return negated ? Neg(t) : t; };
  switch (rng.Below(6)) {
    case 0: {
      std::vector<Cell> values;
      std::string list;
      for (int64_t n = rng.Below(5); n > 0; --n) {
        const Literal l = rng.Chance(0.1) ? Literal{"NULL", Cell::Null()} : literal();
        list += (list.empty() ? "" : ", ") + l.sql;
        values.push_back(l.value);
      }
      return {fmt::format("{} {}IN ({})", name, no, list), [=](const Row& r) -> Truth {
                Truth any = false;
                for (const Cell& v : values) any = Disj(any, Compare("=", get(r), v));
                return flip(any);
              }};
    }
    case 1: {
      const Literal lo = literal(), hi = literal();
      return {fmt::format("{} {}BETWEEN {} AND {}", name, no, lo.sql, hi.sql), [=](const Row& r) -> Truth {
                const Cell c = get(r);
                return flip(Conj(Compare(">=", c, lo.value), Compare("<=", c, hi.value)));
              }};
    }
    case 2: {
      const Literal l = literal();
      return {fmt::format("{} IS {}DISTINCT FROM {}", name, no, l.sql), [=](const Row& r) -> Truth {
                const Cell c = get(r);
                return (c.is_null() || *Compare("<>", c, l.value)) != negated;
              }};
    }
    default: {
      const Literal l = literal();
      const std::string op = rng.Pick(Operators());
      if (rng.Chance(0.15))
        return {fmt::format("{} {} {}", l.sql, op, name), [=](const Row& r) { return Compare(op, l.value, get(r)); }};
      return {fmt::format("{} {} {}", name, op, l.sql), [=](const Row& r) { return Compare(op, get(r), l.value); }};
    }
  }
}

Predicate ListAtom(Random& rng, const arrow::DataType& item, const std::string& name, const Get& get) {
  if (rng.Chance(0.3)) {
    const int64_t n = rng.Below(4);
    const std::string op = rng.Pick(Operators());
    return {fmt::format("cardinality({}) {} {}", name, op, n), [=](const Row& r) -> Truth {
              const Cell c = get(r);
              return c.is_null() ? std::nullopt
                                 : Compare(op, Cell::Exact(static_cast<int64_t>(c.items.size())), Cell::Exact(n));
            }};
  }
  const int64_t near = rng.Below(40);
  const bool number = item.id() == Type::INT64 || item.id() == Type::INT32;
  const std::string text = rng.Pick(std::vector<std::string>{"a", "ab", "検索", "", "k3", "q"});
  const Cell wanted = number ? Cell::Exact(near) : Cell::Bytes(text);
  return {fmt::format("array_has({}, {})", name, number ? std::to_string(near) : Quote(text)),
          [=](const Row& r) -> Truth {
            const Cell c = get(r);
            if (c.is_null()) return std::nullopt;
            return std::any_of(c.items.begin(), c.items.end(),
                               [&](const Cell& i) { return !i.is_null() && CompareCells(i, wanted) == 0; });
          }};
}

Predicate Atom(Random& rng, const std::shared_ptr<arrow::DataType>& type, const std::string& name, const Get& get) {
  if (rng.Chance(0.15)) return NullAtom(rng, name, get);
  if (type->id() == Type::STRUCT) {
    const size_t i = static_cast<size_t>(rng.Below(type->num_fields()));
    const auto& child = type->field(static_cast<int>(i));
    return Atom(rng, child->type(), name + "." + child->name(), [=](const Row& r) {
      Cell c = get(r);
      return c.is_null() ? c : c.items[i];
    });
  }
  if (type->id() == Type::LIST) {
    const auto item = type->field(0)->type();
    if (item->id() != Type::STRUCT) return ListAtom(rng, *item, name, get);
    const size_t i = static_cast<size_t>(rng.Below(item->num_fields()));  // the list of that field
    const auto& child = item->field(static_cast<int>(i));
    return ListAtom(rng, *child->type(), name + "." + child->name(), [=](const Row& r) {
      Cell c = get(r);
      for (Cell& e : c.items)
        if (!e.is_null()) e = Cell(e.items[i]);
      return c;
    });
  }
  if (type->id() == Type::DURATION) return NullAtom(rng, name, get);
  if (type->id() == Type::BOOL && rng.Chance(0.7)) return BoolAtom(rng, name, get);
  const bool text = type->id() == Type::STRING || type->id() == Type::LARGE_STRING || type->id() == Type::DICTIONARY;
  if (text && rng.Chance(0.4)) return TextAtom(rng, name, get);
  return ValueAtom(rng, *type, name, get);
}

bool IsNumber(const arrow::DataType& type) {
  return arrow::is_integer(type.id()) || arrow::is_floating(type.id()) || arrow::is_decimal(type.id());
}

Predicate ColumnAtom(Random& rng, const RandomTable& table) {
  const size_t i = static_cast<size_t>(rng.Below(static_cast<int64_t>(table.columns.size())));
  const Column& column = table.columns[i];
  auto get = [](size_t k) { return [k](const Row& r) { return r[k]; }; };
  if (IsNumber(*column.type) && rng.Chance(0.15)) {
    const size_t j = static_cast<size_t>(rng.Below(static_cast<int64_t>(table.columns.size())));
    const Column& other = table.columns[j];
    if (IsNumber(*other.type)) {
      const std::string op = rng.Pick(Operators());
      return {fmt::format("{} {} {}", column.sql, op, other.sql),
              [=](const Row& r) { return Compare(op, r[i], r[j]); }};
    }
  }
  return Atom(rng, column.type, column.sql, get(i));
}

// A value of one column and one of a column near it: what indexes over pairs answer.
std::optional<Predicate> PairAtom(Random& rng, const RandomTable& table) {
  const auto n = static_cast<int64_t>(table.columns.size());
  const auto i = static_cast<size_t>(rng.Below(n)), j = i + 1 + static_cast<size_t>(rng.Below(3));
  if (j >= table.columns.size()) return std::nullopt;
  std::optional<Predicate> out;
  for (const size_t c : rng.Chance(0.5) ? std::vector<size_t>{i, j} : std::vector<size_t>{j, i}) {
    const Column& column = table.columns[c];
    const auto literal = LiteralFor(rng, *column.type);
    if (!literal) return std::nullopt;
    Predicate one{fmt::format("{} = {}", column.sql, literal->sql),
                  [c, v = literal->value](const Row& r) { return Compare("=", r[c], v); }};
    if (out)
      out = {out->sql + " AND " + one.sql, [a = out->holds, b = one.holds](const Row& r) { return Conj(a(r), b(r)); }};
    else
      out = one;
  }
  out->sql = "(" + out->sql + ")";
  return out;
}

}  // namespace

Predicate MakeRandomPredicate(Random& rng, const RandomTable& table, int depth) {
  if (rng.Chance(0.1)) {
    if (auto pair = PairAtom(rng, table)) return *pair;
  }
  if (depth == 0 || rng.Chance(0.3)) return ColumnAtom(rng, table);
  const int64_t kind = rng.Below(10);
  if (kind < 2) {
    Predicate p = MakeRandomPredicate(rng, table, depth - 1);
    return {"NOT (" + p.sql + ")", [p](const Row& r) { return Neg(p.holds(r)); }};
  }
  if (kind == 2) {
    Predicate p = MakeRandomPredicate(rng, table, depth - 1);
    const int64_t what = rng.Below(3);
    const bool negated = rng.Chance(0.5);
    return {fmt::format("({}) IS {}{}", p.sql, negated ? "NOT " : "",
                        what == 0   ? "TRUE"
                        : what == 1 ? "FALSE"
                                    : "UNKNOWN"),
            [=](const Row& r) -> Truth {
              const Truth t = p.holds(r);
              return (what == 2 ? !t : t == (what == 0)) != negated;
            }};
  }
  const bool conj = kind < 7;
  Predicate all = MakeRandomPredicate(rng, table, depth - 1);
  for (int64_t n = 1 + rng.Below(2); n > 0; --n) {
    Predicate p = MakeRandomPredicate(rng, table, depth - 1);
    all = {fmt::format("{} {} {}", all.sql, conj ? "AND" : "OR", p.sql),
           [a = all.holds, b = p.holds, conj](const Row& r) { return conj ? Conj(a(r), b(r)) : Disj(a(r), b(r)); }};
  }
  all.sql = "(" + all.sql + ")";
  return all;
}

}  // namespace pilum::testing
