// What the fuzz targets of pages and codecs read: one page of a leaf column (version 2.0: one page of each column of a
// top-level field) in a small image of a file, with its description as the wire says it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/types.h"
#include "pilum/encoding/descriptor.h"

namespace pilum::fuzz {

struct PageInput {
  struct Column {
    uint64_t length = 0;
    std::string description;         // PageLayout, or ArrayEncoding
    std::vector<ByteRange> buffers;  // in `image`
  };
  FileVersion version = FileVersion::kV2_2;
  uint8_t leaf = 0;    // of the schema; 2.0: not used
  std::string schema;  // FileDescriptor of one top-level field
  std::vector<Column> columns;
  std::string image;
};

std::string ToBytes(const PageInput& input);
std::optional<PageInput> FromBytes(std::string_view bytes);

// Puts something else in the place of one piece: `change` gets the piece and gives the new one.
using Change = std::function<std::string(std::string)>;
std::string ChangePiece(std::string_view bytes, uint64_t random, const Change& change);

}  // namespace pilum::fuzz
