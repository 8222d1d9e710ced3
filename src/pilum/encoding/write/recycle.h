// Large blocks of memory, used again: the first touch of fresh memory costs more than what a writer does with it.
// For the vectors of encoding/write only. Thread-safe.
#pragma once

#include <cstddef>

namespace pilum::write {

inline constexpr size_t kLargeBlock = size_t{256} << 10;  // smaller ones are for the allocator of the process
inline constexpr size_t kMostKept = size_t{128} << 20;    // bytes kept for later, by the whole process

// At least `bytes` (kLargeBlock or more), aligned to 64. Throws std::bad_alloc, as an allocator does.
void* TakeBlock(size_t bytes);
void GiveBlock(void* block) noexcept;
// `block` with room for `bytes`, what is in it kept: its pages move, not their bytes.
void* GrowBlock(void* block, size_t bytes);
size_t KeptBytes();

}  // namespace pilum::write
