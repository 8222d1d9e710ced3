// FSST symbol tables and the decoder of one value. Symbols may hold 0x00: their lengths alone say where they end.
#include <cstring>

#include "pilum/base/bytes.h"
#include "pilum/encoding/codec/codec.h"

namespace pilum::codec {
namespace {

constexpr uint64_t kTableBytes = 2312;
constexpr uint32_t kMagic = 0x46535354;
constexpr uint8_t kEscape = 255;

}  // namespace

Result<FsstTable> FsstTable::Parse(std::string_view bytes) {
  if (bytes.size() != kTableBytes)
    return BadBytes("an FSST symbol table of {} bytes, not {}", bytes.size(), kTableBytes);
  uint64_t header = LoadLE<uint64_t>(bytes.data());
  if (header >> 32 != kMagic) return BadBytes("an FSST symbol table with header {:#x}", header);
  FsstTable t;
  t.active_ = (header >> 24 & 0xff) != 0;
  uint64_t n = header & 0xff;
  for (uint64_t i = 0; i < n; ++i) {
    t.symbols_[i] = LoadLE<uint64_t>(bytes.data() + 8 + i * 8);
    t.lengths_[i] = static_cast<uint8_t>(bytes[8 + n * 8 + i]);
    if (t.lengths_[i] < 1 || t.lengths_[i] > 8) return BadBytes("an FSST symbol of {} bytes", t.lengths_[i]);
  }
  return t;
}

int64_t FsstTable::Decode(Bytes in, uint8_t* out) const {
  const uint8_t* p = in.data();
  const uint8_t* end = p + in.size();
  uint8_t* o = out;
  bool bad = false;
  auto step = [&](uint8_t code) {
    std::memcpy(o, &symbols_[code], 8);  // always 8: the length moves on, the rest is overwritten
    uint8_t n = lengths_[code];
    bad |= n == 0;
    o += n;
  };
  while (end - p >= 8) {
    uint64_t word = LoadLE<uint64_t>(p);
    uint64_t inverted = ~word;  // a byte 0xff becomes 0x00
    if (((inverted - 0x0101010101010101) & ~inverted & 0x8080808080808080) == 0) {
      for (int i = 0; i < 64; i += 8) step(static_cast<uint8_t>(word >> i));
      p += 8;
      continue;
    }
    if (*p == kEscape) {
      *o++ = p[1];
      p += 2;
    } else {
      step(*p++);
    }
  }
  while (p < end) {
    if (*p == kEscape) {
      if (++p == end) return -1;
      *o++ = *p++;
    } else {
      step(*p++);
    }
  }
  return bad ? -1 : o - out;
}

}  // namespace pilum::codec
