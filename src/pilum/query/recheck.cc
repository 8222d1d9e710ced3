#include "pilum/query/recheck.h"

#include <arrow/array/array_primitive.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/util/bit_run_reader.h>
#include <arrow/util/bitmap_ops.h>

namespace pilum {

Result<RowSet> Recheck(const BoundPredicate& predicate, const arrow::RecordBatch& batch, EvalOrder* order,
                       ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto truth, order ? predicate.Filter(batch, *order, ctx) : predicate.Evaluate(batch, ctx));
  if (truth->length() != batch.num_rows()) {
    return Status::Invalid("the predicate gave ", truth->length(), " answers for ", batch.num_rows(), " rows");
  }
  const int64_t n = truth->length();
  if (n == 0) return RowSet();
  const uint8_t* bits = truth->values()->data();
  int64_t offset = truth->offset();
  std::shared_ptr<arrow::Buffer> both;
  if (truth->null_count() > 0) {  // NULL is not TRUE
    PILUM_ASSIGN_OR_RETURN(
        both, arrow::internal::BitmapAnd(ctx.memory_pool(), bits, offset, truth->null_bitmap_data(), offset, n, 0));
    bits = both->data();
    offset = 0;
  }
  RowSet out;
  arrow::internal::SetBitRunReader runs(bits, offset, n);
  for (auto run = runs.NextRun(); run.length > 0; run = runs.NextRun()) {
    out.Append(run.position, run.position + run.length);
  }
  return out;
}

RowSet PositionsToRows(const RowSet& positions, const RowSet& rows) {
  RowSet out;
  auto range = rows.ranges().begin();
  uint64_t before = 0;  // rows in the ranges before `range`
  for (RowRange run : positions.ranges()) {
    while (run.begin < run.end && range != rows.ranges().end()) {
      if (run.begin >= before + range->size()) {
        before += range->size();
        ++range;
        continue;
      }
      const uint64_t end = std::min(run.end, before + range->size());
      out.Append(range->begin + (run.begin - before), range->begin + (end - before));
      run.begin = end;
    }
  }
  return out;
}

}  // namespace pilum
