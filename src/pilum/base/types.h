// The small vocabulary of every layer. `offset` and `size` are bytes; `row` and `begin`/`end` are rows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

namespace pilum {

using BufferPtr = std::shared_ptr<arrow::Buffer>;

// Bytes [offset, offset + size) of one source.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t end() const { return offset + size; }
  bool operator==(const ByteRange&) const = default;
};

// Rows [begin, end) of one unit, file or page.
struct RowRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t size() const { return end - begin; }
  bool operator==(const RowRange&) const = default;
};

// A column or a field inside one: {"st", "a"} is field a of struct column st. Never empty; names are exact.
// A step through list<struct> names the field of the items.
struct FieldPath {
  std::vector<std::string> steps;
  std::string ToString() const;  // dotted, for messages; not parseable when a name holds a dot
  bool operator==(const FieldPath&) const = default;
  auto operator<=>(const FieldPath&) const = default;
};

// Inside the engine a column of an extension type has its storage type; the field's metadata names the extension.
// Does it say arrow.uuid, over 16 bytes?
bool IsUuidField(const arrow::Field& field);

}  // namespace pilum
