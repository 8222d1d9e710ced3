// New columns of a table: a data file more for each fragment, and the transaction that makes them part of it. The part that
// adding, joining and casting columns share. Files are written fragment by fragment; memory is bounded by a batch.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pilum/change/change.h"
#include "pilum/change/column_values.h"
#include "pilum/change/new_fields.h"

namespace pilum {

struct ColumnPlan {
  NewFields fields;
  bool preserves_nullability = true;
};
// What is to be written on this version.
using PlanColumns = std::function<Result<ColumnPlan>(const ChangeBase&)>;

// Where others were first: a file stays for a fragment that has the same files as before; values are asked for the others
// alone. kRetry where they cannot be had.
Result<Committed> WriteColumns(WritableTable table, const PlanColumns& plan, ColumnValues& values,
                               const ChangeOptions& options, ReadContext& ctx);

// One fragment of `base` with the file of its new columns, which is not committed: `values` are for it alone.
struct WrittenFragment {
  wire::DataFragment fragment;
  std::string path;  // of the new file
};
Result<WrittenFragment> WriteFragmentColumns(const ChangeBase& base, uint64_t fragment, const FileSchema& file,
                                             ColumnValues& values, ReadContext& ctx);

// `file` beside the fragment's own: what it holds is theirs no more.
void PutFile(const wire::DataFile& file, wire::DataFragment* fragment);

}  // namespace pilum
