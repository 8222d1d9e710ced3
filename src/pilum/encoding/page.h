// Reading pages (2.1, 2.2; those of 2.0 are made by v2_0/columns.h): plan, fetch, decode, in rounds. A Page is one page
// of one leaf column of an open file and is shared by all reads of it; a PageRead is one read of some of its rows. No
// I/O happens here: the caller fetches the ranges that Next() asks for, for all pages of a batch together, so that a
// batch costs few round trips. Format: docs/formats/lance_file.md. Bytes are never trusted: every error is kCorrupt,
// without the file's name (the caller adds it), with the column, page and place.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/context.h"
#include "pilum/base/row_set.h"
#include "pilum/encoding/descriptor.h"
#include "pilum/encoding/shape.h"

namespace pilum {

// One read of one page. Not thread-safe; several may run at once on one Page.
class PageRead {
 public:
  virtual ~PageRead() = default;
  // `fetched`: the bytes of the ranges the previous call returned, in order (empty on the first call). Returns the next
  // ranges (absolute in the file), or none: ready to Decode. At most 3 rounds (prelude, index, values); blobs 4;
  // version 2.0 one more a list.
  virtual Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) = 0;
  // Arrow array of type PathField(column)->type() with one slot a requested row, in ascending row order. Validated:
  // safe for any Arrow kernel (full validation holds, apart from UTF-8 and the value ranges of decimals, dates and
  // times). Counts decoded values into ctx.stats under the column's name.
  virtual Result<std::shared_ptr<arrow::Array>> Decode(ReadContext& ctx) = 0;
  // Takes up `next`, a read of the same leaf further down that has its bytes and outlives this one's Decode, which then
  // gives the rows of both: they need not be put together by a copy. False: these two pages do not go together.
  virtual bool TakeUp(PageRead* /*next*/) { return false; }
  // After Decode: are its strings known to be UTF-8, so that the caller need not look?
  virtual bool utf8_checked() const { return false; }
};

// The bytes of a page's layout message, and what keeps them.
struct PageMessage {
  std::string_view bytes;
  std::shared_ptr<const void> keep;
};

// A page as its column lists it: PageInfo without the layout, which is large.
struct PageHead {
  std::vector<ByteRange> buffers;
  uint64_t length = 0;
  uint64_t priority = 0;
  std::shared_ptr<const v2_0::ArrayDesc> array;
  PageInfo ToInfo() && { return {std::move(buffers), length, priority, {}, std::move(array)}; }
};

// One page. Immutable apart from its prelude cache (chunk table, dictionary, repetition index, symbol table), which is
// built once, under a lock, by the first read that needs it. Thread-safe.
class Page {
 public:
  virtual ~Page() = default;
  // `column` must outlive the page. `index` is the page's number in its column, for messages. `file_size` bounds
  // ranges.
  static Result<std::unique_ptr<Page>> Make(PageInfo info, const LeafColumn* column, int index, FileVersion version,
                                            uint64_t file_size);
  // The same, but where it is safe the layout is parsed and checked at the first use: what is wrong in it is then an
  // error of every read.
  static Result<std::unique_ptr<Page>> MakeLazily(PageHead head, PageMessage message, const LeafColumn* column,
                                                  int index, FileVersion version, uint64_t file_size);
  // Is the layout right? Parses it.
  virtual Status status() const { return Status::OK(); }
  // The page itself, for who looks at its kind; one whose status() is an error gives a page that only fails.
  virtual const Page& parsed() const { return *this; }
  // `rows`: non-empty, below num_rows().
  virtual std::unique_ptr<PageRead> StartRead(RowSet rows) const = 0;
  // Arrow bytes of one row, guessed from metadata alone; 0: to be judged by info().
  virtual uint64_t estimated_row_bytes() const { return 0; }
  virtual uint64_t num_rows() const = 0;  // top-level rows: length / column.items_per_row()
  virtual const PageInfo& info() const = 0;
  // Where in the file reads of it ask for bytes, but for payloads of blobs; below lists of 2.0 roughly. From metadata
  // alone, nothing parsed.
  virtual std::vector<ByteRange> stored_ranges() const { return info().buffers; }
  // Bytes held by the prelude cache now.
  virtual uint64_t cached_bytes() const = 0;
};

// The parts of a page read share: arrays of the leaves of one top-level field (same rows, each of its PathField type)
// merged into one array of `field`'s type. Ancestors' validity and offsets come from the first; lengths and offsets of
// the others must agree, else kCorrupt. `leaves` in column order; `field` holds exactly these leaves.
Result<std::shared_ptr<arrow::Array>> MergeLeaves(const std::shared_ptr<arrow::Field>& field,
                                                  const std::vector<std::shared_ptr<arrow::Array>>& leaves,
                                                  arrow::MemoryPool* pool);

}  // namespace pilum
