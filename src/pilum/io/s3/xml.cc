#include "pilum/io/s3/xml.h"

#include <charconv>

namespace pilum::s3 {
namespace {

constexpr int kMaxDepth = 16;
constexpr size_t kMaxElements = 100'000;  // a page of a listing has some 6,000

void AppendUtf8(uint32_t c, std::string* out) {
  const auto add = [&](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    add(c);
  } else if (c < 0x800) {
    add(0xC0 | c >> 6), add(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    add(0xE0 | c >> 12), add(0x80 | (c >> 6 & 0x3F)), add(0x80 | (c & 0x3F));
  } else {
    add(0xF0 | c >> 18), add(0x80 | (c >> 12 & 0x3F)), add(0x80 | (c >> 6 & 0x3F)), add(0x80 | (c & 0x3F));
  }
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  Result<XmlElement> Document() {
    SkipSpace();
    while (Rest().starts_with("<?") || Rest().starts_with("<!--")) {
      PILUM_RETURN_NOT_OK(SkipPast(Rest().starts_with("<?") ? "?>" : "-->"));
      SkipSpace();
    }
    XmlElement root;
    PILUM_RETURN_NOT_OK(Element(&root, 0));
    SkipSpace();
    if (at_ != text_.size()) return Bad("text after the root element");
    return root;
  }

 private:
  std::string_view Rest() const { return text_.substr(at_); }
  Status Bad(std::string_view what) const {
    return Corrupt(source_, fmt::format("answer offset {}", at_), fmt::format("not the XML of an S3 server: {}", what));
  }
  void SkipSpace() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
  }
  static bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  Status SkipPast(std::string_view end) {
    const size_t found = text_.find(end, at_);
    if (found == text_.npos) return Bad("it breaks off");
    at_ = found + end.size();
    return Status::OK();
  }

  Result<std::string> Name() {
    const size_t from = at_;
    while (at_ < text_.size() && !IsSpace(text_[at_]) &&
           std::string_view("<>/=&\"'").find(text_[at_]) == std::string_view::npos)
      ++at_;
    if (at_ == from) return Bad("a name is missing");
    return std::string(text_.substr(from, at_ - from));
  }

  // Past the attributes of a start tag, to its '>' or "/>". True: the element is empty.
  Result<bool> SkipAttributes() {
    for (;;) {
      SkipSpace();
      if (Rest().starts_with("/>")) return at_ += 2, true;
      if (Rest().starts_with(">")) return at_ += 1, false;
      PILUM_RETURN_NOT_OK(Name());
      SkipSpace();
      if (!Rest().starts_with("=")) return Bad("an attribute without a value");
      ++at_;
      SkipSpace();
      if (at_ >= text_.size() || (text_[at_] != '"' && text_[at_] != '\'')) return Bad("an attribute without a value");
      const std::string quote(1, text_[at_++]);
      PILUM_RETURN_NOT_OK(SkipPast(quote));
    }
  }

  Status Reference(std::string* out) {
    const size_t end = text_.find(';', at_);
    if (end == text_.npos || end - at_ > 10) return Bad("a reference without end");
    const std::string_view name = text_.substr(at_ + 1, end - at_ - 1);
    static constexpr std::pair<std::string_view, char> kNamed[] = {
        {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    for (const auto& [known, c] : kNamed) {
      if (name == known) {
        out->push_back(c);
        at_ = end + 1;
        return Status::OK();
      }
    }
    const bool hex = name.starts_with("#x");
    if (!name.starts_with("#")) return Bad("an unknown reference");
    const std::string_view digits = name.substr(hex ? 2 : 1);
    uint32_t code = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 10);
    if (error != std::errc() || stop != digits.data() + digits.size() || code == 0 || code > 0x10FFFF ||
        (code >= 0xD800 && code < 0xE000)) {
      return Bad("a reference to no character");
    }
    AppendUtf8(code, out);
    at_ = end + 1;
    return Status::OK();
  }

  Status Element(XmlElement* out, int depth) {
    if (depth > kMaxDepth) return Bad("elements too deep");
    if (++elements_ > kMaxElements) return Bad("too many elements");
    if (!Rest().starts_with("<")) return Bad("an element is missing");
    ++at_;
    PILUM_ASSIGN_OR_RETURN(out->name, Name());
    PILUM_ASSIGN_OR_RETURN(bool empty, SkipAttributes());
    if (empty) return Status::OK();
    for (;;) {
      const size_t mark = text_.find_first_of("<&", at_);
      if (mark == text_.npos) return Bad("it breaks off");
      out->text.append(text_.substr(at_, mark - at_));
      at_ = mark;
      if (text_[at_] == '&') {
        PILUM_RETURN_NOT_OK(Reference(&out->text));
      } else if (Rest().starts_with("</")) {
        at_ += 2;
        PILUM_ASSIGN_OR_RETURN(std::string name, Name());
        SkipSpace();
        if (name != out->name || !Rest().starts_with(">")) return Bad("an end tag that does not match");
        ++at_;
        return Status::OK();
      } else if (Rest().starts_with("<!--")) {
        PILUM_RETURN_NOT_OK(SkipPast("-->"));
      } else {
        PILUM_RETURN_NOT_OK(Element(&out->children.emplace_back(), depth + 1));
      }
    }
  }

  std::string_view text_, source_;
  size_t at_ = 0, elements_ = 0;
};

}  // namespace

const XmlElement* XmlElement::Find(std::string_view child) const {
  for (const XmlElement& c : children) {
    if (c.name == child) return &c;
  }
  return nullptr;
}

std::string XmlElement::TextOf(std::string_view child) const {
  const XmlElement* found = Find(child);
  return found ? found->text : std::string();
}

Result<XmlElement> ParseXml(std::string_view text, std::string_view source) { return Parser(text, source).Document(); }

}  // namespace pilum::s3
