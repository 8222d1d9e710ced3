#include "pilum/base/budget_pool.h"

#include <algorithm>

#include <arrow/status.h>

namespace pilum {

arrow::Status BudgetPool::Charge(int64_t bytes) {
  const int64_t held = held_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (bytes > 0 && held > budget_) {
    held_.fetch_sub(bytes, std::memory_order_relaxed);
    return arrow::Status::OutOfMemory("over the budget of ", budget_, " bytes by ", held - budget_);
  }
  int64_t most = most_.load(std::memory_order_relaxed);
  while (held > most && !most_.compare_exchange_weak(most, held, std::memory_order_relaxed)) {
  }
  return arrow::Status::OK();
}

arrow::Status BudgetPool::Allocate(int64_t size, int64_t alignment, uint8_t** out) {
  ARROW_RETURN_NOT_OK(Charge(size));
  arrow::Status st = inner_->Allocate(size, alignment, out);
  if (!st.ok()) {
    held_.fetch_sub(size, std::memory_order_relaxed);
    return st;
  }
  refs_.fetch_add(1, std::memory_order_relaxed);
  total_.fetch_add(size, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
  return st;
}

arrow::Status BudgetPool::Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** ptr) {
  ARROW_RETURN_NOT_OK(Charge(new_size - old_size));
  arrow::Status st = inner_->Reallocate(old_size, new_size, alignment, ptr);
  if (!st.ok()) held_.fetch_sub(new_size - old_size, std::memory_order_relaxed);
  if (st.ok() && new_size > old_size) total_.fetch_add(new_size - old_size, std::memory_order_relaxed);
  return st;
}

void BudgetPool::Free(uint8_t* buffer, int64_t size, int64_t alignment) {
  inner_->Free(buffer, size, alignment);
  held_.fetch_sub(size, std::memory_order_relaxed);
  Unref();
}

}  // namespace pilum
