// One page of a 2.0 column: buffers and the tree of encodings over them. For write_columns.cc. Pure functions: same
// values, same hints, same bytes. Format: docs/formats/lance_file.md, "Version 2.0".
#pragma once

#include <cstdint>

#include "pilum/encoding/page_writer.h"
#include "pilum/encoding/policy.h"
#include "pilum/encoding/shape.h"
#include "pilum/encoding/write/internal.h"

namespace pilum::v2_0 {

// The first `count` entries of what a column has buffered.
struct PageValues {
  const LeafColumn* column = nullptr;
  const EncodingHints* hints = nullptr;
  const write::ValueStore* values = nullptr;
  const uint8_t* nulls = nullptr;  // one an entry: 1 is a null
  uint64_t count = 0;
};

EncodedPage EncodeLeafPage(const PageValues& page);
// `ends`: of each list's items, counted from the page's first. Null lists have no items.
EncodedPage EncodeListPage(const uint64_t* ends, const uint8_t* nulls, uint64_t count);
EncodedPage EncodeHeaderPage(uint64_t count);

}  // namespace pilum::v2_0
