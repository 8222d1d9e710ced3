// Unsigned LEB128, the shortest form only, so that a number has one spelling.
#pragma once

#include <optional>

#include "pilum/base/bytes.h"

namespace pilum {

inline void AppendVarint(uint64_t v, std::string* out) {
  for (; v >= 0x80; v >>= 7) out->push_back(static_cast<char>(v | 0x80));
  out->push_back(static_cast<char>(v));
}

// nullopt: cut short, longer than need be, or over 64 bits.
inline std::optional<uint64_t> ReadVarint(ByteCursor* in) {
  uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = in->Read<uint8_t>();
    if (!in->ok()) return std::nullopt;
    if (shift == 63 && byte > 1) return std::nullopt;
    v |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return byte == 0 && shift > 0 ? std::nullopt : std::optional<uint64_t>(v);
  }
  return std::nullopt;
}

}  // namespace pilum
