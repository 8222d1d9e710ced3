// The metadata message of one column: its pages and where their bytes lie. From 2.1 on the layout of a page stays bytes
// (Page::MakeLazily). Called by footer.cc; errors name neither file nor column. Format: docs/formats/lance_file.md.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "pilum/encoding/descriptor.h"
#include "pilum/encoding/page.h"

namespace pilum {

struct FileBounds {
  FileVersion version;
  uint64_t size;
};

// Does it lie in the file, and where buffers must? "{name} {number} ..." otherwise.
Status CheckBuffer(ByteRange range, const FileBounds& file, std::string_view name, size_t number);

// A page as its column lists it, and its layout's message.
struct StoredPage {
  PageHead head;  // 2.0: with `array`
  PageMessage layout;
};

// `keep` keeps `bytes`. The pages are in row order; their lengths add up to a sane number of rows.
Result<std::vector<StoredPage>> ParseColumnMessage(std::string_view bytes, const FileBounds& file,
                                                   const std::shared_ptr<const void>& keep);

}  // namespace pilum
