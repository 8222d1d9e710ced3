#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pilum/index/index.h"

namespace pilum {

std::string Probe::ToString() const {
  if (kind == Kind::kIsNull) return fmt::format("{} is null", column.ToString());
  if (kind == Kind::kContains)
    return fmt::format("{} contains '{}'{}", column.ToString(), fmt::join(needles, "' and '"),
                       folded ? " in any case" : "");
  if (kind == Kind::kInPair)
    return fmt::format("{} in {} and {} in {}", column.ToString(), set.ToString(), second.ToString(),
                       second_set.ToString());
  if (kind == Kind::kHasWords)
    return fmt::format("{} has the words '{}'{}", column.ToString(), fmt::join(needles, "' and '"),
                       exact ? "" : " (inexact)");
  return fmt::format("{} {} {}{}", column.ToString(), kind == Kind::kHasElement ? "has an element in" : "in",
                     set.ToString(), exact ? "" : " (inexact)");
}

bool AllOfDomain(const ValueSet& set, Domain domain) {
  for (const Interval& i : set.intervals()) {
    if (i.lower && i.lower->value.domain() != domain) return false;
    if (i.upper && i.upper->value.domain() != domain) return false;
  }
  return true;
}

}  // namespace pilum
