// Memory for what reads give out. The first touch of a fresh page costs ten times the copy into it, so blocks of 4 KiB
// and more that come back are kept, up to a bound, and given out again; smaller ones go straight to the pool below.
// Called by context.cc (the pool of every read that names none) and tests. Thread-safe; survives fork.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <arrow/memory_pool.h>

namespace pilum {

class RecyclingPool : public arrow::MemoryPool {
 public:
  // `below` outlives the pool. Holds at most `most_kept` bytes that nobody uses. Not to be destroyed before the last of
  // its blocks has come back.
  RecyclingPool(arrow::MemoryPool* below, int64_t most_kept);
  ~RecyclingPool() override;

  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;
  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override;
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** ptr) override;
  void Free(uint8_t* block, int64_t size, int64_t alignment) override;
  void ReleaseUnused() override;  // gives back all that is kept

  // Of what was asked for; kept blocks do not count.
  int64_t bytes_allocated() const override;
  int64_t max_memory() const override;
  int64_t total_bytes_allocated() const override;
  int64_t num_allocations() const override;
  std::string backend_name() const override;

  int64_t bytes_kept() const;

  // Around a fork, so that the child finds the lock free.
  void LockForFork();
  void UnlockAfterFork();

 private:
  struct Shelves;
  std::unique_ptr<Shelves> shelves_;
  arrow::MemoryPool* below_;
  arrow::internal::MemoryPoolStats stats_;
};

// The process's own, over arrow::default_memory_pool(), holding at most 64 MiB. Never destroyed: arrays that were given
// away outlive everything else here.
RecyclingPool* DefaultReadPool();

}  // namespace pilum
