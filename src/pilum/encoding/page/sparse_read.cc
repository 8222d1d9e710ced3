// One read of a sparse page: from the rows down to the leaf's slots, layer by layer; their values are read as a page of
// its own, and wrapped again.
#include <algorithm>
#include <cstring>

#include <arrow/array/array_primitive.h>
#include <arrow/array/concatenate.h>
#include <arrow/util/bit_util.h>

#include "pilum/encoding/page/sparse_page.h"

namespace pilum::sparse {

using codec::BadBytes;

namespace {

using Data = std::shared_ptr<arrow::ArrayData>;
using Kind = SparseLayer::Kind;

class SparseRead : public PageRead {
 public:
  SparseRead(const SparsePage& page, RowSet rows) : page_(page), rows_(std::move(rows)) {}

  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) override { return page_.InPage(Round(fetched)); }
  Result<std::shared_ptr<arrow::Array>> Decode(ReadContext& ctx) override { return page_.InPage(DecodeRows(ctx)); }

 private:
  // What a read wants of a layer.
  struct Step {
    RowSet slots;
    std::vector<uint64_t> lengths;  // lists
  };

  Result<std::vector<ByteRange>> Round(std::vector<BufferPtr>& fetched) {
    if (!structure_ && !(structure_ = page_.structure())) {
      if (!asked_ && !page_.structure_ranges().empty()) {
        asked_ = true;
        return page_.structure_ranges();
      }
      PILUM_ASSIGN_OR_RETURN(structure_, page_.ParseStructure(fetched));
    }
    if (steps_.empty()) {
      PILUM_RETURN_NOT_OK(Walk());
      fetched.clear();
    }
    if (!read_) return std::vector<ByteRange>{};
    return read_->Next(std::move(fetched));
  }

  // Down to the leaf; then the read of its values, if any of its slots has one.
  Status Walk() {
    RowSet slots = rows_;
    const auto& layers = page_.layout().sparse;
    for (size_t i = 0; i < layers.size(); ++i) {
      Step step;
      step.slots = slots;
      if (layers[i].kind == Kind::kList) {
        PILUM_ASSIGN_OR_RETURN(slots, ItemsOf(structure_->layers[i], &step));
      } else if (layers[i].kind == Kind::kFixedSizeList) {
        RowSet items;
        for (const RowRange& r : slots.ranges())
          items.Append(r.begin * layers[i].dimension, r.end * layers[i].dimension);
        slots = std::move(items);
      }
      steps_.push_back(std::move(step));
    }
    RowSet wanted = slots;
    if (page_.values_of_valid_only()) wanted = ValidRanks(slots);
    if (page_.indexed()) wanted = ItemsAt(slots);
    if (page_.values() && !wanted.empty()) read_ = page_.values()->StartRead(std::move(wanted));
    return Status::OK();
  }

  static Result<RowSet> ItemsOf(const Layer& layer, Step* step) {
    PILUM_RETURN_NOT_OK(codec::CheckOutput(step->slots.size(), 64));
    step->lengths.assign(step->slots.size(), 0);
    RowSet items;
    uint64_t out = 0;
    for (const RowRange& r : step->slots.ranges()) {
      const uint64_t first = layer.non_empty.LowerBound(r.begin);
      uint64_t i = first;
      for (; i < layer.non_empty.size() && layer.non_empty[i] < r.end; ++i) {
        step->lengths[out + layer.non_empty[i] - r.begin] = layer.counts[i];
      }
      const uint64_t begin = layer.ItemsBefore(first), end = layer.ItemsBefore(i);
      if (end > begin) items.Append(begin, end);
      out += r.size();
    }
    return items;
  }

  // The numbers of these slots of the leaf among its valid ones.
  RowSet ValidRanks(const RowSet& slots) const {
    const Numbers& named = structure_->leaf().validity;
    const auto& hidden = structure_->leaf().hidden;
    const bool valid = page_.layout().sparse.back().names_valid;
    auto rank = [&](uint64_t slot) {
      const uint64_t before = named.LowerBound(slot);
      const auto without = std::lower_bound(hidden.begin(), hidden.end(), slot) - hidden.begin();
      return (valid ? before : slot - before) - static_cast<uint64_t>(without);
    };
    RowSet out;
    for (const RowRange& r : slots.ranges()) {
      const RowRange ranks{rank(r.begin), rank(r.end)};
      if (ranks.end > ranks.begin) out.Append(ranks.begin, ranks.end);
    }
    return out;
  }

  Result<Validity> ValidityOf(size_t i, arrow::MemoryPool* pool) const {
    const Numbers& named = structure_->layers[i].validity;
    const bool names_valid = page_.layout().sparse[i].names_valid;
    Validity v;
    v.count = steps_[i].slots.size();
    if (named.size() == 0 && !names_valid) return v;
    PILUM_ASSIGN_OR_RETURN(auto bits, codec::Allocate((v.count + 7) / 8, pool));
    std::memset(bits->mutable_data(), names_valid ? 0 : 0xFF, static_cast<size_t>(bits->size()));
    uint64_t out = 0, hits = 0;
    for (const RowRange& r : steps_[i].slots.ranges()) {
      for (uint64_t k = named.LowerBound(r.begin); k < named.size() && named[k] < r.end; ++k, ++hits) {
        arrow::bit_util::SetBitTo(bits->mutable_data(), static_cast<int64_t>(out + named[k] - r.begin), names_valid);
      }
      out += r.size();
    }
    v.null_count = static_cast<int64_t>(names_valid ? v.count - hits : hits);
    if (v.null_count > 0) v.bitmap = std::move(bits);
    return v;
  }

  Result<std::shared_ptr<arrow::Array>> DecodeRows(ReadContext& ctx) {
    arrow::MemoryPool* pool = ctx.memory_pool();
    PILUM_ASSIGN_OR_RETURN(Data data, Leaf(ctx));
    for (size_t i = steps_.size() - 1; i-- > 0;) {
      PILUM_ASSIGN_OR_RETURN(data, Wrap(i, std::move(data), pool));
    }
    if (static_cast<uint64_t>(data->length) != rows_.size())
      return BadBytes("{} rows, not {}", data->length, rows_.size());
    return arrow::MakeArray(data);
  }

  Result<Data> Leaf(ReadContext& ctx) {
    arrow::MemoryPool* pool = ctx.memory_pool();
    const size_t last = steps_.size() - 1;
    PILUM_ASSIGN_OR_RETURN(Validity v, ValidityOf(last, pool));
    if (!structure_->leaf().hidden.empty()) PILUM_RETURN_NOT_OK(Hide(&v, pool));
    if (!read_) return MakeNulls(page_.leaf_type(), v.count, pool);
    PILUM_ASSIGN_OR_RETURN(auto values, read_->Decode(ctx));
    Data data = values->data();
    if (page_.indexed()) {
      PILUM_ASSIGN_OR_RETURN(data, GatherItems(*values, pool));
    }
    if (page_.values_of_valid_only() && v.null_count > 0) return Spread(*values, v, pool);
    if (static_cast<uint64_t>(data->length) != v.count) return BadBytes("{} values of {} slots", data->length, v.count);
    if (v.null_count == 0) return data;
    if (data->null_count != 0 && data->buffers[0]) return BadBytes("values with nulls of their own");
    data = data->Copy();
    if (data->offset != 0) return BadBytes("values that do not begin at 0");
    if (!data->buffers.empty()) data->buffers[0] = v.bitmap;
    data->null_count = v.null_count;
    return data;
  }

  // Slots that have no value are null.
  Status Hide(Validity* v, arrow::MemoryPool* pool) const {
    const auto& hidden = structure_->leaf().hidden;
    if (!v->bitmap) {
      PILUM_ASSIGN_OR_RETURN(auto bits, codec::Allocate((v->count + 7) / 8, pool));
      std::memset(bits->mutable_data(), 0xFF, static_cast<size_t>(bits->size()));
      v->bitmap = std::move(bits);
    }
    uint64_t out = 0;
    for (const RowRange& r : steps_.back().slots.ranges()) {
      for (auto at = std::lower_bound(hidden.begin(), hidden.end(), r.begin); at != hidden.end() && *at < r.end; ++at) {
        arrow::bit_util::ClearBit(const_cast<uint8_t*>(v->bitmap->data()), static_cast<int64_t>(out + *at - r.begin));
        ++v->null_count;
      }
      out += r.size();
    }
    if (v->null_count == 0) v->bitmap = nullptr;
    return Status::OK();
  }

  // Which values these slots have.
  RowSet ItemsAt(const RowSet& slots) {
    std::vector<uint64_t> items;
    for (const RowRange& r : slots.ranges()) {
      for (uint64_t i = r.begin; i < r.end; ++i) items.push_back(structure_->indices[i]);
    }
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
    items_ = std::move(items);
    return RowSet::FromSorted(items_);
  }

  // `items`: the values of items_. One for each slot, as the indices say.
  Result<Data> GatherItems(const arrow::Array& items, arrow::MemoryPool* pool) const {
    if (static_cast<uint64_t>(items.length()) != items_.size())
      return BadBytes("{} values, not {}", items.length(), items_.size());
    arrow::ArrayVector pieces;
    for (const RowRange& r : steps_.back().slots.ranges()) {
      for (uint64_t i = r.begin; i < r.end; ++i) {
        const auto at = std::lower_bound(items_.begin(), items_.end(), structure_->indices[i]) - items_.begin();
        pieces.push_back(items.Slice(at, 1));
      }
    }
    auto all = arrow::Concatenate(pieces, pool);
    if (!all.ok() && !all.status().IsOutOfMemory()) {  // 32-bit offsets do not reach
      return MakeError(ErrorKind::kMemory,
                       fmt::format("{} values cannot be put together: {}; read fewer rows at a time", pieces.size(),
                                   all.status().message()));
    }
    PILUM_RETURN_NOT_OK(all.status());
    return (*all)->data();
  }

  // Values of the valid slots, with nulls between them.
  Result<Data> Spread(const arrow::Array& values, const Validity& v, arrow::MemoryPool* pool) const {
    arrow::ArrayVector pieces;
    int64_t at = 0;
    const auto n = static_cast<int64_t>(v.count);
    const uint8_t* bits = v.bitmap->data();
    for (int64_t i = 0; i < n;) {
      const bool valid = arrow::bit_util::GetBit(bits, i);
      int64_t end = i;
      while (end < n && arrow::bit_util::GetBit(bits, end) == valid) ++end;
      if (valid) {
        if (end - i > values.length() - at) return BadBytes("fewer values than valid slots");
        pieces.push_back(values.Slice(at, end - i));
        at += end - i;
      } else {
        PILUM_ASSIGN_OR_RETURN(Data nulls, MakeNulls(page_.leaf_type(), static_cast<uint64_t>(end - i), pool));
        pieces.push_back(arrow::MakeArray(nulls));
      }
      i = end;
    }
    PILUM_ASSIGN_OR_RETURN(auto joined, arrow::Concatenate(pieces, pool));
    return joined->data();
  }

  Result<Data> Wrap(size_t i, Data child, arrow::MemoryPool* pool) const {
    const LevelLayer& shape = page_.plan().layers[steps_.size() - 1 - i];
    PILUM_ASSIGN_OR_RETURN(Validity v, ValidityOf(i, pool));
    const auto count = static_cast<int64_t>(v.count);
    if (shape.kind != LevelLayer::Kind::kList)
      return arrow::ArrayData::Make(shape.type, count, {v.bitmap}, {std::move(child)}, v.null_count);
    const bool wide = shape.type->id() == arrow::Type::LARGE_LIST;
    if (!wide && child->length > INT32_MAX) {
      return MakeError(ErrorKind::kMemory, fmt::format("{} rows hold {} items, more than 32-bit offsets reach; read "
                                                       "fewer rows at a time",
                                                       count, child->length));
    }
    PILUM_ASSIGN_OR_RETURN(auto offsets, codec::Allocate((v.count + 1) * (wide ? 8 : 4), pool));
    uint64_t at = 0;
    for (uint64_t k = 0; k <= v.count; ++k) {
      std::memcpy(offsets->mutable_data() + k * (wide ? 8 : 4), &at, wide ? 8 : 4);
      if (k < v.count) at += steps_[i].lengths[k];
    }
    if (at != static_cast<uint64_t>(child->length)) return BadBytes("{} items in lists of {}", child->length, at);
    return arrow::ArrayData::Make(shape.type, count, {v.bitmap, std::move(offsets)}, {std::move(child)}, v.null_count);
  }

  const SparsePage& page_;
  const RowSet rows_;
  bool asked_ = false;
  std::shared_ptr<const Structure> structure_;
  std::vector<Step> steps_;         // outermost first; the last is the leaf's
  std::vector<uint64_t> items_;     // indexed: the values they have, each once
  std::unique_ptr<PageRead> read_;  // of the leaf's values; null: none is wanted or there are none
};

}  // namespace

std::unique_ptr<PageRead> SparsePage::StartRead(RowSet rows) const {
  return std::make_unique<SparseRead>(*this, std::move(rows));
}

}  // namespace pilum::sparse
