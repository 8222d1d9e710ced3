// Is text UTF-8? Readers of Arrow rely on it: file checks what it reads, encoding what it writes. Thread-safe.
#pragma once

#include <string_view>

namespace pilum {

bool IsUtf8(std::string_view text);  // ASCII costs one pass at memory speed

}  // namespace pilum
