// Logical type strings of the file schema ("int32", "timestamp:us:UTC", "fixed_size_list:float:16", …) <-> Arrow types
// that need no child fields. Used by schema_wire.cc only. Format: docs/formats/lance_file.md, "Schema".
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace pilum {

// Anything but list, struct, map and fixed-size list of struct. kUnsupported names a type that is not known here;
// the caller adds the field. A fixed-size list's item is a nullable field `item`.
Result<std::shared_ptr<arrow::DataType>> ParseLogicalType(std::string_view logical);

// The string of a type that ParseLogicalType gives back (views, extension types and such are replaced before).
Result<std::string> FormatLogicalType(const arrow::DataType& type);

// "fixed_size_list:struct:4" -> 4; 0 where `logical` is no fixed-size list of struct.
int32_t FixedSizeListOfStruct(std::string_view logical);

inline constexpr std::string_view kExtensionName = "ARROW:extension:name";
inline constexpr std::string_view kExtensionMetadata = "ARROW:extension:metadata";
inline constexpr std::string_view kBfloat16 = "lance.bfloat16";
inline constexpr std::string_view kLanceJson = "lance.json";

// Is `field` a fixed_size_binary(2) that its metadata calls lance.bfloat16?
bool IsBfloat16(const arrow::Field& field);

}  // namespace pilum
