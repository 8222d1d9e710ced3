#include "pilum/file/take_stream.h"

#include <algorithm>

#include <arrow/record_batch.h>

#include "pilum/base/budget_pool.h"

namespace pilum {

Result<std::shared_ptr<arrow::RecordBatch>> TakeStream::Next() {
  while (!left_.empty()) {
    const auto rows = left_.first(std::min(rows_, left_.size()));
    auto batch = TakeNow(rows);
    if (!batch.ok() && KindOf(batch.status()) == ErrorKind::kMemory && rows.size() > 1) {
      rows_ = rows.size() / 2;
      continue;
    }
    PILUM_RETURN_NOT_OK(batch.status());
    left_ = left_.subspan(rows.size());
    return batch;
  }
  return nullptr;
}

Result<std::shared_ptr<arrow::RecordBatch>> TakeStream::TakeNow(std::span<const uint64_t> rows) {
  if (rows.size() == 1) {  // whatever it takes; the next ones may be small
    rows_ = 2;
    return file_.TakeBatch(columns_, rows, ctx_);
  }
  const auto pool = BudgetPool::Make(ctx_.memory_pool(), static_cast<int64_t>(std::min<uint64_t>(budget_, INT64_MAX)));
  ReadContext ctx = ctx_;
  ctx.pool = pool.get();
  auto batch = file_.TakeBatch(columns_, rows, ctx, budget_);
  if (static_cast<uint64_t>(pool->max_memory()) < budget_ / 4)
    rows_ = std::min<size_t>(FileReader::kTakeRows, rows_ * 2);
  return batch;
}

}  // namespace pilum
