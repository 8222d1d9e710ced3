// Is text UTF-8? Readers of Arrow rely on it: file checks what it reads, encoding what it writes. Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

namespace pilum {

bool IsUtf8(std::string_view text);  // ASCII costs one pass at memory speed
bool IsAscii(const uint8_t* bytes, uint64_t size);

}  // namespace pilum
