// A question in the dataset's terms, put in one part's terms.
#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/index/index.h"

namespace pilum {

struct PartProbe {
  enum class Kind { kAsk, kAllNull, kUnknown };
  Kind kind = Kind::kUnknown;
  Probe probe;  // kAsk: for the part's sidecars
};

// kAllNull: the part lacks the column (or it is of type null), so it is NULL in every row.
PartProbe TranslateProbe(const Probe& probe, const arrow::Schema& snapshot, const arrow::Schema& part);
// The answer of a part in which the column is NULL throughout.
Candidates AllNullAnswer(Probe::Kind kind, uint64_t num_rows);

// The part's columns that a read of the dataset's `columns` needs, one path list for all. A field that the part lacks
// inside a struct needs the struct's NULLs, so some sibling of it. Empty: the part has none of the columns.
std::vector<FieldPath> TranslateColumns(const std::vector<FieldPath>& columns, const arrow::Schema& part);

}  // namespace pilum
