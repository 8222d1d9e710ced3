// LIKE patterns: % any run, _ one code point, both over newlines too. Called by bind and evaluate.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/status.h"
#include "pilum/values/value.h"

namespace pilum {

class LikePattern {
 public:
  // `escape`: one code point, or empty for none. An error (without a position) for a pattern that ends in a lone escape.
  // `fold`: ILIKE; Matches folds the text, the pattern is folded here.
  static Result<LikePattern> Compile(std::string_view pattern, std::string_view escape, bool fold);
  bool Matches(std::string_view text) const;
  // Texts the pattern allows, by its beginning: all matches lie in it. `exact`: it is the set of matches. Not for ILIKE.
  ValueSet Implied(bool* exact) const;
  // Pieces that every match contains, in folded case for ILIKE.
  std::vector<std::string> Needles() const;

 private:
  struct Step {
    enum class Kind { kByte, kOne, kRun } kind;
    char byte = 0;
  };
  bool MatchSteps(std::string_view text) const;
  std::vector<Step> steps_;
  std::string literal_;  // shapes of a plain text: x, x%, %x, %x%
  enum class Shape { kEqual, kPrefix, kSuffix, kContains, kGeneral } shape_ = Shape::kGeneral;
  bool fold_ = false;
};

// Texts that start with `prefix`.
ValueSet PrefixSet(const std::string& prefix);

}  // namespace pilum
