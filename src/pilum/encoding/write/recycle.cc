#include "pilum/encoding/write/recycle.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include <sys/mman.h>

namespace pilum::write {

namespace {

constexpr size_t kHeader = 64;  // before each block: its size

struct Kept {
  std::mutex mutex;
  std::vector<uint8_t*> blocks;  // oldest first
  size_t bytes = 0;
};

Kept& TheKept() {
  static Kept* kept = new Kept;  // never destroyed: vectors of other static objects may still come
  return *kept;
}

size_t SizeOf(const uint8_t* start) {
  size_t n;
  std::memcpy(&n, start, sizeof n);
  return n;
}

// Sizes come in eight steps a doubling, so that a block fits again.
size_t RoundedUp(size_t bytes) {
  const size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

// From the system itself: malloc would take freed blocks of this size as a reason to serve such from its heap, where what
// lies above keeps their memory from being given back (60 MiB in a conversion of 17 columns).
uint8_t* Map(size_t bytes) {
  void* at = ::mmap(nullptr, bytes + kHeader, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  std::memcpy(at, &bytes, sizeof bytes);
  return static_cast<uint8_t*>(at);
}
void Unmap(uint8_t* start) noexcept { ::munmap(start, SizeOf(start) + kHeader); }

// A kept block of at least `need` bytes and not much more, or null.
uint8_t* TakeKept(size_t need) {
  Kept& kept = TheKept();
  std::lock_guard lock(kept.mutex);
  auto best = kept.blocks.end();
  for (auto b = kept.blocks.begin(); b != kept.blocks.end(); ++b) {
    const size_t size = SizeOf(*b);
    if (size >= need && size <= 2 * need && (best == kept.blocks.end() || size < SizeOf(*best))) best = b;
  }
  if (best == kept.blocks.end()) return nullptr;
  uint8_t* start = *best;
  kept.blocks.erase(best);
  kept.bytes -= SizeOf(start);
  return start;
}

}  // namespace

void* TakeBlock(size_t bytes) {
  const size_t need = RoundedUp(bytes);
  uint8_t* start = TakeKept(need);
  return (start ? start : Map(need)) + kHeader;
}

void GiveBlock(void* block) noexcept {
  uint8_t* start = static_cast<uint8_t*>(block) - kHeader;
  const size_t size = SizeOf(start);
  std::vector<uint8_t*> drop;
  try {
    Kept& kept = TheKept();
    std::lock_guard lock(kept.mutex);
    if (size <= kMostKept) {
      while (kept.bytes + size > kMostKept) {
        drop.push_back(kept.blocks.front());
        kept.bytes -= SizeOf(kept.blocks.front());
        kept.blocks.erase(kept.blocks.begin());
      }
      kept.blocks.push_back(start);
      kept.bytes += size;
      start = nullptr;
    }
  } catch (const std::bad_alloc&) {  // no room to remember it: it goes
  }
  if (start) Unmap(start);
  for (uint8_t* b : drop) Unmap(b);
}

void* GrowBlock(void* block, size_t bytes) {
  uint8_t* start = static_cast<uint8_t*>(block) - kHeader;
  const size_t need = RoundedUp(bytes);
  if (SizeOf(start) >= need) return block;  // it was a larger one from the start
  if (uint8_t* kept = TakeKept(need)) {     // to copy costs less than the first touch of fresh memory
    std::memcpy(kept + kHeader, block, SizeOf(start));
    GiveBlock(block);
    return kept + kHeader;
  }
  void* at = ::mremap(start, SizeOf(start) + kHeader, need + kHeader, MREMAP_MAYMOVE);
  if (at == MAP_FAILED) throw std::bad_alloc();
  std::memcpy(at, &need, sizeof need);
  return static_cast<uint8_t*>(at) + kHeader;
}

size_t KeptBytes() {
  Kept& kept = TheKept();
  std::lock_guard lock(kept.mutex);
  return kept.bytes;
}

}  // namespace pilum::write
