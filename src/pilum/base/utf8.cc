#include "pilum/base/utf8.h"

#include <cstdint>

#include <arrow/util/utf8.h>

#include "pilum/base/bytes.h"

namespace pilum {

bool IsAscii(const uint8_t* p, uint64_t n) {
  constexpr uint64_t kHigh = 0x8080808080808080u;
  uint64_t a = 0, b = 0, c = 0, d = 0, i = 0;
  for (; i + 32 <= n; i += 32) {
    a |= LoadLE<uint64_t>(p + i);
    b |= LoadLE<uint64_t>(p + i + 8);
    c |= LoadLE<uint64_t>(p + i + 16);
    d |= LoadLE<uint64_t>(p + i + 24);
  }
  uint8_t rest = 0;
  for (; i < n; ++i) rest |= p[i];
  return ((a | b | c | d) & kHigh) == 0 && rest < 0x80;
}

bool IsUtf8(std::string_view text) {
  const auto* p = reinterpret_cast<const uint8_t*>(text.data());
  if (IsAscii(p, text.size())) return true;
  [[maybe_unused]] static const bool ready = (arrow::util::InitializeUTF8(), true);
  return arrow::util::ValidateUTF8(p, static_cast<int64_t>(text.size()));
}

}  // namespace pilum
