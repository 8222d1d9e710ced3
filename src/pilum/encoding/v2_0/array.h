// The values of one page of a 2.0 column: a tree of nodes, one an encoding, made and checked when the file is opened,
// and the reads of some of its values. For the other files of this folder. Nodes are immutable (apart from the
// dictionary's cache, which has a lock) and thread-safe; a read belongs to one thread and must not outlive its node.
// No I/O: reads say which bytes they need, in rounds. Bytes are never trusted.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/row_set.h"
#include "pilum/encoding/codec/codec.h"
#include "pilum/encoding/rep_def.h"
#include "pilum/encoding/stop_check.h"
#include "pilum/encoding/v2_0/descriptor.h"
#include "pilum/encoding/v2_0/plain_cache.h"

namespace pilum::v2_0 {

// The values of a read, before they get an Arrow type.
struct Values {
  codec::DataBlock block;
  Validity validity;                         // of block.count slots
  bool all_null = false;                     // then only block.count counts
  std::shared_ptr<arrow::Array> dictionary;  // where the column's type is a dictionary: block holds the keys
};

// What a read decodes with.
struct Work {
  arrow::MemoryPool* pool = nullptr;
  StopCheck* stop = nullptr;  // null: nobody can stop it

  Status After(uint64_t bytes) const { return stop ? stop->After(bytes) : Status::OK(); }
};

class ArrayRead {
 public:
  virtual ~ArrayRead() = default;
  // As PageRead::Next: takes the bytes asked for last (none at first), gives the ranges wanted next, or none: ready.
  virtual Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) = 0;
  // Once: one slot a row of the read.
  virtual Result<Values> Finish(const Work& work) = 0;
};

class ArrayNode {
 public:
  explicit ArrayNode(uint64_t count) : count_(count) {}
  virtual ~ArrayNode() = default;
  uint64_t count() const { return count_; }
  // `rows`: not empty, below count().
  virtual std::unique_ptr<ArrayRead> StartRead(RowSet rows) const = 0;
  // Arrow bytes of all values, guessed from metadata alone.
  virtual uint64_t estimated_bytes() const = 0;
  virtual uint64_t cached_bytes() const { return 0; }

 private:
  uint64_t count_;
};
using NodePtr = std::unique_ptr<const ArrayNode>;

struct NodeContext {
  const std::vector<ByteRange>* buffers = nullptr;  // of the page; each lies within the file
  uint64_t max_free_values = 0;                     // that may be claimed without a stored byte
  uint64_t file_size = 0;
  std::shared_ptr<PlainCache> cache;  // null: nothing is kept
};

// `n` values of `type` (a leaf of the schema), stored as `desc` says; kCorrupt or kUnsupported where they do not fit.
Result<NodePtr> MakeNode(const ArrayDesc& desc, const NodeContext& context, uint64_t n,
                         const std::shared_ptr<arrow::DataType>& type);
// (position, size) rows and the payloads they point at.
// `places`: struct<position, size> in place of the payloads.
Result<NodePtr> MakeBlobNode(const ArrayDesc& desc, const NodeContext& context, uint64_t n, bool places);
// Fixed-width values (flat or bit-packed, without nulls) of `bits` bits; 0: 8, 16, 32 or 64, whichever is stored.
Result<NodePtr> MakeFixedNode(const ArrayDesc& desc, const NodeContext& context, uint64_t n, uint64_t bits);
// Row-major rows of `type`, a struct of fixed-width fields.
Result<NodePtr> MakePackedStructNode(const ArrayDesc& desc, const NodeContext& context, uint64_t n,
                                     const arrow::DataType& type);
// Values of byte_width bytes, as strings or fixed-size binary.
Result<NodePtr> MakeFixedSizeBinaryNode(const ArrayDesc& desc, const NodeContext& context, uint64_t n,
                                        const arrow::DataType& type);
// binary and fsst.
Result<NodePtr> MakeBinaryNode(const ArrayDesc& desc, const NodeContext& context, uint64_t n,
                               const arrow::DataType& type);
Result<NodePtr> MakeDictionaryNode(const ArrayDesc& desc, const NodeContext& context, uint64_t n,
                                   const std::shared_ptr<arrow::DataType>& type);

// The values as an array of `type`.
Result<std::shared_ptr<arrow::ArrayData>> ToArrayData(Values values, const std::shared_ptr<arrow::DataType>& type,
                                                      arrow::MemoryPool* pool);
// Under nullables that say that none is null.
const ArrayDesc& WithoutNullable(const ArrayDesc& desc);
Result<ByteRange> BufferOf(const ArrayDesc& desc, const NodeContext& context);
// A buffer that is compressed as a whole. Reads look in the cache first, and fetch the bytes where it has none.
struct Compressed {
  Compression scheme = Compression::kNone;
  ByteRange stored;
  std::shared_ptr<PlainCache> cache;

  explicit operator bool() const { return scheme != Compression::kNone; }
  BufferPtr Cached() const { return cache ? cache->Find(stored) : nullptr; }
  // `fetched`: its bytes. kCorrupt unless they hold `least` to `most` bytes.
  Result<BufferPtr> Decompress(const std::vector<BufferPtr>& fetched, uint64_t least, uint64_t most,
                               const Work& work) const;
};
// 8- to 64-bit values, widened.
Result<std::vector<uint64_t>> ToUint64(const codec::DataBlock& block);

// Several reads advancing together.
class ReadGroup {
 public:
  void Add(std::unique_ptr<ArrayRead> read) { reads_.push_back({std::move(read), 0}); }
  // `failed`: which read the error is from.
  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched, size_t* failed = nullptr);
  size_t size() const { return reads_.size(); }
  ArrayRead& operator[](size_t i) { return *reads_[i].read; }
  void Clear() { *this = ReadGroup(); }

 private:
  struct Entry {
    std::unique_ptr<ArrayRead> read;
    size_t num_ranges = 0;  // that it waits for
  };
  std::vector<Entry> reads_;
  bool started_ = false;
};

// What end offsets (no leading 0) say about some rows: of a list's items or a binary's bytes.
struct Extents {
  std::vector<uint64_t> lengths;  // one a row
  std::vector<bool> valid;
  uint64_t null_count = 0, total = 0;
  std::vector<RowRange> ranges;  // of the items, ascending, each row's behind the last one's; none is empty

  // Appends `rows`. `ends`: of WithPredecessors(rows). Offsets from `adjustment` (if not 0) on mean null; none may pass
  // `limit`. `base` is added to the ranges.
  Status Append(const std::vector<uint64_t>& ends, const RowSet& rows, uint64_t adjustment, uint64_t limit,
                uint64_t base);
  // rows + 1 offsets from 0. kMemory where 32 bits do not reach.
  Result<BufferPtr> Offsets(bool wide, arrow::MemoryPool* pool) const;
  Result<Validity> MakeValidity(arrow::MemoryPool* pool) const;
};
// `rows` and for each the one before it.
RowSet WithPredecessors(const RowSet& rows);

}  // namespace pilum::v2_0
