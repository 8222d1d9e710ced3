// A unit: the rows that are fetched and decoded together, of every column of a read. Called by scan.cc and
// file_reader.cc. All calls are thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/context.h"
#include "pilum/base/row_set.h"
#include "pilum/encoding/page.h"
#include "pilum/encoding/shape.h"
#include "pilum/encoding/v2_0/columns.h"
#include "pilum/file/checksums.h"
#include "pilum/file/projection.h"
#include "pilum/io/byte_source.h"

namespace pilum {

class ExtentCache;

struct OpenColumn {
  std::vector<std::unique_ptr<Page>> pages;
  std::vector<uint64_t> first_row;  // of each page, and last the number of rows
  // Pages that hold a row of [begin, end): numbers [first, last).
  std::pair<size_t, size_t> PagesOf(uint64_t begin, uint64_t end) const;
};

// What an open file knows; immutable, shared by the reader and its streams.
struct OpenFile {
  explicit OpenFile(std::shared_ptr<const FileShape> of)
      : shape(std::move(of)), schema(shape->schema()), leaves(shape->leaves()) {}

  std::shared_ptr<const ByteSource> source;
  const std::shared_ptr<const FileShape> shape;
  const std::shared_ptr<arrow::Schema>& schema;  // of the shape
  const std::vector<LeafColumn>& leaves;
  std::vector<OpenColumn> columns;                                // one a leaf
  std::vector<std::shared_ptr<const v2_0::StoredColumn>> stored;  // version 2.0, where they are not just the leaves
  uint64_t num_rows = 0;
  mutable std::mutex begin_reads;              // held while the reads of a unit begin: see encoding/page/fetch_once.h
  std::unique_ptr<const Checksums> checksums;  // null: the file has none, or they are not looked at

  // Ranges of the file, verified where `ctx` says so. `place(i)`: what range i is, for errors.
  Result<std::vector<BufferPtr>> ReadRanges(std::span<const ByteRange> ranges,
                                            const std::function<std::string(size_t)>& place, ReadContext& ctx) const;
  std::string PlaceOf(size_t leaf, size_t page) const;  // "column 'a' page 3 (rows 10 to 19)"
};

// One page of one leaf, for the rows of a unit.
struct PagePart {
  std::unique_ptr<PageRead> read;
  size_t leaf = 0, page = 0;  // their numbers
  size_t num_ranges = 0;      // that it waits for
};

struct DecodedUnit {
  RowSet rows;
  std::vector<std::shared_ptr<arrow::Array>> arrays;  // one a ReadField, rows.size() long
  uint64_t bytes = 0;                                 // as ArrowBytes
};

// `rows` (not empty) of every field, step by step. Making one only begins the reads of its pages, which settles which
// of several units fetches what they share: made in the order of their rows, they ask for the same ranges whatever
// threads run them. Fetch waits only for units made before it.
class UnitRead {
 public:
  UnitRead(const OpenFile& file, const Projection& projection, RowSet rows);
  const RowSet& rows() const { return rows_; }
  // Each once, in this order. All pages advance together: one ReadRanges a round, through `extents` where there are any
  // (null: of the file).
  Status Fetch(ExtentCache* extents, ReadContext& ctx);
  Result<DecodedUnit> Decode(ReadContext& ctx);

 private:
  void Start(size_t leaf);
  Result<std::shared_ptr<arrow::Array>> DecodeLeaf(size_t num_parts, ReadContext& ctx);
  Status CheckPagesUtf8(const arrow::Array& array, std::span<const PagePart> parts) const;
  Result<std::shared_ptr<arrow::Array>> DecodeField(const ReadField& field, ReadContext& ctx);

  const OpenFile& file_;
  const Projection& projection_;
  RowSet rows_;
  std::vector<PagePart> parts_;
  std::vector<size_t> parts_of_leaf_;
  size_t next_part_ = 0, next_leaf_ = 0;
};

// All steps in one.
inline Result<DecodedUnit> DecodeUnit(const OpenFile& file, const Projection& projection, RowSet rows,
                                      ExtentCache* extents, ReadContext& ctx) {
  UnitRead unit(file, projection, std::move(rows));
  PILUM_RETURN_NOT_OK(unit.Fetch(extents, ctx));
  return unit.Decode(ctx);
}

// The rows (of the page) of one page of one leaf, as its PathField.
Result<std::shared_ptr<arrow::Array>> DecodePage(const OpenFile& file, size_t leaf, size_t page, RowSet rows,
                                                 ReadContext& ctx);

// Arrow bytes that a row of page `page` of leaf `leaf` will take, guessed from metadata alone; at least 1.
uint64_t EstimateRowBytes(const OpenFile& file, size_t leaf, size_t page);

// Bytes of all buffers under `array`, without those of dictionaries, which units of one page share.
uint64_t ArrowBytes(const arrow::Array& array);

}  // namespace pilum
