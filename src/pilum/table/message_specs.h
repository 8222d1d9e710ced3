// Which fields the messages of a table have, for message_json.cc. Numbers and names are the format.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace pilum::wire_spec {

enum class Kind : uint8_t {
  kUint,
  kInt,  // negative ones as ten bytes
  kBool,
  kDouble,  // eight bytes
  kText,
  kBytes,
  kInts,  // repeated, packed or not
  kUints,
  kMessage,
  kMap,     // of messages with key 1 and value 2, told by `message`
  kUuid,    // a message with 16 bytes
  kBitmap,  // 32-bit Roaring
  kU16s,    // little-endian numbers one after another
  kU32s,
  kU64s,
  kEnum,
  kAny,  // {1 type URL, 2 details}
};

struct Message;
struct Field {
  uint32_t number = 0;
  const char* name = "";
  Kind kind = Kind::kUint;
  bool repeated = false;
  const Message* message = nullptr;     // kMessage; kMap: of its entries
  const char* const* values = nullptr;  // kEnum: names from 0 on, then nullptr
  bool always = false;                  // told where it is absent: as 0
};
struct Message {
  std::span<const Field> fields;
};

extern const Message kManifest, kIndexSection, kTransaction;
// By the last part of a type URL, without regard to case ("BTreeIndexDetails"); nullptr: not known.
const Message* FindIndexDetails(std::string_view type_url);

}  // namespace pilum::wire_spec
