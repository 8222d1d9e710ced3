// What JSONB consists of (docs/formats/table.md, "JSON"). Used by jsonb*.cc only. Pure.
#pragma once

#include <bit>
#include <optional>
#include <string>
#include <string_view>

#include "pilum/base/bytes.h"
#include "pilum/values/json.h"

namespace pilum::jsonb {

// The first word of a container: what it is, and how many.
inline constexpr uint32_t kKindMask = 0xE0000000, kCountMask = 0x1FFFFFFF;
inline constexpr uint32_t kScalar = 0x20000000, kObject = 0x40000000, kArray = 0x80000000;
// An entry: of what type the value is, and how many bytes it takes.
inline constexpr uint32_t kTypeMask = 0x70000000, kSizeMask = 0x0FFFFFFF;
enum EntryType : uint32_t {
  kNull = 0,
  kString = 0x10000000,
  kNumber = 0x20000000,
  kFalse = 0x30000000,
  kTrue = 0x40000000,
  kContainer = 0x50000000,
  kExtension = 0x60000000,
};
// The first byte of a number.
enum NumberType : uint8_t {
  kZero = 0x00,
  kNan = 0x10,
  kInfinity = 0x20,
  kMinusInfinity = 0x30,
  kInt = 0x40,
  kUInt = 0x50,
  kFloat = 0x60,
  kDecimal = 0x70,
};

// Word `i` of `bytes`, big-endian. They hold it.
inline uint32_t Word(std::string_view bytes, uint64_t i) {
  static_assert(std::endian::native == std::endian::little);
  return __builtin_bswap32(LoadLE<uint32_t>(bytes.data() + 4 * i));
}

// The bytes of a number: whole ones exactly, others as doubles, which may not be finite (JSON has null in their place).
Result<JsonNumber> NumberOf(std::string_view bytes);
inline bool IsFinite(const JsonNumber& n) {
  const auto* d = std::get_if<double>(&n);
  return !d || (*d - *d == 0);
}

// Adds the JSON text of one value of type `type` (EntryType) in a container that is `depth` levels deep. kCorrupt, kUnsupported.
Status AppendText(uint32_t type, std::string_view bytes, size_t depth, std::string* out);

}  // namespace pilum::jsonb
