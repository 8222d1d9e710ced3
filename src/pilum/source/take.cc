#include <arrow/record_batch.h>

#include "pilum/source/snapshot.h"

namespace pilum {

Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> Unit::Take(const std::vector<FieldPath>& columns,
                                                                    const RowSet& rows, ReadContext& ctx) const {
  std::vector<std::shared_ptr<arrow::RecordBatch>> out;
  PILUM_ASSIGN_OR_RETURN(auto stream, Read(columns, rows, BatchLimits(), ctx));
  while (true) {
    PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
    if (!batch) return out;
    out.push_back(std::move(batch));
  }
}

}  // namespace pilum
