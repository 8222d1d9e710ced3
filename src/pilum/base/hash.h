// BLAKE3 (own implementation: portable and AVX2, one dispatch point; checked against the published vectors) and hex
// text. Part names, sidecar headers and section checks use it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace pilum {

using Hash256 = std::array<uint8_t, 32>;

// Incremental BLAKE3, default (unkeyed) mode. Not thread-safe; copyable.
class Blake3 {
 public:
  Blake3();
  ~Blake3();
  Blake3(const Blake3&);
  Blake3& operator=(const Blake3&);
  void Update(const void* data, size_t size);
  void Update(std::string_view bytes) { Update(bytes.data(), bytes.size()); }
  Hash256 Finish() const;  // of all bytes so far; more may follow

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

Hash256 Blake3Of(std::string_view bytes);
std::string Hex(std::span<const uint8_t> bytes);  // lower case
int HexDigit(char c);                             // either case; -1: none

}  // namespace pilum
