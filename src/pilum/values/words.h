// Words of texts, by the rule of docs/formats/sidecar.md ("Words"): maximal runs of letters, their marks, and digits. What
// indexes of words and the functions over words both go by. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pilum {

// Is this code point part of a word? Folding its case never changes that.
bool IsWordPoint(uint32_t point);

// Goes over the words of a text, which must outlive it. Bytes that are not UTF-8 are in no word.
class WordScanner {
 public:
  explicit WordScanner(std::string_view text) : text_(text) {}
  bool Next();  // to the first word, or the next; false: there is none
  std::string_view word() const { return text_.substr(begin_, end_ - begin_); }
  // In folded case; valid until Next.
  std::string_view folded();
  size_t begin() const { return begin_; }  // in bytes
  size_t end() const { return end_; }

 private:
  std::string_view text_;
  size_t begin_ = 0, end_ = 0;
  std::string folded_;
};

// Distinct and ascending, in folded case or as they stand.
std::vector<std::string> WordsOf(std::string_view text, bool folded);
// Words, in folded case, that every text holds which contains `piece`, or whose folded case does: those
// that both begin and end inside of it. None where the piece is no UTF-8.
std::vector<std::string> WordsInside(std::string_view piece);

// Texts that have all of some words, each as a whole word; texts without words to look for all do.
class WordMatcher {
 public:
  // The words of `wanted`. `folded`: whatever the case.
  WordMatcher(std::string_view wanted, bool folded) : folded_(folded), wanted_(WordsOf(wanted, folded)) {}
  bool Matches(std::string_view text) const;
  const std::vector<std::string>& wanted() const { return wanted_; }

 private:
  bool folded_;
  std::vector<std::string> wanted_;
};

}  // namespace pilum
