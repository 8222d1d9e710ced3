#include "pilum/values/words.h"

#include <algorithm>
#include <array>

#include "pilum/values/text.h"
#include "pilum/values/word_data.h"

namespace pilum {
namespace {

constexpr std::array<bool, 128> kAsciiWord = [] {
  std::array<bool, 128> t{};
  for (size_t c = 0; c < t.size(); ++c)
    t[c] = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return t;
}();

// Bytes of the word's code point at `at`; 0: none is there.
size_t WordPointAt(std::string_view text, size_t at) {
  const auto byte = static_cast<uint8_t>(text[at]);
  if (byte < 0x80) return kAsciiWord[byte];
  const CodePoint c = DecodeCodePoint(text, at);
  return c.size > 0 && IsWordPoint(c.value) ? c.size : 0;
}

bool IsUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (static_cast<uint8_t>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const size_t size = DecodeCodePoint(text, at).size;
    if (size == 0) return false;
    at += size;
  }
  return true;
}

}  // namespace

bool IsWordPoint(uint32_t point) {
  if (point < 0x80) return kAsciiWord[point];
  const auto range = std::lower_bound(kWordRanges.begin(), kWordRanges.end(), point,
                                      [](const WordRange& r, uint32_t p) { return r.last < p; });
  return range != kWordRanges.end() && point >= range->first;
}

bool WordScanner::Next() {
  size_t at = end_, size = 0;
  while (at < text_.size() && (size = WordPointAt(text_, at)) == 0) {
    // What is no word's code point is skipped whole, so that nothing is looked for inside of it.
    at += static_cast<uint8_t>(text_[at]) < 0x80 ? 1 : std::max<size_t>(1, DecodeCodePoint(text_, at).size);
  }
  begin_ = at;
  for (; at < text_.size() && (size = WordPointAt(text_, at)) > 0; at += size) {
  }
  end_ = at;
  return end_ > begin_;
}

std::string_view WordScanner::folded() {
  const std::string_view as_is = word();
  const bool plain =
      std::all_of(as_is.begin(), as_is.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
  if (plain) return as_is;
  folded_ = FoldCase(as_is);
  return folded_;
}

std::vector<std::string> WordsOf(std::string_view text, bool folded) {
  std::vector<std::string> out;
  for (WordScanner words(text); words.Next();) out.emplace_back(folded ? words.folded() : words.word());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<std::string> WordsInside(std::string_view piece) {
  std::vector<std::string> out;
  if (!IsUtf8(piece)) return out;  // its first bytes may be the end of a text's letter
  for (WordScanner words(piece); words.Next();) {
    if (words.begin() > 0 && words.end() < piece.size()) out.emplace_back(words.folded());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool WordMatcher::Matches(std::string_view text) const {
  if (wanted_.empty()) return true;
  size_t missing = wanted_.size();
  std::vector<bool> found(missing > 1 ? missing : 0);
  for (WordScanner words(text); words.Next();) {
    const std::string_view word = folded_ ? words.folded() : words.word();
    const auto at = std::lower_bound(wanted_.begin(), wanted_.end(), word);
    if (at == wanted_.end() || *at != word) continue;
    if (missing == 1 && found.empty()) return true;
    const auto i = static_cast<size_t>(at - wanted_.begin());
    if (found[i]) continue;
    found[i] = true;
    if (--missing == 0) return true;
  }
  return false;
}

}  // namespace pilum
