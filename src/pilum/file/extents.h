// Which stretches of a remote file a read fetches whole, though its rounds ask for pieces of them: planned from metadata
// alone. Called by take.cc and scan.cc; extent_cache.h fetches them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pilum/base/row_set.h"
#include "pilum/file/unit.h"

namespace pilum {

// A page, a piece of one, or several that share bytes.
struct Extent {
  ByteRange range;
  RowRange rows;  // of the file, that its bytes are for: all of the page's, as tables may lie anywhere in it
  uint64_t expected_row = 0;  // the first that will need it, going by where in the page it lies
  size_t leaf = 0, page = 0;  // whose it is, for errors
};

// For a take of `rows`: pages of several buffers, of which nothing is known yet, up to ReadCost::reach bytes, the
// smallest first, ReadCost::spare bytes in all. Each saves a round trip. By offset, disjoint.
std::vector<Extent> SmallPages(const OpenFile& file, std::span<const int> leaves, const RowSet& rows);

// For a scan of `rows`: every page of which a good part is wanted, in pieces such that two of each leaf take at most
// `room` bytes together; and the small ones of the others. By offset, disjoint.
std::vector<Extent> ScanExtents(const OpenFile& file, std::span<const int> leaves, const RowSet& rows, uint64_t room);

}  // namespace pilum
