#include "pilum/base/recycling_pool.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <vector>

#include "pilum/base/status.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size) static_cast<void>(0)
#define ASAN_UNPOISON_MEMORY_REGION(at, size) static_cast<void>(0)
#endif

namespace pilum {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int kSmallestLog = 12, kLargestLog = 25;  // blocks of 4 KiB to 56 MiB
constexpr int kSteps = 4;                           // sizes from one power of two to the next
constexpr int kNumSizes = (kLargestLog - kSmallestLog + 1) * kSteps;
constexpr int kNone = -1;
constexpr int64_t kDefaultKept = 64 << 20;

// Shelf i holds blocks of (4 + i % 4) / 4 * 2^(14 + i / 4) bytes.
int64_t BlockSize(int shelf) { return int64_t{kSteps + shelf % kSteps} << (kSmallestLog - 2 + shelf / kSteps); }

// The shelf whose blocks are the smallest that hold `size`; kNone where such a block is not recycled.
int ShelfOf(int64_t size, int64_t alignment) {
  if (size < int64_t{1} << kSmallestLog || alignment > kAlignment) return kNone;
  const uint64_t last = static_cast<uint64_t>(size) - 1;
  const int log = std::bit_width(last) - 1;
  if (log < kSmallestLog) return 0;
  const int step = static_cast<int>(last >> (log - 2)) & (kSteps - 1);
  const int shelf = (log - kSmallestLog) * kSteps + step + 1;
  return shelf < kNumSizes ? shelf : kNone;
}

}  // namespace

struct RecyclingPool::Shelves {
  struct Shelf {
    std::vector<uint8_t*> blocks;
    uint64_t last_wanted = 0;
  };

  uint8_t* Take(int shelf) {
    std::lock_guard lock(mutex);
    Shelf& s = shelf_of[shelf];
    s.last_wanted = ++now;
    if (s.blocks.empty()) return nullptr;
    uint8_t* block = s.blocks.back();
    s.blocks.pop_back();
    kept -= BlockSize(shelf);
    return block;
  }

  // Keeps `block`. What then is too much, of the sizes that were longest not wanted, goes to `out`.
  void Put(int shelf, uint8_t* block, std::vector<std::pair<uint8_t*, int64_t>>* out) {
    std::lock_guard lock(mutex);
    shelf_of[shelf].blocks.push_back(block);
    kept += BlockSize(shelf);
    while (kept > most_kept) {
      int oldest = shelf;
      for (int i = 0; i < kNumSizes; ++i) {
        if (!shelf_of[i].blocks.empty() && shelf_of[i].last_wanted < shelf_of[oldest].last_wanted) oldest = i;
      }
      out->emplace_back(shelf_of[oldest].blocks.back(), BlockSize(oldest));
      shelf_of[oldest].blocks.pop_back();
      kept -= BlockSize(oldest);
    }
  }

  std::vector<std::pair<uint8_t*, int64_t>> TakeAll() {
    std::lock_guard lock(mutex);
    std::vector<std::pair<uint8_t*, int64_t>> out;
    for (int i = 0; i < kNumSizes; ++i) {
      for (uint8_t* block : shelf_of[i].blocks) out.emplace_back(block, BlockSize(i));
      shelf_of[i].blocks.clear();
    }
    kept = 0;
    return out;
  }

  std::mutex mutex;
  Shelf shelf_of[kNumSizes];
  uint64_t now = 0;
  int64_t kept = 0, most_kept = 0;
};

RecyclingPool::RecyclingPool(arrow::MemoryPool* below, int64_t most_kept)
    : shelves_(std::make_unique<Shelves>()), below_(below) {
  shelves_->most_kept = most_kept;
}

RecyclingPool::~RecyclingPool() { ReleaseUnused(); }

// Idle blocks, and the rest of a block behind what was asked for, may not be touched (AddressSanitizer sees to it).
arrow::Status RecyclingPool::Allocate(int64_t size, int64_t alignment, uint8_t** out) {
  const int shelf = ShelfOf(size, alignment);
  if (shelf == kNone) {
    PILUM_RETURN_NOT_OK(below_->Allocate(size, alignment, out));
  } else {
    uint8_t* block = shelves_->Take(shelf);
    if (!block) {
      arrow::Status st = below_->Allocate(BlockSize(shelf), kAlignment, &block);
      if (!st.ok()) {
        ReleaseUnused();  // what is kept may be what is missing
        PILUM_RETURN_NOT_OK(below_->Allocate(BlockSize(shelf), kAlignment, &block));
      }
    }
    ASAN_UNPOISON_MEMORY_REGION(block, size);
    ASAN_POISON_MEMORY_REGION(block + size, BlockSize(shelf) - size);
    *out = block;
  }
  stats_.DidAllocateBytes(size);
  return arrow::Status::OK();
}

void RecyclingPool::Free(uint8_t* block, int64_t size, int64_t alignment) {
  const int shelf = ShelfOf(size, alignment);
  stats_.DidFreeBytes(size);
  if (shelf == kNone) return below_->Free(block, size, alignment);
  ASAN_POISON_MEMORY_REGION(block, BlockSize(shelf));
  std::vector<std::pair<uint8_t*, int64_t>> too_much;
  shelves_->Put(shelf, block, &too_much);
  for (auto [at, bytes] : too_much) {
    ASAN_UNPOISON_MEMORY_REGION(at, bytes);
    below_->Free(at, bytes, kAlignment);
  }
}

arrow::Status RecyclingPool::Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** ptr) {
  const int from = ShelfOf(old_size, alignment), to = ShelfOf(new_size, alignment);
  if (from == kNone && to == kNone) {
    PILUM_RETURN_NOT_OK(below_->Reallocate(old_size, new_size, alignment, ptr));
    stats_.DidReallocateBytes(old_size, new_size);
    return arrow::Status::OK();
  }
  if (from == to) {
    ASAN_UNPOISON_MEMORY_REGION(*ptr, new_size);
    ASAN_POISON_MEMORY_REGION(*ptr + new_size, BlockSize(to) - new_size);
    stats_.DidReallocateBytes(old_size, new_size);
    return arrow::Status::OK();
  }
  uint8_t* moved = nullptr;
  PILUM_RETURN_NOT_OK(Allocate(new_size, alignment, &moved));
  std::memcpy(moved, *ptr, static_cast<size_t>(std::min(old_size, new_size)));
  Free(*ptr, old_size, alignment);
  *ptr = moved;
  return arrow::Status::OK();
}

void RecyclingPool::ReleaseUnused() {
  for (auto [at, bytes] : shelves_->TakeAll()) {
    ASAN_UNPOISON_MEMORY_REGION(at, bytes);
    below_->Free(at, bytes, kAlignment);
  }
  below_->ReleaseUnused();
}

int64_t RecyclingPool::bytes_allocated() const { return stats_.bytes_allocated(); }
int64_t RecyclingPool::max_memory() const { return stats_.max_memory(); }
int64_t RecyclingPool::total_bytes_allocated() const { return stats_.total_bytes_allocated(); }
int64_t RecyclingPool::num_allocations() const { return stats_.num_allocations(); }
std::string RecyclingPool::backend_name() const { return "recycling " + below_->backend_name(); }

int64_t RecyclingPool::bytes_kept() const {
  std::lock_guard lock(shelves_->mutex);
  return shelves_->kept;
}

void RecyclingPool::LockForFork() { shelves_->mutex.lock(); }
void RecyclingPool::UnlockAfterFork() { shelves_->mutex.unlock(); }

RecyclingPool* DefaultReadPool() {
  static RecyclingPool* pool = [] {
    auto* made = new RecyclingPool(arrow::default_memory_pool(), kDefaultKept);
    // A child must not find the lock in the hands of a thread that it does not have.
    pthread_atfork([] { DefaultReadPool()->LockForFork(); }, [] { DefaultReadPool()->UnlockAfterFork(); },
                   [] { DefaultReadPool()->UnlockAfterFork(); });
    return made;
  }();
  return pool;
}

}  // namespace pilum
