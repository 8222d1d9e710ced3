// Memory for one piece of work, bounded: what would go over the budget fails with OutOfMemory (kMemory), so that the
// work can be cut. What it gave out may outlive everybody: the pool goes with its last buffer. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <arrow/memory_pool.h>

namespace pilum {

class BudgetPool final : public arrow::MemoryPool {
 public:
  struct Release {
    void operator()(BudgetPool* pool) const { pool->Unref(); }
  };
  using Ptr = std::unique_ptr<BudgetPool, Release>;
  // `inner` outlives all memory. `bytes`: of all that is held at once.
  static Ptr Make(arrow::MemoryPool* inner, int64_t bytes) { return Ptr(new BudgetPool(inner, bytes)); }

  using MemoryPool::Allocate;
  using MemoryPool::Free;
  using MemoryPool::Reallocate;
  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override;
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** ptr) override;
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override;
  int64_t bytes_allocated() const override { return held_; }
  int64_t max_memory() const override { return most_; }
  int64_t total_bytes_allocated() const override { return total_; }
  int64_t num_allocations() const override { return count_; }
  std::string backend_name() const override { return inner_->backend_name(); }

 private:
  BudgetPool(arrow::MemoryPool* inner, int64_t bytes) : inner_(inner), budget_(bytes) {}
  ~BudgetPool() override = default;
  arrow::Status Charge(int64_t bytes);
  void Unref() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  arrow::MemoryPool* const inner_;
  const int64_t budget_;
  std::atomic<int64_t> held_{0}, most_{0}, total_{0}, count_{0};
  std::atomic<int64_t> refs_{1};  // the owner's, and one a buffer
};

}  // namespace pilum
