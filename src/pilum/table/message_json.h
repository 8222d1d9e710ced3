// The messages of a table told field by field, those too that nothing here uses: for looking at them. Called by cli and
// python. Pure. Fields: proto/lance_table.proto, docs/formats/table.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "pilum/base/status.h"

namespace pilum {

enum class TableMessage { kManifest, kIndexSection, kTransaction };

// An object of its fields by name, in the order of their numbers; absent ones are left out, but for those whose absence
// means 0 and that are read for their number (ids, versions). Fields that are not known come last, as "unknown":
// [{"number", "wire_type", "bytes" or "value", "begins" (hexadecimal)}]. Long bytes are {"bytes", "begins"}, row numbers
// that are many {"count", "first", "last"}. kCorrupt where it is no such message.
Result<nlohmann::ordered_json> MessageToJson(std::string_view message, TableMessage kind);
// The details of an index, by their type URL; of a type that is not known, {"bytes", "begins"}.
Result<nlohmann::ordered_json> IndexDetailsToJson(std::string_view type_url, std::string_view details);

// What each field of a message takes of it, its tags included.
struct FieldShare {
  uint32_t number = 0;
  std::string name;  // empty: not known
  uint64_t count = 0, bytes = 0;
};
Result<std::vector<FieldShare>> FieldShares(std::string_view message, TableMessage kind);  // by number

}  // namespace pilum
