#include "pilum/values/json_path.h"

#include <algorithm>
#include <charconv>
#include <compare>
#include <optional>

#include "pilum/values/value.h"

namespace pilum {
namespace {

enum class Op { kEqual, kUnequal, kLess, kLessEqual, kGreater, kGreaterEqual, kStartsWith };

// A scalar to compare with: null, a truth, a number or a text.
struct Scalar {
  JsonKind kind = JsonKind::kNull;
  JsonNumber number = int64_t{0};
  std::string text;
};

std::partial_ordering CompareNumbers(const JsonNumber& a, const JsonNumber& b) {
  const auto whole = [](const JsonNumber& n) -> std::optional<Int128> {
    if (const auto* i = std::get_if<int64_t>(&n)) return *i;
    if (const auto* u = std::get_if<uint64_t>(&n)) return static_cast<Int128>(*u);
    return std::nullopt;
  };
  const auto wide = [](const JsonNumber& n) { return std::visit([](auto v) { return static_cast<double>(v); }, n); };
  const auto x = whole(a), y = whole(b);
  if (x && y)
    return *x < *y   ? std::partial_ordering::less
           : *x > *y ? std::partial_ordering::greater
                     : std::partial_ordering::equivalent;
  return wide(a) <=> wide(b);
}

std::partial_ordering CompareScalars(const Scalar& a, const Scalar& b) {
  const auto truth = [](const Scalar& s) { return s.kind == JsonKind::kTrue || s.kind == JsonKind::kFalse; };
  if (truth(a) && truth(b)) return static_cast<int>(a.kind) <=> static_cast<int>(b.kind);
  if (a.kind != b.kind) return std::partial_ordering::unordered;
  if (a.kind == JsonKind::kNumber) return CompareNumbers(a.number, b.number);
  if (a.kind == JsonKind::kString) return a.text.compare(b.text) <=> 0;
  return std::partial_ordering::equivalent;
}

// nullopt: they do not compare.
std::optional<bool> Holds(Op op, const Scalar& a, const Scalar& b) {
  if (op == Op::kStartsWith) {
    if (a.kind != JsonKind::kString || b.kind != JsonKind::kString) return std::nullopt;
    return a.text.starts_with(b.text);
  }
  const auto order = CompareScalars(a, b);
  if (order == std::partial_ordering::unordered) return op == Op::kUnequal ? std::optional(true) : std::nullopt;
  switch (op) {
    case Op::kEqual: return order == 0;
    case Op::kUnequal: return order != 0;
    case Op::kLess: return order < 0;
    case Op::kLessEqual: return order <= 0;
    case Op::kGreater: return order > 0;
    default: return order >= 0;
  }
}

bool EndsName(char c) { return std::string_view(" ,.:{}[]()?@$|<>!=+-*/%\"'").find(c) != std::string_view::npos; }

}  // namespace

struct JsonPath::Condition {
  enum class Kind { kAnd, kOr, kCompare, kExists } kind = Kind::kExists;
  struct Side {
    bool from_root = false;
    std::optional<Scalar> literal;  // else the path
    JsonPath path;
  };
  std::shared_ptr<const Condition> a, b;  // of AND and OR
  Op op = Op::kEqual;
  Side left, right;  // kExists: left alone
};

class JsonPathParser {
 public:
  explicit JsonPathParser(std::string_view text) : text_(text) {}

  Result<JsonPath> Run() {
    JsonPath out;
    Space();
    if (!Take("$") && !End() && !EndsName(text_[at_])) {  // the first name may stand alone
      PILUM_ASSIGN_OR_RETURN(auto name, Name());
      out.steps_.push_back({JsonPath::StepKind::kMember, std::move(name)});
    }
    PILUM_RETURN_NOT_OK(Steps(&out, true));
    if (!End()) return Wrong("a path goes on with '.name', '[…]' or '?(…)'");
    return out;
  }

 private:
  using Condition = JsonPath::Condition;
  using ConditionPtr = std::shared_ptr<const Condition>;
  static constexpr int kMaxDepth = 50;  // parentheses and filters inside each other

  Status Wrong(std::string_view what) const { return UsageError("JSON path, byte {}: {}", at_, what); }
  bool End() const { return at_ == text_.size(); }
  void Space() {
    while (!End() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }
  bool Take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  bool TakeWord(std::string_view word) {  // of ASCII letters, whatever the case
    const std::string_view next = text_.substr(at_, word.size());
    const bool same = next.size() == word.size() && std::equal(next.begin(), next.end(), word.begin(),
                                                               [](char a, char b) { return (a | 0x20) == b; });
    if (same) at_ += word.size();
    return same;
  }

  Result<std::string> Name() {
    const size_t begin = at_;
    while (!End() && !EndsName(text_[at_])) {
      if (text_[at_] == '\\') return Wrong("a name with escapes stands in quotes");
      ++at_;
    }
    if (at_ == begin) return Wrong("a name is missing");
    return std::string(text_.substr(begin, at_ - begin));
  }

  // A string in double quotes, as JSON has it.
  Result<std::string> Quoted() {
    const size_t begin = at_++;
    while (!End() && text_[at_] != '"') at_ += text_[at_] == '\\' && at_ + 1 < text_.size() ? 2 : 1;
    if (!Take("\"")) return Wrong("a string without an end");
    JsonDoc doc;
    if (!doc.Parse(text_.substr(begin, at_ - begin)).ok()) return Wrong("a string that JSON does not have");
    return doc.StringOf(0);
  }
  Result<std::string> AnyName() { return !End() && text_[at_] == '"' ? Quoted() : Name(); }

  Result<int64_t> Whole() {
    int32_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) return Wrong("a whole number is missing");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  // `filters`: they may stand among the steps.
  Status Steps(JsonPath* out, bool filters) {
    using Kind = JsonPath::StepKind;
    while (true) {
      Space();
      if (Take(".**")) {
        PILUM_RETURN_NOT_OK(Descend(out));
      } else if (Take(".*")) {
        out->steps_.push_back({Kind::kAnyMember});
      } else if (Take(".") || Take(":")) {
        PILUM_ASSIGN_OR_RETURN(auto name, AnyName());
        out->steps_.push_back({Kind::kMember, std::move(name)});
      } else if (Take("[")) {
        PILUM_RETURN_NOT_OK(Brackets(out));
      } else if (filters && Take("?")) {
        Space();
        if (!Take("(")) return Wrong("a filter is '?(…)'");
        JsonPath::Step step{Kind::kFilter};
        PILUM_ASSIGN_OR_RETURN(step.condition, Or());
        Space();
        if (!Take(")")) return Wrong("')' is missing");
        out->steps_.push_back(std::move(step));
      } else {
        return Status::OK();
      }
    }
  }

  // Behind ".**": nothing, "{n}", "{n to m}" or "{n to last}".
  Status Descend(JsonPath* out) {
    JsonPath::Step step{JsonPath::StepKind::kDescend};
    if (Take("{")) {
      Space();
      PILUM_ASSIGN_OR_RETURN(const int64_t least, Whole());
      int64_t most = least;
      Space();
      if (TakeWord("to")) {
        Space();
        most = UINT32_MAX;
        if (!TakeWord("last")) {
          PILUM_ASSIGN_OR_RETURN(most, Whole());
        }
        Space();
      }
      if (least < 0 || most < 0 || !Take("}")) return Wrong("levels are '{1}', '{1 to 3}' or '{1 to last}'");
      step.least = static_cast<uint32_t>(least);
      step.most = static_cast<uint32_t>(most);
    }
    out->steps_.push_back(std::move(step));
    return Status::OK();
  }

  Status Brackets(JsonPath* out) {
    using Kind = JsonPath::StepKind;
    Space();
    JsonPath::Step step{Kind::kElements};
    if (Take("*")) {
      step.kind = Kind::kAnyElement;
    } else if (!End() && text_[at_] == '"') {
      step.kind = Kind::kMember;
      PILUM_ASSIGN_OR_RETURN(step.name, Quoted());
    } else {
      do {
        Space();
        JsonPath::Range range;
        PILUM_ASSIGN_OR_RETURN(range.first, OnePlace());
        range.last = range.first;
        Space();
        if (TakeWord("to")) {
          Space();
          PILUM_ASSIGN_OR_RETURN(range.last, OnePlace());
        }
        Space();
        step.ranges.push_back(range);
      } while (Take(","));
    }
    Space();
    if (!Take("]")) return Wrong("']' is missing; in brackets stand numbers, '*' or a name in double quotes");
    out->steps_.push_back(std::move(step));
    return Status::OK();
  }

  Result<JsonPath::Place> OnePlace() {
    JsonPath::Place place;
    if (!TakeWord("last")) {
      PILUM_ASSIGN_OR_RETURN(place.number, Whole());
      return place;
    }
    place.from_last = true;
    Space();
    const bool minus = Take("-");
    if (!minus && !Take("+")) return place;
    Space();
    PILUM_ASSIGN_OR_RETURN(const int64_t by, Whole());
    place.number = minus ? -by : by;
    return place;
  }

  Result<ConditionPtr> Or() {
    if (++depth_ > kMaxDepth) return Wrong("too many conditions inside each other");
    PILUM_ASSIGN_OR_RETURN(ConditionPtr out, And());
    while (Space(), Take("||")) {
      PILUM_ASSIGN_OR_RETURN(auto right, And());
      out = Both(Condition::Kind::kOr, std::move(out), std::move(right));
    }
    --depth_;
    return out;
  }

  Result<ConditionPtr> And() {
    PILUM_ASSIGN_OR_RETURN(ConditionPtr out, Atom());
    while (Space(), Take("&&")) {
      PILUM_ASSIGN_OR_RETURN(auto right, Atom());
      out = Both(Condition::Kind::kAnd, std::move(out), std::move(right));
    }
    return out;
  }

  static ConditionPtr Both(Condition::Kind kind, ConditionPtr a, ConditionPtr b) {
    auto out = std::make_shared<Condition>();
    out->kind = kind;
    out->a = std::move(a);
    out->b = std::move(b);
    return out;
  }

  Result<ConditionPtr> Atom() {
    Space();
    if (Take("(")) {
      PILUM_ASSIGN_OR_RETURN(auto inner, Or());
      Space();
      if (!Take(")")) return Wrong("')' is missing");
      return inner;
    }
    auto out = std::make_shared<Condition>();
    if (Take("exists")) {
      Space();
      if (!Take("(")) return Wrong("exists is 'exists(@.name)'");
      Space();
      PILUM_ASSIGN_OR_RETURN(out->left, PathSide(true));
      Space();
      if (!Take(")")) return Wrong("')' is missing");
      return ConditionPtr(std::move(out));
    }
    out->kind = Condition::Kind::kCompare;
    PILUM_ASSIGN_OR_RETURN(out->left, Side());
    Space();
    PILUM_ASSIGN_OR_RETURN(out->op, Operator());
    Space();
    PILUM_ASSIGN_OR_RETURN(out->right, Side());
    return ConditionPtr(std::move(out));
  }

  Result<Op> Operator() {
    static constexpr std::pair<std::string_view, Op> kOps[] = {
        {"==", Op::kEqual}, {"!=", Op::kUnequal},      {"<>", Op::kUnequal}, {"<=", Op::kLessEqual},
        {"<", Op::kLess},   {">=", Op::kGreaterEqual}, {">", Op::kGreater},  {"starts with", Op::kStartsWith}};
    for (const auto& [text, op] : kOps) {
      if (Take(text)) return op;
    }
    return Wrong("a comparison is missing: ==, !=, <, <=, >, >= or 'starts with'");
  }

  Result<Condition::Side> PathSide(bool filters) {
    Condition::Side side;
    side.from_root = Take("$");
    if (!side.from_root && !Take("@")) return Wrong("a path begins with '@' or '$' here");
    PILUM_RETURN_NOT_OK(Steps(&side.path, filters));
    return side;
  }

  Result<Condition::Side> Side() {
    if (!End() && (text_[at_] == '$' || text_[at_] == '@')) return PathSide(false);
    Condition::Side side;
    Scalar& s = side.literal.emplace();
    if (!End() && text_[at_] == '"') {
      s.kind = JsonKind::kString;
      PILUM_ASSIGN_OR_RETURN(s.text, Quoted());
    } else if (Take("null")) {
      s.kind = JsonKind::kNull;
    } else if (Take("true")) {
      s.kind = JsonKind::kTrue;
    } else if (Take("false")) {
      s.kind = JsonKind::kFalse;
    } else {
      const size_t end = std::min(text_.find_first_not_of("+-.0123456789eE", at_), text_.size());
      JsonDoc doc;
      const bool parsed = doc.Parse(text_.substr(at_, end - at_)).ok();
      if (!parsed || doc.node(0).kind != JsonKind::kNumber) return Wrong("a value or a path is missing");
      s.kind = JsonKind::kNumber;
      s.number = doc.NumberOf(0);
      at_ = end;
    }
    return side;
  }

  const std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

class JsonPathRun {
 public:
  using Nodes = std::vector<uint32_t>;
  explicit JsonPathRun(const JsonTree& doc) : doc_(doc) {}

  // Cut short where there are too many.
  Nodes Walk(const JsonPath& path, uint32_t from) {
    Nodes at = {from};
    for (const JsonPath::Step& step : path.steps_) {
      Nodes next;
      for (const uint32_t i : at) {
        too_many_ |= next.size() > JsonPath::kMostPlaces;
        if (too_many_) return {};
        Take(step, i, &next);
      }
      at = std::move(next);
    }
    return at;
  }
  bool too_many() const { return too_many_; }

 private:
  using Condition = JsonPath::Condition;

  void Take(const JsonPath::Step& step, uint32_t i, Nodes* out) {
    using Kind = JsonPath::StepKind;
    const JsonKind kind = doc_.kind(i);
    switch (step.kind) {
      case Kind::kMember:
        if (const uint32_t m = doc_.Member(i, step.name); m != JsonTree::kNone) out->push_back(m);
        return;
      case Kind::kAnyMember:
        if (kind == JsonKind::kObject) doc_.AddChildren(i, out);
        return;
      case Kind::kAnyElement:
        if (kind == JsonKind::kArray) {
          doc_.AddChildren(i, out);
        } else {
          out->push_back(i);
        }
        return;
      case Kind::kElements: return Elements(step, i, out);
      case Kind::kDescend: return Descend(step, i, 0, out);
      case Kind::kFilter:
        if (True(*step.condition, i).value_or(false)) out->push_back(i);
    }
  }

  void Elements(const JsonPath::Step& step, uint32_t i, Nodes* out) const {
    Nodes all;
    if (doc_.kind(i) == JsonKind::kArray) doc_.AddChildren(i, &all);
    const auto count = static_cast<int64_t>(all.size());
    const auto place = [count](const JsonPath::Place& p) { return p.from_last ? count - 1 + p.number : p.number; };
    for (const JsonPath::Range& range : step.ranges) {
      const int64_t last = std::min(place(range.last), count - 1);
      for (int64_t k = std::max<int64_t>(place(range.first), 0); k <= last; ++k) {
        out->push_back(all[static_cast<size_t>(k)]);
      }
    }
  }

  void Descend(const JsonPath::Step& step, uint32_t i, uint32_t level, Nodes* out) const {
    if (level >= step.least && level <= step.most) out->push_back(i);
    if (level >= step.most) return;
    Nodes below;
    doc_.AddChildren(i, &below);
    for (const uint32_t child : below) Descend(step, child, level + 1, out);
  }

  std::optional<bool> True(const Condition& c, uint32_t i) {
    using Kind = Condition::Kind;
    if (c.kind == Kind::kAnd || c.kind == Kind::kOr) {
      const auto a = True(*c.a, i), b = True(*c.b, i);
      if (!a || !b) return std::nullopt;
      return c.kind == Kind::kAnd ? *a && *b : *a || *b;
    }
    if (c.kind == Kind::kExists) return !Walk(c.left.path, c.left.from_root ? 0 : i).empty();
    for (const auto& a : Scalars(c.left, i)) {
      for (const auto& b : Scalars(c.right, i)) {
        const auto holds = a && b ? Holds(c.op, *a, *b) : std::nullopt;
        if (!holds || *holds) return holds;
      }
    }
    return false;
  }

  // nullopt: an array or an object, which does not compare. Arrays count as their elements.
  std::vector<std::optional<Scalar>> Scalars(const Condition::Side& side, uint32_t i) {
    if (side.literal) return {side.literal};
    std::vector<std::optional<Scalar>> out;
    for (const uint32_t at : Walk(side.path, side.from_root ? 0 : i)) {
      Nodes values = {at};
      if (doc_.kind(at) == JsonKind::kArray) values.clear(), doc_.AddChildren(at, &values);
      for (const uint32_t v : values) out.push_back(ScalarOf(v));
    }
    return out;
  }

  std::optional<Scalar> ScalarOf(uint32_t i) const {
    Scalar s;
    s.kind = doc_.kind(i);
    if (s.kind == JsonKind::kArray || s.kind == JsonKind::kObject) return std::nullopt;
    if (s.kind == JsonKind::kNumber) s.number = doc_.NumberOf(i);
    if (s.kind == JsonKind::kString) s.text = doc_.StringOf(i);
    return s;
  }

  const JsonTree& doc_;
  bool too_many_ = false;
};

Result<JsonPath> JsonPath::Parse(std::string_view text) { return JsonPathParser(text).Run(); }

Result<std::vector<uint32_t>> JsonPath::Select(const JsonTree& doc) const {
  JsonPathRun run(doc);
  auto out = run.Walk(*this, 0);
  if (run.too_many() || out.size() > kMostPlaces) {
    return UsageError("a JSON path leads to more than {} places in one document", kMostPlaces);
  }
  return out;
}

}  // namespace pilum
