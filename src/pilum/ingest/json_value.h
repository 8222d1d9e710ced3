// One JSON value in memory, numbers exact where they are integers. Built a line at a time by the JSON lines reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/status.h"

namespace pilum::ingest {

struct JsonValue {
  enum class Kind : uint8_t { kNull, kBool, kInt, kUint, kFloat, kString, kList, kObject };
  Kind kind = Kind::kNull;
  bool boolean = false;
  int64_t integer = 0;            // kInt: negative or not, within int64
  uint64_t big = 0;               // kUint: past int64's range
  double real = 0;                // kFloat
  std::string text;               // kString: the text; kFloat: as written
  std::vector<JsonValue> items;   // kList; kObject: the values
  std::vector<std::string> keys;  // kObject

  bool is_number() const { return kind == Kind::kInt || kind == Kind::kUint || kind == Kind::kFloat; }
  std::string ToText() const;  // scalars as text
};

std::string_view KindName(JsonValue::Kind kind);  // "a number", "text"

// The whole of `line` as one value. Errors say what is wrong and at which byte of the line, without the file.
Result<JsonValue> ParseJson(std::string_view line);

}  // namespace pilum::ingest
