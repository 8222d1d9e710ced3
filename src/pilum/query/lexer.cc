#include "pilum/query/lexer.h"

#include "pilum/base/hash.h"
#include "pilum/base/utf8.h"

namespace pilum {

std::string Upper(std::string_view ascii) {
  std::string out(ascii);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return out;
}

bool Token::IsWord(std::string_view upper) const { return kind == Kind::kName && Upper(text) == upper; }

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool StartsName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<uint8_t>(c) >= 0x80;
}
bool ContinuesName(char c) { return StartsName(c) || IsDigit(c); }

class Lexer {
 public:
  explicit Lexer(std::string_view sql) : sql_(sql) {}

  Result<std::vector<Token>> Run() {
    while (true) {
      while (at_ < sql_.size() && std::string_view(" \t\r\n\f\v").find(sql_[at_]) != std::string_view::npos) ++at_;
      start_ = at_;
      if (at_ == sql_.size()) break;
      PILUM_RETURN_NOT_OK(One());
    }
    Add(Token::Kind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  char Peek(size_t ahead = 0) const { return at_ + ahead < sql_.size() ? sql_[at_ + ahead] : '\0'; }
  void Add(Token::Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), start_ + 1}); }

  Status One() {
    char c = Peek();
    if ((c == 'x' || c == 'X') && Peek(1) == '\'') return Binary();
    if (StartsName(c)) {
      Add(Token::Kind::kName, Word());
      return Status::OK();
    }
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) return Number();
    if (c == '\'') return Quoted(Token::Kind::kText);
    if (c == '"' || c == '`') return Quoted(Token::Kind::kQuotedName);
    if (c == '?' || c == '$' || (c == ':' && StartsName(Peek(1)))) return Param();
    return Operator();
  }

  std::string Word() {
    size_t from = at_;
    while (at_ < sql_.size() && ContinuesName(sql_[at_])) ++at_;
    return std::string(sql_.substr(from, at_ - from));
  }

  Status Number() {
    size_t from = at_;
    while (IsDigit(Peek())) ++at_;
    if (Peek() == '.') {
      ++at_;
      while (IsDigit(Peek())) ++at_;
    }
    if (Peek() == 'e' || Peek() == 'E') {
      size_t sign = Peek(1) == '+' || Peek(1) == '-' ? 1 : 0;
      if (IsDigit(Peek(1 + sign))) {
        at_ += 1 + sign;
        while (IsDigit(Peek())) ++at_;
      }
    }
    std::string text(sql_.substr(from, at_ - from));
    if (ContinuesName(Peek())) {
      return ErrorAt(start_ + 1, "'{}{}' is neither a number nor a name; quote a name as \"{}{}\"", text, Word(), text,
                     "…");
    }
    Add(Token::Kind::kNumber, std::move(text));
    return Status::OK();
  }

  // A run up to the closing quote; the quote itself is written twice.
  Status Quoted(Token::Kind kind) {
    char quote = Peek();
    ++at_;
    std::string text;
    while (true) {
      size_t end = sql_.find(quote, at_);
      if (end == std::string_view::npos) {
        return ErrorAt(start_ + 1, "the {} that starts here has no closing {}",
                       kind == Token::Kind::kText ? "text" : "name", quote);
      }
      text.append(sql_.substr(at_, end - at_));
      at_ = end + 1;
      if (Peek() != quote) break;
      text.push_back(quote);
      ++at_;
    }
    Add(kind, std::move(text));
    return Status::OK();
  }

  Status Binary() {
    ++at_;
    PILUM_RETURN_NOT_OK(Quoted(Token::Kind::kBinary));
    std::string& text = tokens_.back().text;
    if (text.size() % 2 != 0) return ErrorAt(start_ + 1, "a binary literal needs an even number of hex digits");
    std::string bytes;
    for (size_t i = 0; i < text.size(); i += 2) {
      int value = 0;
      for (size_t k = i; k < i + 2; ++k) {
        char c = text[k];
        const int digit = HexDigit(c);
        if (digit < 0) return ErrorAt(start_ + 3 + k, "'{}' is not a hex digit", c);
        value = value * 16 + digit;
      }
      bytes.push_back(static_cast<char>(value));
    }
    text = std::move(bytes);
    return Status::OK();
  }

  Status Param() {
    char c = Peek();
    ++at_;
    if (c == '?') {
      Add(Token::Kind::kParam, fmt::format("?{}", ++question_marks_));
      return Status::OK();
    }
    std::string word;
    if (c == '$') {
      while (IsDigit(Peek())) word.push_back(sql_[at_++]);
      if (word.empty() || word.size() > 6 || ContinuesName(Peek())) {
        return ErrorAt(start_ + 1, "a bound value is written ?, $1 or :name");
      }
    } else {
      word = Word();
    }
    Add(Token::Kind::kParam, std::move(word));
    tokens_.back().named_param = c == ':';
    return Status::OK();
  }

  Status Operator() {
    static constexpr std::string_view kTwo[] = {"==", "<>", "!=", "<=", ">=", "||", "::"};
    for (auto op : kTwo) {
      if (sql_.substr(at_, 2) == op) {
        at_ += 2;
        Add(Token::Kind::kOp, std::string(op));
        return Status::OK();
      }
    }
    char c = Peek();
    if (std::string_view("=<>+-*/%()[],.;^").find(c) == std::string_view::npos || c == '\0') {
      return ErrorAt(start_ + 1, "the character '{}' has no meaning here",
                     c >= 0x20 && c < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<uint8_t>(c)));
    }
    ++at_;
    Add(Token::Kind::kOp, std::string(1, c));
    return Status::OK();
  }

  std::string_view sql_;
  size_t at_ = 0, start_ = 0, question_marks_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> Lex(std::string_view sql) {
  if (!IsUtf8(sql)) return ErrorAt(1, "the query text is not valid UTF-8");
  return Lexer(sql).Run();
}

}  // namespace pilum
