// Sparse pages (version 2.3): the page, and its structure once it is read. sparse_page.cc holds the page,
// sparse_read.cc the reads.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "pilum/encoding/codec/numbers.h"
#include "pilum/encoding/page/page_base.h"

namespace pilum::sparse {

using codec::Numbers;

// A layer of a page, decoded and checked.
struct Layer {
  Numbers validity, non_empty, counts;
  std::vector<uint64_t> prefix;  // items before each non-empty list, where their counts are stored
  std::vector<uint64_t> hidden;  // leaf: valid slots inside of a null, which have no stored value; ascending
  uint64_t slots = 0;            // of this layer

  // Items of the first i non-empty lists.
  uint64_t ItemsBefore(uint64_t i) const {
    if (!prefix.empty() || i == 0) return i == 0 ? 0 : prefix[i - 1];
    const uint64_t first = counts[0], step = i > 1 ? counts[1] - counts[0] : 0;  // constant, or a range
    return i * first + step * (i * (i - 1) / 2);
  }
  uint64_t bytes() const {
    return validity.stored_bytes() + non_empty.stored_bytes() + counts.stored_bytes() +
           (prefix.size() + hidden.size()) * 8;
  }
};
struct Structure {
  std::vector<Layer> layers;  // outermost first
  Numbers indices;            // one a slot of the leaf, where its values are indexed
  const Layer& leaf() const { return layers.back(); }
};

class SparsePage : public PageBase {
 public:
  using PageBase::PageBase;

  Status Init();
  std::unique_ptr<PageRead> StartRead(RowSet rows) const override;
  uint64_t cached_bytes() const override {
    uint64_t n = values_ ? values_->cached_bytes() : 0;
    std::lock_guard lock(mutex_);
    if (structure_) {
      for (const Layer& l : structure_->layers) n += l.bytes();
      n += structure_->indices.stored_bytes();
    }
    return n;
  }
  uint64_t estimated_row_bytes() const override;

  const Page* values() const { return values_.get(); }
  bool values_of_valid_only() const {
    return values_ && layout().inner->kind == LayoutKind::kFullZip && !layout().indices;
  }
  bool indexed() const { return layout().indices.has_value(); }
  const std::vector<ByteRange>& structure_ranges() const { return structure_ranges_; }
  std::shared_ptr<const Structure> structure() const {
    std::lock_guard lock(mutex_);
    return structure_;
  }
  Result<std::shared_ptr<const Structure>> ParseStructure(const std::vector<BufferPtr>& fetched) const;

 private:
  Status CountSlots();
  Status MakeValues();
  Status FindHidden(Structure* structure) const;
  Status ReadIndices(const std::vector<BufferPtr>& fetched, Numbers* out) const;

  LeafColumn leaf_;               // the column without what is around its leaf
  std::unique_ptr<Page> values_;  // null: none of the slots has a value
  std::vector<uint64_t> slots_;   // of each layer, and last of the leaf
  std::vector<ByteRange> structure_ranges_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Structure> structure_;
};

}  // namespace pilum::sparse
