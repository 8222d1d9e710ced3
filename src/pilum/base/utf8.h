// Is text UTF-8? Readers of Arrow rely on it: file checks what it reads, encoding what it writes. Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

namespace pilum {

bool IsUtf8(std::string_view text);  // ASCII costs one pass at memory speed
bool IsAscii(const uint8_t* bytes, uint64_t size);
// Is each of n values, value i at [offsets[i], offsets[i + 1]) of `bytes`? Offsets of 32 or 64 bits, ascending.
template <typename Offset>
bool AreUtf8(const Offset* offsets, uint64_t n, const uint8_t* bytes);

}  // namespace pilum
