#include "pilum/values/json.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "pilum/base/bytes.h"
#include "pilum/base/utf8.h"
#include "pilum/values/text.h"

namespace pilum {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::optional<uint32_t> HexDigits(std::string_view text) {
  uint32_t value = 0;
  if (text.size() < 4) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + 4, value, 16);
  if (error != std::errc() || end != text.data() + 4) return std::nullopt;
  return value;
}

// Where, from `at` on, the first byte is that a literal does not hold as it is: a quote, a backslash, a control character.
// Eight bytes a step: the lowest bit found is exact, those above it may be borrowed.
size_t PlainUntil(std::string_view text, size_t at) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHigh = 0x80 * kOnes;
  const auto zero = [](uint64_t x) { return (x - kOnes) & ~x; };
  for (; at + 8 <= text.size(); at += 8) {
    const auto x = LoadLE<uint64_t>(text.data() + at);
    const uint64_t found = (((x - 0x20 * kOnes) & ~x) | zero(x ^ '"' * kOnes) | zero(x ^ '\\' * kOnes)) & kHigh;
    if (found != 0) return at + static_cast<size_t>(std::countr_zero(found)) / 8;
  }
  while (at < text.size() && static_cast<uint8_t>(text[at]) >= 0x20 && text[at] != '"' && text[at] != '\\') ++at;
  return at;
}

}  // namespace

class JsonDoc::Parser {
 public:
  Parser(std::string_view text, std::vector<Node>* nodes) : text_(text), nodes_(*nodes) {}

  Status Run() {
    nodes_.clear();
    if (text_.size() >= kNone) return UsageError("JSON of {} bytes is too long", text_.size());
    if (!IsUtf8(text_)) return UsageError("JSON that is not UTF-8");
    PILUM_RETURN_NOT_OK(Value());
    while (!open_.empty()) PILUM_RETURN_NOT_OK(Inside());
    SkipSpace();
    if (at_ != text_.size()) return Wrong("more after the end");
    return Status::OK();
  }

 private:
  struct Open {
    uint32_t node;
    bool first = true;
  };

  Status Wrong(std::string_view what) const { return UsageError("JSON at byte {}: {}", at_, what); }
  void SkipSpace() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
  }
  bool Is(char c) const { return at_ < text_.size() && text_[at_] == c; }

  // The next token of the innermost array or object, with the value that it begins.
  Status Inside() {
    Open& open = open_.back();
    const bool object = nodes_[open.node].kind == JsonKind::kObject;
    SkipSpace();
    if (Is(object ? '}' : ']')) return Close();
    if (!open.first) {
      if (!Is(',')) return Wrong(object ? "',' or '}' is missing" : "',' or ']' is missing");
      ++at_;
      SkipSpace();
    }
    open.first = false;
    if (!object) return Value();
    if (!Is('"')) return Wrong("a key is missing");
    PILUM_RETURN_NOT_OK(String());
    SkipSpace();
    if (!Is(':')) return Wrong("':' is missing");
    ++at_;
    return Value();
  }

  Status Close() {
    Node& node = nodes_[open_.back().node];
    node.end = static_cast<uint32_t>(++at_);
    node.next = static_cast<uint32_t>(nodes_.size());
    open_.pop_back();
    return Status::OK();
  }

  Status Value() {
    SkipSpace();
    if (at_ == text_.size()) return Wrong("a value is missing");
    switch (text_[at_]) {
      case '{': return OpenOne(JsonKind::kObject);
      case '[': return OpenOne(JsonKind::kArray);
      case '"': return String();
      case 't': return Word("true", JsonKind::kTrue);
      case 'f': return Word("false", JsonKind::kFalse);
      case 'n': return Word("null", JsonKind::kNull);
      default: return Number();
    }
  }

  Status OpenOne(JsonKind kind) {
    if (open_.size() >= kMaxDepth) return Wrong(fmt::format("more than {} levels", kMaxDepth));
    open_.push_back({static_cast<uint32_t>(nodes_.size())});
    Add(kind, at_, at_ + 1);
    ++at_;
    return Status::OK();
  }

  void Add(JsonKind kind, size_t begin, size_t end) {
    const auto next = static_cast<uint32_t>(nodes_.size() + 1);
    nodes_.push_back({kind, static_cast<uint32_t>(begin), static_cast<uint32_t>(end), next});
  }

  Status Word(std::string_view word, JsonKind kind) {
    if (!text_.substr(at_).starts_with(word)) return Wrong("no value");
    Add(kind, at_, at_ + word.size());
    at_ += word.size();
    return Status::OK();
  }

  Status String() {
    const size_t begin = at_++;
    for (; (at_ = PlainUntil(text_, at_)) < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        Add(JsonKind::kString, begin, ++at_);
        return Status::OK();
      }
      if (static_cast<uint8_t>(c) < 0x20) return Wrong("a control character in a string");
      if (c != '\\') continue;
      if (++at_ == text_.size()) break;
      if (text_[at_] == 'u') {
        if (!HexDigits(text_.substr(at_ + 1))) return Wrong("an escape without four hexadecimal digits");
        at_ += 4;
      } else if (std::string_view("\"\\/bfnrt").find(text_[at_]) == std::string_view::npos) {
        return Wrong("an unknown escape");
      }
    }
    return Wrong("a string without an end");
  }

  bool Digits() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
    return at_ > begin;
  }

  Status Number() {
    const size_t begin = at_;
    if (Is('-')) ++at_;
    if (Is('0')) {
      ++at_;
    } else if (!Digits()) {
      return Wrong("no value");
    }
    if (Is('.')) {
      ++at_;
      if (!Digits()) return Wrong("a digit is missing");
    }
    if (Is('e') || Is('E')) {
      ++at_;
      if (Is('+') || Is('-')) ++at_;
      if (!Digits()) return Wrong("a digit is missing");
    }
    Add(JsonKind::kNumber, begin, at_);
    return Status::OK();
  }

  const std::string_view text_;
  std::vector<Node>& nodes_;
  std::vector<Open> open_;
  size_t at_ = 0;
};

Status JsonDoc::Parse(std::string_view text) {
  text_ = text;
  return Parser(text, &nodes_).Run();
}

void JsonDoc::AppendCompact(uint32_t i, std::string* out) const {
  if (node(i).kind != JsonKind::kArray && node(i).kind != JsonKind::kObject) {
    *out += TextOf(i);
    return;
  }
  bool in_string = false;
  for (size_t at = nodes_[i].begin; at < nodes_[i].end; ++at) {
    const char c = text_[at];
    if (in_string && c == '\\') {
      out->append(text_, at, 2);
      ++at;
      continue;
    }
    if (c == '"') in_string = !in_string;
    if (in_string || !IsSpace(c)) out->push_back(c);
  }
}

std::string JsonDoc::StringOf(uint32_t i) const {
  const std::string_view s = text_.substr(nodes_[i].begin + 1, nodes_[i].end - nodes_[i].begin - 2);
  std::string out;
  for (size_t at = 0; at < s.size(); ++at) {
    if (s[at] != '\\') {
      out.push_back(s[at]);
      continue;
    }
    const char c = s[++at];
    if (c != 'u') {
      out.push_back(c == 'b' ? '\b' : c == 'f' ? '\f' : c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c);
      continue;
    }
    const uint32_t unit = *HexDigits(s.substr(at + 1));
    const bool low_follows = s.substr(at + 5).starts_with("\\u");
    const uint32_t low = low_follows ? *HexDigits(s.substr(at + 7)) : 0;
    if (unit >= 0xD800 && unit < 0xDC00 && low >= 0xDC00 && low < 0xE000) {
      AppendUtf8(0x10000 + ((unit - 0xD800) << 10 | (low - 0xDC00)), &out);
      at += 10;
      continue;
    }
    // Half a pair is no character: it stays as it is written.
    if (unit >= 0xD800 && unit < 0xE000) {
      out.append(s, at - 1, 6);
    } else {
      AppendUtf8(unit, &out);
    }
    at += 4;
  }
  return out;
}

JsonNumber JsonDoc::NumberOf(uint32_t i) const {
  const std::string_view s = TextOf(i);
  const char* end = s.data() + s.size();
  if (s.find_first_of(".eE") == std::string_view::npos) {
    int64_t whole = 0;
    if (auto [at, error] = std::from_chars(s.data(), end, whole); error == std::errc() && at == end) return whole;
    uint64_t large = 0;
    if (auto [at, error] = std::from_chars(s.data(), end, large); error == std::errc() && at == end) return large;
  }
  return *ParseDouble(s);
}

uint32_t JsonDoc::Member(uint32_t i, std::string_view key) const {
  uint32_t found = kNone;
  if (nodes_[i].kind != JsonKind::kObject) return found;
  for (uint32_t at = i + 1; at < nodes_[i].next; at = nodes_[at + 1].next) {
    const std::string_view written = TextOf(at).substr(1, nodes_[at].end - nodes_[at].begin - 2);
    const bool plain = written.find('\\') == std::string_view::npos;
    if (plain ? written == key : StringOf(at) == key) found = at + 1;
  }
  return found;
}

uint32_t JsonDoc::Element(uint32_t i, uint64_t index) const {
  if (nodes_[i].kind != JsonKind::kArray) return kNone;
  uint32_t at = i + 1;
  for (; at < nodes_[i].next && index > 0; at = nodes_[at].next) --index;
  return at < nodes_[i].next ? at : kNone;
}

uint64_t JsonDoc::CountElements(uint32_t i) const {
  uint64_t count = 0;
  if (nodes_[i].kind != JsonKind::kArray) return count;
  for (uint32_t at = i + 1; at < nodes_[i].next; at = nodes_[at].next) ++count;
  return count;
}

void JsonDoc::AddChildren(uint32_t i, std::vector<uint32_t>* out) const {
  const Node& node = nodes_[i];
  const uint32_t value = node.kind == JsonKind::kObject ? 1 : 0;  // behind its key
  if (node.kind != JsonKind::kObject && node.kind != JsonKind::kArray) return;
  for (uint32_t at = i + 1; at < node.next; at = nodes_[at + value].next) out->push_back(at + value);
}

std::optional<double> ParseDouble(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (at != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc()) return value;
  // Out of range: of a number that is too small, zero, else infinity; the digits tell which (strtod does).
  return std::strtod(std::string(text).c_str(), nullptr);
}

namespace {

constexpr uint64_t kEachByte = 0x0101010101010101, kHighBits = 0x80 * kEachByte;

// Up to 8 bytes as one word, spaces behind them.
uint64_t WordOf(const char* p, size_t n) {
  uint64_t x;
  if (n >= 8) return LoadLE<uint64_t>(p);
  if (n >= 4) {
    x = LoadLE<uint32_t>(p) | static_cast<uint64_t>(LoadLE<uint32_t>(p + n - 4)) << (8 * (n - 4));
  } else {
    x = static_cast<uint8_t>(p[0]) | static_cast<uint64_t>(static_cast<uint8_t>(p[n / 2])) << (8 * (n / 2)) |
        static_cast<uint64_t>(static_cast<uint8_t>(p[n - 1])) << (8 * (n - 1));
  }
  return x | (' ' * kEachByte) << (8 * n);
}

char* WriteEscaped(char c, char* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
  *out++ = '\\';
  if (const size_t at = kShort.find(c); at != std::string_view::npos) {
    *out++ = kLetters[at];
    return out;
  }
  out = std::copy_n("u00", 3, out);
  *out++ = kHex[c >> 4];
  *out++ = kHex[c & 15];
  return out;
}

}  // namespace

char* WriteJsonText(std::string_view text, char* out, bool* ascii) {
  const auto zero = [](uint64_t x) { return (x - kEachByte) & ~x; };
  uint64_t bits = 0;
  for (const char *p = text.data(), *end = p + text.size(); p != end;) {
    const size_t n = std::min<size_t>(8, static_cast<size_t>(end - p));
    const uint64_t x = WordOf(p, n);
    StoreLE(out, x);
    bits |= x;
    const uint64_t found =
        (((x - 0x20 * kEachByte) & ~x) | zero(x ^ '"' * kEachByte) | zero(x ^ '\\' * kEachByte)) & kHighBits;
    const size_t plain = found == 0 ? n : static_cast<size_t>(std::countr_zero(found)) / 8;
    out += plain;
    p += plain;
    if (found != 0) out = WriteEscaped(*p++, out);
  }
  *ascii &= (bits & kHighBits) == 0;
  return out;
}

void AppendJsonLiteral(std::string_view text, std::string* out) {
  const size_t before = out->size();
  bool ascii = true;
  out->resize(before + MostJsonText(text.size()) + 2);
  char* at = out->data() + before;
  *at++ = '"';
  at = WriteJsonText(text, at, &ascii);
  *at++ = '"';
  out->resize(static_cast<size_t>(at - out->data()));
}

char* WriteJsonDouble(double value, char* out) {
  if (!std::isfinite(value)) return std::copy_n("null", 4, out);
  char buffer[32];
  const auto printed = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const char* e = printed.ptr;
  while (*--e != 'e') {
  }
  int exponent = 0;
  std::from_chars(e + (e[1] == '+' ? 2 : 1), printed.ptr, exponent);
  const char* first = buffer;
  if (*first == '-') *out++ = *first++;
  char digits[20];
  digits[0] = *first;
  const int count = first + 1 == e ? 1 : static_cast<int>(e - first) - 1;  // without the point behind the first
  std::copy(first + (count > 1 ? 2 : 1), e, digits + 1);
  const int point = exponent + 1;  // digits before it
  if (point > 16 || point <= -5) {
    *out++ = digits[0];
    if (count > 1) *out++ = '.';
    out = std::copy_n(digits + 1, count - 1, out);
    *out++ = 'e';
    *out++ = exponent < 0 ? '-' : '+';
    return std::to_chars(out, out + 4, std::abs(exponent)).ptr;
  }
  const int whole = std::clamp(point, 0, count);
  if (whole == 0) *out++ = '0';
  out = std::copy_n(digits, whole, out);
  out = std::fill_n(out, std::max(point - count, 0), '0');
  *out++ = '.';
  if (whole == count) *out++ = '0';
  out = std::fill_n(out, std::max(-point, 0), '0');
  return std::copy_n(digits + whole, count - whole, out);
}

void AppendJsonDouble(double value, std::string* out) {
  char text[kMostJsonNumber];
  out->append(text, static_cast<size_t>(WriteJsonDouble(value, text) - text));
}

}  // namespace pilum
