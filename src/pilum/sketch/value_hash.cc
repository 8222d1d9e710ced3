#include "pilum/sketch/value_hash.h"

#include <bit>

#define XXH_INLINE_ALL
#include <arrow/type.h>
#include <xxhash.h>

#include "pilum/base/bytes.h"

namespace pilum {
namespace {

constexpr uint8_t kTagInt = 1, kTagFloat = 2, kTagDecimal = 3, kTagText = 4, kTagBinary = 5;

constexpr uint64_t k1 = 0x9E3779B185EBCA87, k2 = 0xC2B2AE3D27D4EB4F, k3 = 0x165667B19E3779F9, k4 = 0x85EBCA77C2B2AE63,
                   k5 = 0x27D4EB2F165667C5;

uint64_t Round(uint64_t h, uint64_t lane) { return std::rotl(h + lane * k2, 31) * k1; }
uint64_t MergeRound(uint64_t h, uint64_t v) { return (h ^ Round(0, v)) * k1 + k4; }
uint64_t Word(uint64_t h, uint64_t lane) { return std::rotl(h ^ Round(0, lane), 27) * k1 + k4; }
uint64_t Byte(uint64_t h, uint8_t byte) { return std::rotl(h ^ (byte * k5), 11) * k1; }

uint64_t Avalanche(uint64_t h) {
  h = (h ^ (h >> 33)) * k2;
  h = (h ^ (h >> 29)) * k3;
  return h ^ (h >> 32);
}

// XXH64 (seed 0) of the tag and then v, without copying v behind its tag: byte `at` of the two is v[at - 1], so every word
// but the first is read one byte early.
uint64_t HashBytes(uint8_t tag, std::string_view v) {
  const size_t n = v.size() + 1;
  if (v.size() < 8) {  // too short for the first word to be read so
    uint8_t copy[8] = {tag};
    if (!v.empty()) std::memcpy(copy + 1, v.data(), v.size());
    return XXH64(copy, n, 0);
  }
  const char* const early = v.data() - 1;
  const uint64_t first = LoadLE<uint64_t>(v.data()) << 8 | tag;
  size_t at = 8;
  uint64_t h = k5;
  if (n >= 32) {
    const auto word = [&](size_t i) { return LoadLE<uint64_t>(early + at + 8 * i); };
    uint64_t a = Round(k1 + k2, first), b = Round(k2, word(0)), c = Round(0, word(1)), d = Round(0 - k1, word(2));
    for (at = 32; at + 32 <= n; at += 32) {
      a = Round(a, word(0));
      b = Round(b, word(1));
      c = Round(c, word(2));
      d = Round(d, word(3));
    }
    h = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
    h = MergeRound(MergeRound(MergeRound(MergeRound(h, a), b), c), d) + n;
  } else {
    h = Word(h + n, first);
  }
  for (; at + 8 <= n; at += 8) h = Word(h, LoadLE<uint64_t>(early + at));
  if (at + 4 <= n) {
    h = std::rotl(h ^ (LoadLE<uint32_t>(early + at) * k1), 23) * k2 + k3;
    at += 4;
  }
  for (; at < n; ++at) h = Byte(h, static_cast<uint8_t>(early[at]));
  return Avalanche(h);
}

}  // namespace

// XXH64 of the tag and the 16 bytes of `v`, written out for this one length: it runs once for most values of a part.
uint64_t HashInt(Int128 v) {
  const uint64_t low = static_cast<uint64_t>(v), high = static_cast<uint64_t>(v >> 64);
  uint64_t h = Word(k5 + 17, (low << 8) | kTagInt);
  h = Word(h, (high << 8) | (low >> 56));
  return Avalanche(Byte(h, static_cast<uint8_t>(high >> 56)));
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

std::optional<ParsedValue> ParseHashBytes(std::string_view bytes) {
  ByteCursor in(bytes);
  const auto tag = in.Read<uint8_t>();
  std::optional<ParsedValue> out;
  if (!in.ok()) return out;
  switch (tag) {
    case kTagInt: {
      const auto v = in.Read<Int128>();
      out = {Value::Int(v), 0};
      break;
    }
    case kTagFloat: {
      const auto v = in.Read<double>();
      out = {Value::Float(v), 0};
      break;
    }
    case kTagDecimal: {
      const auto scale = in.Read<int8_t>();
      const uint64_t n = in.remaining();
      if (n == 0 || n > 32) return std::nullopt;
      const std::string_view digits = in.ReadBytes(n);
      std::array<uint64_t, 4> words;
      std::memset(words.data(), digits.back() < 0 ? 0xFF : 0, 32);
      std::memcpy(words.data(), digits.data(), n);
      out = {Value::Decimal(arrow::Decimal256(arrow::BasicDecimal256::LittleEndianArray, words)), scale};
      break;
    }
    case kTagText: out = {Value::Text(std::string(in.ReadBytes(in.remaining()))), 0}; break;
    case kTagBinary: out = {Value::Binary(std::string(in.ReadBytes(in.remaining()))), 0}; break;
    default: return std::nullopt;
  }
  if (!in.ok() || in.remaining() != 0) return std::nullopt;
  return out;
}

uint64_t HashValue(const Value& v, int32_t scale) {
  switch (v.domain()) {
    case Domain::kInt: return HashInt(v.as_int());
    case Domain::kFloat: return HashFloat(v.as_float());
    case Domain::kDecimal: return HashDecimal(v.as_decimal(), scale);
    case Domain::kText: return HashText(v.as_bytes());
    default: return HashBinary(v.as_bytes());
  }
}

std::optional<Value> ValueOfHashBytes(std::string_view bytes, const arrow::DataType& type) {
  auto parsed = ParseHashBytes(bytes);
  if (!parsed) return std::nullopt;
  if (parsed->value.domain() != Domain::kDecimal) return std::move(parsed->value);
  const int32_t more = static_cast<const arrow::DecimalType&>(type).scale() - parsed->scale;
  if (more <= 0) return std::move(parsed->value);
  return Value::Decimal(parsed->value.as_decimal() * arrow::Decimal256(arrow::Decimal256::GetScaleMultiplier(more)));
}

}  // namespace pilum
