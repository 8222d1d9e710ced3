// Single blobs of a version, by their rows, to be read when and as far as they are wanted. Called by table.cc.
#pragma once

#include <memory>
#include <vector>

#include "pilum/table/blobs.h"
#include "pilum/table/fragment.h"

namespace pilum {

enum class RowSelector {
  kNumbers,    // over all fragments, deleted rows not counted
  kIds,        // _rowid
  kAddresses,  // _rowaddr
};

struct TakenBlob {
  uint64_t address = 0;
  std::shared_ptr<const Blob> blob;  // null: the value is NULL
};

// One a row, in the order given; rows may repeat. `table`: with a schema that describes blobs. Descriptions are read and the
// files opened that hold the bytes; no byte of a value is. kUsage: the column is no blob, or there is no such row.
Result<std::vector<TakenBlob>> TakeBlobs(const TableContext& table, const FieldPath& column, RowSelector selector,
                                         const std::vector<uint64_t>& rows, ReadContext& ctx);

}  // namespace pilum
