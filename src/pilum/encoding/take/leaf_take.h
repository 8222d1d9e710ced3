// Takes by address: single values of single rows, without decoding the chunks around them. A LeafTaker is one leaf column
// of an open file, shared by all takes of it; a LeafTake is one take of some rows of it, in any order, repeats allowed.
// Called by file/take.cc, which brings the bytes: mapped ones are read where they lie, others are fetched in rounds.
// Whatever is not addressable (CanTake) is read through page.h. Bytes are never trusted and may change while they are
// read: each number is loaded once, checked, and used from there. Errors name column and page, not the file.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/context.h"
#include "pilum/encoding/page.h"
#include "pilum/encoding/rep_def.h"
#include "pilum/encoding/take/page_taker.h"

namespace pilum {

// Immutable apart from what it builds for each page at its first use. Thread-safe.
class LeafTaker {
 public:
  // `pages` and `first_row` (of each page, and last the number of rows) are those of `column`; all must outlive it.
  // Null where the column's shape is not addressable (fixed-size lists of structs, blobs, packed structs, null).
  static Result<std::unique_ptr<const LeafTaker>> Make(const LeafColumn* column,
                                                       std::span<const std::unique_ptr<Page>> pages,
                                                       std::span<const uint64_t> first_row);
  const LeafColumn& column() const { return *column_; }
  const LevelPlan& plan() const { return plan_; }
  size_t PageOf(uint64_t row) const;
  std::span<const uint64_t> first_row() const { return first_row_; }
  // Null: this page is not addressable.
  const take::PageTaker* Page(size_t page) const;

 private:
  LeafTaker() = default;
  const LeafColumn* column_ = nullptr;
  LevelPlan plan_;  // with every level that any page could have
  std::span<const std::unique_ptr<pilum::Page>> pages_;
  std::span<const uint64_t> first_row_;
  struct Built {
    std::atomic<bool> ready{false};
    std::unique_ptr<const take::PageTaker> taker;
  };
  mutable std::mutex mutex_;
  std::unique_ptr<Built[]> built_;
};

// One take, in this order: Begin; then AskPreludes, AskIndex and AskData, each followed by its Give with the bytes of the
// ranges it added; then Finish. With `map` (all bytes of the file) AskIndex and AskData need no Give: what they add will be
// read where it lies, and `ranges` may be null. Not thread-safe; may begin again.
class LeafTake {
 public:
  // False: a page of these rows is not addressable.
  bool Begin(const LeafTaker* leaf, std::span<const uint64_t> rows, const uint8_t* map);
  const LeafColumn& column() const { return leaf_->column(); }
  bool mapped() const { return map_ != nullptr; }
  void AskPreludes(std::vector<ByteRange>* ranges);
  Status GivePreludes(std::span<const BufferPtr> fetched);
  void AskIndex(std::vector<ByteRange>* ranges);
  Status GiveIndex(std::span<const BufferPtr> fetched);
  Status AskData(std::vector<ByteRange>* ranges);
  Status GiveData(std::span<const BufferPtr> fetched);
  // One entry a row, in their order, of type PathField(column)->type(). Counts decoded values; with `map`, also the
  // ranges that were read (io/byte_source.h, Mapped). `most_bytes`: kMemory where the take would hold more beside the
  // context's pool.
  Result<std::shared_ptr<arrow::Array>> Finish(ReadContext& ctx, uint64_t most_bytes = UINT64_MAX);

 private:
  struct Run {  // rows [begin, end) of the take lie in one page
    size_t page, begin, end;
    const take::PageTaker* taker;
    size_t first_cell = 0;
  };
  Status InPage(const Run& run, const Status& status) const;
  void Count(ByteRange range);
  Status ReadCells(StopCheck* stop);
  Status AddValues(const Run& run, std::span<const take::Cell> cells, take::ValueOut* out, StopCheck* stop);
  Result<codec::DataBlock> ReadValues(arrow::MemoryPool* pool, StopCheck* stop);
  Result<std::shared_ptr<arrow::ArrayData>> MakeLeafArray(const Levels& levels, arrow::MemoryPool* pool,
                                                          StopCheck* stop);

  const LeafTaker* leaf_ = nullptr;
  const uint8_t* map_ = nullptr;
  std::vector<Run> runs_;
  std::vector<take::Place> places_, index_;
  std::vector<const take::PageTaker*> asked_;  // for their preludes, and how many ranges each
  std::vector<size_t> num_asked_;
  std::vector<BufferPtr> held_;
  take::Cells cells_;
  ByteRange last_;
  uint64_t requests_ = 0, bytes_ = 0, most_bytes_ = UINT64_MAX;
};

}  // namespace pilum
