#include "pilum/index/index.h"

namespace pilum {
namespace {

// A certain row is TRUE, so it is not NULL, whatever maybe_null says of it.
RowSet NullRows(const Candidates& c) { return c.maybe_null.Minus(c.certain); }

}  // namespace

Candidates Candidates::Unknown(uint64_t num_rows) { return {{}, RowSet::All(num_rows), RowSet::All(num_rows)}; }

Candidates Candidates::AllFalse() { return {}; }

Candidates Candidates::Both(const Candidates& a, const Candidates& b) {
  RowSet possible = a.possible.Intersect(b.possible);
  RowSet certain = a.certain.Union(b.certain).Intersect(possible);
  return {std::move(certain), std::move(possible), a.maybe_null.Intersect(b.maybe_null)};
}

// NULL needs one side NULL and neither side FALSE.
Candidates Candidates::And(const Candidates& a, const Candidates& b) {
  const RowSet a_null = NullRows(a), b_null = NullRows(b);
  return {a.certain.Intersect(b.certain), a.possible.Intersect(b.possible),
          a_null.Intersect(b.possible.Union(b_null)).Union(b_null.Intersect(a.possible.Union(a_null)))};
}

// NULL needs one side NULL and neither side TRUE.
Candidates Candidates::Or(const Candidates& a, const Candidates& b) {
  return {a.certain.Union(b.certain), a.possible.Union(b.possible),
          NullRows(a).Minus(b.certain).Union(NullRows(b).Minus(a.certain))};
}

// FALSE for certain is what can be neither TRUE nor NULL; FALSE is possible wherever TRUE is not certain.
Candidates Candidates::Not(const Candidates& a, uint64_t num_rows) {
  RowSet nulls = NullRows(a);
  return {a.possible.Union(a.maybe_null).Complement(num_rows), a.certain.Complement(num_rows), std::move(nulls)};
}

}  // namespace pilum
