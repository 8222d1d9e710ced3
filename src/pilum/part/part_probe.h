// A question in the dataset's terms, put in one part's terms.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/index/index.h"

namespace pilum {

struct PartProbe {
  enum class Kind { kAsk, kAllNull, kUnknown };
  Kind kind = Kind::kUnknown;
  const Probe& probe() const { return own ? *own : *asked; }  // kAsk: for the part's sidecars

  const Probe* asked = nullptr;  // by the query; outlives this
  std::optional<Probe> own;  // where the part's type is another: lists may be long, so they are not copied without need
};

// kAllNull: the part lacks the column (or it is of type null), so it is NULL in every row.
PartProbe TranslateProbe(const Probe& probe, const arrow::Schema& snapshot, const arrow::Schema& part);
// The answer of a part in which the column is NULL throughout.
Candidates AllNullAnswer(Probe::Kind kind, uint64_t num_rows);

// The part's columns that a read of the dataset's `columns` needs, one path list for all. A field that the part lacks
// inside a struct needs the struct's NULLs, so some sibling of it. Empty: the part has none of the columns.
std::vector<FieldPath> TranslateColumns(const std::vector<FieldPath>& columns, const arrow::Schema& part);

}  // namespace pilum
