// A memory pool that refuses single allocations over a limit and remembers that it did: an input of some kilobytes has no
// business asking for more.
#pragma once

#include <atomic>

#include <arrow/memory_pool.h>
#include <arrow/status.h>

namespace pilum::test {

class CappedPool : public arrow::MemoryPool {
 public:
  explicit CappedPool(int64_t limit) : limit_(limit) {}
  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;
  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override {
    if (Over(size)) return arrow::Status::OutOfMemory("over the test's limit: ", size);
    return inner_->Allocate(size, alignment, out);
  }
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** ptr) override {
    if (Over(new_size)) return arrow::Status::OutOfMemory("over the test's limit: ", new_size);
    return inner_->Reallocate(old_size, new_size, alignment, ptr);
  }
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override { inner_->Free(buffer, size, alignment); }
  int64_t bytes_allocated() const override { return inner_->bytes_allocated(); }
  int64_t max_memory() const override { return inner_->max_memory(); }
  int64_t total_bytes_allocated() const override { return inner_->total_bytes_allocated(); }
  int64_t num_allocations() const override { return inner_->num_allocations(); }
  std::string backend_name() const override { return "capped"; }

  bool over() const { return worst_ > limit_; }
  int64_t worst() const { return worst_; }

 private:
  bool Over(int64_t size) {
    int64_t seen = worst_;
    while (size > seen && !worst_.compare_exchange_weak(seen, size)) {
    }
    return size > limit_;
  }
  arrow::MemoryPool* inner_ = arrow::default_memory_pool();
  int64_t limit_;
  std::atomic<int64_t> worst_{0};
};

}  // namespace pilum::test
