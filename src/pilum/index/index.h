// What every index answers, and with what. An index may say "these rows might match" or "I can't help"; never zero when
// it does not know. Candidates are bounded from both sides, so that NOT can be answered too.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pilum/base/row_set.h"
#include "pilum/base/types.h"
#include "pilum/values/value.h"

namespace pilum {

// One question about one column. The binder made it from the predicate; values are in the column's own normal form.
struct Probe {
  enum class Kind {
    kInSet,       // column's value is in `set` (NULL where the column is NULL)
    kIsNull,      // column IS NULL (never NULL itself)
    kContains,    // column, a text, contains all `needles`: never exact
    kHasWords,    // column, a text, has all `needles` as whole words, whatever the case
    kInPair,      // column's value is in `set` and `second`'s in `second_set`; never NULL for certain
    kHasElement,  // column, a list, has an element in `set` (NULL where the list is NULL; NULL elements are in no set)
  };
  Kind kind = Kind::kInSet;
  FieldPath column;
  ValueSet set;
  // false: the predicate implies membership but is not equivalent to it (LIKE 'a%x': text in ['a','b')), so rows inside
  // the set are possible, never certain, and rows outside it are false where not null.
  bool exact = true;
  std::vector<std::string> needles = {};  // words: in folded case, distinct
  bool folded = false;                    // needles are in folded case, and the predicate looks at the text so (ILIKE)
  FieldPath second = {};
  ValueSet second_set = {};
  std::string ToString() const;
};

// Do all bounds of the set lie in this domain? Values of another one cannot be compared: whoever asks so gets no help
// rather than a wrong answer.
bool AllOfDomain(const ValueSet& set, Domain domain);

// Bounds on a predicate's answer, as rows of one unit: certain ⊆ TRUE rows ⊆ possible, and NULL rows ⊆ maybe_null. A
// row in neither possible nor maybe_null is FALSE. "Can't help" = nothing certain, all possible, all maybe null.
struct Candidates {
  RowSet certain;
  RowSet possible;
  RowSet maybe_null;  // superset of the rows where the predicate is NULL
  static Candidates Unknown(uint64_t num_rows);
  static Candidates AllFalse();
  // What two answers to one question say together.
  static Candidates Both(const Candidates& a, const Candidates& b);
  // Three-valued logic on what is known. Each keeps the invariant for all assignments consistent with its inputs.
  static Candidates And(const Candidates& a, const Candidates& b);
  static Candidates Or(const Candidates& a, const Candidates& b);
  static Candidates Not(const Candidates& a, uint64_t num_rows);
};

}  // namespace pilum
