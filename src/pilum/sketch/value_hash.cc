#include "pilum/sketch/value_hash.h"

#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "pilum/base/bytes.h"

namespace pilum {
namespace {

constexpr uint8_t kTagInt = 1, kTagFloat = 2, kTagDecimal = 3, kTagText = 4, kTagBinary = 5;

uint64_t HashBytes(uint8_t tag, std::string_view v) {
  uint8_t bytes[256];
  if (v.size() < sizeof(bytes)) {
    bytes[0] = tag;
    std::memcpy(bytes + 1, v.data(), v.size());
    return XXH64(bytes, v.size() + 1, 0);
  }
  XXH64_state_t state;
  XXH64_reset(&state, 0);
  XXH64_update(&state, &tag, 1);
  XXH64_update(&state, v.data(), v.size());
  return XXH64_digest(&state);
}

}  // namespace

// XXH64 of the tag and the 16 bytes of `v`, written out for this one length: it runs once for most values of a part.
uint64_t HashInt(Int128 v) {
  constexpr uint64_t k1 = 0x9E3779B185EBCA87, k2 = 0xC2B2AE3D27D4EB4F, k3 = 0x165667B19E3779F9, k4 = 0x85EBCA77C2B2AE63,
                     k5 = 0x27D4EB2F165667C5;
  const uint64_t low = static_cast<uint64_t>(v), high = static_cast<uint64_t>(v >> 64);
  uint64_t h = k5 + 17;
  for (uint64_t lane : {(low << 8) | kTagInt, (high << 8) | (low >> 56)}) {
    h ^= std::rotl(lane * k2, 31) * k1;
    h = std::rotl(h, 27) * k1 + k4;
  }
  h ^= (high >> 56) * k5;
  h = std::rotl(h, 11) * k1;
  h = (h ^ (h >> 33)) * k2;
  h = (h ^ (h >> 29)) * k3;
  return h ^ (h >> 32);
}

uint64_t HashFloat(double v) {
  uint8_t bytes[9];
  bytes[0] = kTagFloat;
  StoreLE(bytes + 1, Value::Float(v).as_float());
  return XXH64(bytes, sizeof(bytes), 0);
}

uint64_t HashDecimal(const arrow::Decimal256& unscaled, int32_t scale) {
  const auto& words = unscaled.little_endian_array();
  const uint64_t fill = static_cast<uint64_t>(static_cast<int64_t>(words[0]) >> 63);
  if (words[1] != fill || words[2] != fill || words[3] != fill) {
    std::string bytes;
    AppendHashBytes(Value::Decimal(unscaled), scale, &bytes);
    return XXH64(bytes.data(), bytes.size(), 0);
  }
  int64_t v = static_cast<int64_t>(words[0]);
  if (v == 0) scale = 0;
  for (; v != 0 && v % 10 == 0; v /= 10) --scale;
  uint8_t bytes[10] = {kTagDecimal, static_cast<uint8_t>(scale)};
  StoreLE(bytes + 2, v);
  size_t n = 8;  // minimal two's complement
  while (n > 1 && ((bytes[n + 1] == 0x00 && bytes[n] < 0x80) || (bytes[n + 1] == 0xFF && bytes[n] >= 0x80))) --n;
  return XXH64(bytes, n + 2, 0);
}

uint64_t HashText(std::string_view v) { return HashBytes(kTagText, v); }
uint64_t HashBinary(std::string_view v) { return HashBytes(kTagBinary, v); }

uint64_t HashValue(const Value& v, int32_t scale) {
  switch (v.domain()) {
    case Domain::kInt: return HashInt(v.as_int());
    case Domain::kFloat: return HashFloat(v.as_float());
    case Domain::kDecimal: return HashDecimal(v.as_decimal(), scale);
    case Domain::kText: return HashText(v.as_bytes());
    default: return HashBinary(v.as_bytes());
  }
}

}  // namespace pilum
