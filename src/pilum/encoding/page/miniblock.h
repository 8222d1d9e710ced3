// Mini-block pages: many small chunks, each holding the levels and value buffers of a power of two of values. A read
// fetches the chunks that its rows touch, found by arithmetic, or with lists by the repetition index.
// miniblock.cc holds the page and its prelude, miniblock_read.cc the reads.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "pilum/encoding/dictionary_keys.h"
#include "pilum/encoding/page/fetch_once.h"
#include "pilum/encoding/page/page_base.h"

namespace pilum::miniblock {

constexpr uint64_t kMaxChunkValues = 1 << 15;
constexpr uint64_t kMaxChunkEvents = UINT16_MAX;
constexpr uint64_t kMaxValueBuffers = 16;
constexpr uint64_t kSmallData = 32 * 1024;  // a page of this size is fetched whole, in the first round

// Chunk i: bytes [offset[i], offset[i + 1]) of the data buffer, values [value[i], value[i + 1]).
struct ChunkTable {
  ChunkTable() = default;
  explicit ChunkTable(size_t chunks)  // whoever makes it fills it in
      : numbers(std::make_unique_for_overwrite<uint64_t[]>(2 * (chunks + 1))),
        offset(numbers.get(), chunks + 1),
        value(numbers.get() + chunks + 1, chunks + 1) {}
  size_t size() const { return offset.size() - 1; }

  std::unique_ptr<uint64_t[]> numbers;
  std::span<uint64_t> offset, value;
};

// Rows that started, and that finished, before chunk c. One entry more than chunks, ascending.
struct RowIndex {
  std::vector<uint64_t> started, finished;
};

struct Prelude {
  ChunkTable chunks;
  codec::DataBlock items;                    // of a dictionary, where the column's type is plain
  LazyItemTable item_table;                  // of the same
  bool utf8 = false;                         // the dictionary was found to hold UTF-8 alone
  std::shared_ptr<arrow::Array> dictionary;  // where the column's type is a dictionary
  uint64_t bytes = 0;
};

class MiniBlockPage : public PageBase {
 public:
  using PageBase::PageBase;

  Status Check() const;

  std::unique_ptr<PageRead> StartRead(RowSet rows) const override;

  uint64_t cached_bytes() const override {
    auto prelude = prelude_.get();
    auto index = index_.get();
    return (prelude ? prelude->bytes : 0) + (index ? index->started.size() * 16 : 0);
  }

  uint64_t word_bytes() const { return layout().has_large_chunk ? 4 : 2; }
  bool has_index() const { return layout().repetition_index_depth > 0; }
  const ByteRange& index_range() const { return buffers()[layout().dictionary ? 3 : 2]; }

  std::shared_ptr<const Prelude> prelude() const { return prelude_.get(); }
  std::shared_ptr<const RowIndex> index() const { return index_.get(); }
  FetchOnce<Prelude>& prelude_once() const { return prelude_; }
  FetchOnce<RowIndex>& index_once() const { return index_; }
  // These keep what they parse.
  Result<std::shared_ptr<const Prelude>> ParsePrelude(const BufferPtr& table, const BufferPtr& dictionary) const;
  Result<std::shared_ptr<const RowIndex>> ParseIndex(const BufferPtr& bytes, size_t chunks) const;

 private:
  Result<ChunkTable> ParseTable(codec::Bytes words) const;
  template <typename Word>
  Status FillTable(codec::Bytes words, ChunkTable* t) const;

  mutable FetchOnce<Prelude> prelude_;
  mutable FetchOnce<RowIndex> index_;
};

}  // namespace pilum::miniblock
