#include "pilum/base/pool_buffer.h"

#include <atomic>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>

namespace pilum {
namespace {

// Pools may be gone by then: what is still held when the process ends is left to the system.
std::atomic<bool> exiting{false};
const struct AtExit {
  ~AtExit() { exiting = true; }
} at_exit;

constexpr int64_t kLine = 64;  // capacities are whole ones

class PoolBuffer : public arrow::ResizableBuffer {
 public:
  explicit PoolBuffer(arrow::MemoryPool* pool) : ResizableBuffer(nullptr, 0), pool_(pool) {}
  ~PoolBuffer() override {
    if (data_ && !exiting) pool_->Free(const_cast<uint8_t*>(data_), capacity_);
  }

  arrow::Status Reserve(int64_t capacity) override {
    if (data_ && capacity >= 0 && capacity <= capacity_) return arrow::Status::OK();
    return ChangeCapacity(capacity);
  }

  arrow::Status Resize(int64_t size, bool shrink_to_fit) override {
    if (data_ && shrink_to_fit && size <= size_)
      PILUM_RETURN_NOT_OK(ChangeCapacity(size));
    else
      PILUM_RETURN_NOT_OK(Reserve(size));
    size_ = size;
    return arrow::Status::OK();
  }

 private:
  arrow::Status ChangeCapacity(int64_t wanted) {
    if (wanted < 0 || wanted > INT64_MAX - kLine) return arrow::Status::Invalid("a buffer of ", wanted, " bytes");
    const int64_t capacity = (wanted + kLine - 1) / kLine * kLine;
    if (data_ && capacity == capacity_) return arrow::Status::OK();
    auto* at = const_cast<uint8_t*>(data_);
    PILUM_RETURN_NOT_OK(at ? pool_->Reallocate(capacity_, capacity, &at) : pool_->Allocate(capacity, &at));
    data_ = at;
    capacity_ = capacity;
    return arrow::Status::OK();
  }

  arrow::MemoryPool* pool_;
};

}  // namespace

Result<std::shared_ptr<arrow::ResizableBuffer>> MakePoolBuffer(uint64_t size, uint64_t slack, arrow::MemoryPool* pool) {
  auto buffer = std::make_shared<PoolBuffer>(pool);
  PILUM_RETURN_NOT_OK(buffer->Reserve(static_cast<int64_t>(size + slack)));
  PILUM_RETURN_NOT_OK(buffer->Resize(static_cast<int64_t>(size), false));
  return std::shared_ptr<arrow::ResizableBuffer>(std::move(buffer));
}

}  // namespace pilum
