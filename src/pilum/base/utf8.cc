#include "pilum/base/utf8.h"

#include <cstdint>

#include <arrow/util/utf8.h>

#include "pilum/base/bytes.h"

namespace pilum {
namespace {

// A block of bytes is looked at as one before anybody branches.
constexpr uint64_t kStep = 256;

#define PILUM_ASCII_BODY                                  \
  uint8_t any = 0;                                        \
  uint64_t i = 0;                                         \
  for (; i + kStep <= n && any < 0x80; i += kStep) {      \
    for (uint64_t k = 0; k < kStep; ++k) any |= p[i + k]; \
  }                                                       \
  for (; i < n; ++i) any |= p[i];                         \
  return any < 0x80;

__attribute__((optimize("O3"))) bool IsAsciiBase(const uint8_t* p, uint64_t n) { PILUM_ASCII_BODY }
__attribute__((target("avx2"), optimize("O3"))) bool IsAsciiAvx2(const uint8_t* p, uint64_t n) { PILUM_ASCII_BODY }

}  // namespace

bool IsAscii(const uint8_t* p, uint64_t n) {
  static const bool avx2 = __builtin_cpu_supports("avx2");
  return avx2 ? IsAsciiAvx2(p, n) : IsAsciiBase(p, n);
}

bool IsUtf8(std::string_view text) {
  const auto* p = reinterpret_cast<const uint8_t*>(text.data());
  if (IsAscii(p, text.size())) return true;
  [[maybe_unused]] static const bool ready = (arrow::util::InitializeUTF8(), true);
  return arrow::util::ValidateUTF8(p, static_cast<int64_t>(text.size()));
}

template <typename Offset>
bool AreUtf8(const Offset* offsets, uint64_t n, const uint8_t* bytes) {
  const Offset begin = offsets[0], end = offsets[n];
  if (begin == end || IsAscii(bytes + begin, static_cast<uint64_t>(end - begin))) return true;
  // All the bytes together are UTF-8 and no value starts inside a character: then each value is UTF-8.
  bool ok = IsUtf8({reinterpret_cast<const char*>(bytes) + begin, static_cast<size_t>(end - begin)});
  for (uint64_t i = 1; ok && i < n; ++i) ok = offsets[i] == end || (bytes[offsets[i]] & 0xC0) != 0x80;
  return ok;
}

template bool AreUtf8<int32_t>(const int32_t*, uint64_t, const uint8_t*);
template bool AreUtf8<int64_t>(const int64_t*, uint64_t, const uint8_t*);

}  // namespace pilum
