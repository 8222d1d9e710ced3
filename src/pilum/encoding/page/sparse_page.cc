// Sparse pages (version 2.3): no levels; each layer names its null slots, and its lists that are not empty, by position.
// A read walks from the rows down to the leaf's slots, layer by layer, has their values read as a page of its own, and
// wraps them again. Nothing is allocated for the length of the page: only for the rows of a read.
#include <algorithm>
#include <cstring>

#include <arrow/array/array_primitive.h>
#include <arrow/array/concatenate.h>
#include <arrow/util/bit_util.h>

#include "pilum/base/bytes.h"
#include "pilum/encoding/codec/numbers.h"
#include "pilum/encoding/page/page_base.h"

namespace pilum {

using codec::BadBytes;
using codec::Numbers;

namespace {

using Data = std::shared_ptr<arrow::ArrayData>;
using Kind = SparseLayer::Kind;

constexpr uint64_t kMaxSlots = uint64_t{1} << 48;
constexpr uint64_t kFreeItemBytes = uint64_t{1} << 28;  // of items of lists of which no byte is stored

// A layer of a page, decoded and checked.
struct Layer {
  Numbers validity, non_empty, counts;
  std::vector<uint64_t> prefix;  // items before each non-empty list, where their counts are stored
  uint64_t slots = 0;            // of this layer

  // Items of the first i non-empty lists.
  uint64_t ItemsBefore(uint64_t i) const {
    if (!prefix.empty() || i == 0) return i == 0 ? 0 : prefix[i - 1];
    const uint64_t first = counts[0], step = i > 1 ? counts[1] - counts[0] : 0;  // constant, or a range
    return i * first + step * (i * (i - 1) / 2);
  }
  uint64_t bytes() const {
    return validity.stored_bytes() + non_empty.stored_bytes() + counts.stored_bytes() + prefix.size() * 8;
  }
};
using Structure = std::vector<Layer>;  // outermost first

class SparsePage : public PageBase {
 public:
  using PageBase::PageBase;

  Status Init();
  std::unique_ptr<PageRead> StartRead(RowSet rows) const override;
  uint64_t cached_bytes() const override {
    uint64_t n = values_ ? values_->cached_bytes() : 0;
    std::lock_guard lock(mutex_);
    if (structure_) {
      for (const Layer& l : *structure_) n += l.bytes();
    }
    return n;
  }
  uint64_t estimated_row_bytes() const override;

  const Page* values() const { return values_.get(); }
  bool values_of_valid_only() const { return values_ && layout().inner->kind == LayoutKind::kFullZip; }
  const std::vector<ByteRange>& structure_ranges() const { return structure_ranges_; }
  std::shared_ptr<const Structure> structure() const {
    std::lock_guard lock(mutex_);
    return structure_;
  }
  Result<std::shared_ptr<const Structure>> ParseStructure(const std::vector<BufferPtr>& fetched) const;

 private:
  Status CountSlots();
  Status MakeValues();

  LeafColumn leaf_;               // the column without what is around its leaf
  std::unique_ptr<Page> values_;  // null: none of the slots has a value
  std::vector<uint64_t> slots_;   // of each layer, and last of the leaf
  std::vector<ByteRange> structure_ranges_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Structure> structure_;
};

Status SparsePage::CountSlots() {
  uint64_t slots = c_.num_rows;
  const auto& layers = layout().sparse;
  for (size_t i = 0; i < layers.size(); ++i) {
    const LevelLayer& shape = plan().layers[layers.size() - 1 - i];
    slots_.push_back(slots);
    const SparseLayer& l = layers[i];
    const bool fits = l.kind == Kind::kList            ? shape.kind == LevelLayer::Kind::kList
                      : l.kind == Kind::kFixedSizeList ? shape.kind == LevelLayer::Kind::kFixedSizeList
                                                       : shape.kind == LevelLayer::Kind::kItem;
    if (!fits) return BadBytes("the page's layers are not those of the column");
    if (l.kind == Kind::kList) slots = l.num_child_slots;
    if (l.kind == Kind::kFixedSizeList) {
      if (l.dimension != static_cast<uint64_t>(shape.dimension))
        return BadBytes("lists of {} items, not {}", l.dimension, shape.dimension);
      slots = CheckedMul(slots, l.dimension).value_or(UINT64_MAX);
    }
    if (slots > kMaxSlots) return BadBytes("{} slots", slots);
    if (l.validity.count > slots_.back() || l.non_empty.count > slots_.back())
      return BadBytes("{} positions in {} slots", std::max(l.validity.count, l.non_empty.count), slots_.back());
  }
  slots_.push_back(slots);
  const bool stored = layout().inner && layout().inner->kind != LayoutKind::kConstant;
  if (!stored && plan().has_lists() && slots > kFreeItemBytes / std::max<uint64_t>(1, FixedBits(*leaf_type()) / 8))
    return BadBytes("{} items of which no byte is stored", slots);
  return Status::OK();
}

Status SparsePage::MakeValues() {
  leaf_.leaf = c_.column->leaf;
  leaf_.name = c_.column->name;
  leaf_.top_level = c_.column->top_level;
  leaf_.is_packed = c_.column->is_packed;
  leaf_.is_blob_v2 = c_.column->is_blob_v2;
  if (!layout().inner || slots_.back() == 0) return Status::OK();
  PageInfo info;
  info.layout = *layout().inner;
  uint64_t length = slots_.back();
  size_t count = 0;
  switch (info.layout.kind) {
    case LayoutKind::kMiniBlock:
      info.layout.num_items = length;
      count = info.layout.dictionary ? 3 : 2;
      break;
    case LayoutKind::kFullZip:  // of valid slots only
      length = info.layout.num_items;
      if (length > slots_.back()) return BadBytes("{} values in {} slots", length, slots_.back());
      count = info.layout.variable_width ? 2 : 1;
      break;
    default: break;
  }
  if (count > buffers().size()) return BadBytes("{} buffers, not {}", buffers().size(), count);
  info.buffers.assign(buffers().begin(), buffers().begin() + static_cast<std::ptrdiff_t>(count));
  structure_ranges_.assign(buffers().begin() + static_cast<std::ptrdiff_t>(count), buffers().end());
  info.length = length;
  PILUM_ASSIGN_OR_RETURN(values_, Page::Make(std::move(info), &leaf_, c_.index, c_.version, c_.file_size));
  return Status::OK();
}

Status SparsePage::Init() {
  if (c_.column->is_blob) return Unsupported("blobs in a sparse page");
  PILUM_RETURN_NOT_OK(CountSlots());
  structure_ranges_ = buffers();
  PILUM_RETURN_NOT_OK(MakeValues());
  size_t want = 0;
  for (const SparseLayer& l : layout().sparse) {
    for (const auto* n : {&l.non_empty, &l.counts, &l.validity}) want += codec::HasPayload(n->codec) && n->count > 0;
  }
  // Codecs of no numbers may have an empty buffer all the same: ParseStructure knows.
  if (structure_ranges_.size() < want)
    return BadBytes("{} buffers of positions, not {}", structure_ranges_.size(), want);
  return Status::OK();
}

uint64_t SparsePage::estimated_row_bytes() const {
  uint64_t stored = 0;
  for (const ByteRange& b : buffers()) stored += b.size;
  const double items =
      static_cast<double>(slots_.back()) * static_cast<double>(std::max<uint64_t>(FixedBits(*leaf_type()) / 8, 8));
  const auto rows = static_cast<double>(std::max<uint64_t>(1, c_.num_rows));
  return static_cast<uint64_t>(std::clamp((items + static_cast<double>(stored)) / rows, 1.0, 1e15));
}

// One buffer a sequence that has bytes: layer by layer, of each positions, counts, validity.
Result<std::shared_ptr<const Structure>> SparsePage::ParseStructure(const std::vector<BufferPtr>& fetched) const {
  auto out = std::make_shared<Structure>();
  size_t next = 0;
  auto read = [&](const SparseLayer::Numbers& n) -> Result<Numbers> {
    codec::Bytes payload;
    if (codec::HasPayload(n.codec)) {
      if (next >= fetched.size()) return BadBytes("a buffer of positions is missing");
      payload = BytesOf(fetched[next++]);
    }
    return codec::DecodeNumbers(n.codec, payload, n.count);
  };
  for (size_t i = 0; i < layout().sparse.size(); ++i) {
    const SparseLayer& l = layout().sparse[i];
    Layer layer;
    layer.slots = slots_[i];
    if (l.kind == Kind::kList) {
      PILUM_ASSIGN_OR_RETURN(layer.non_empty, read(l.non_empty));
      PILUM_ASSIGN_OR_RETURN(layer.counts, read(l.counts));
      PILUM_RETURN_NOT_OK(layer.non_empty.CheckPositions(layer.slots));
      const uint64_t n = layer.counts.size();
      if (layer.counts.stored_bytes() > 0) {
        uint64_t sum = 0;
        for (uint64_t k = 0; k < n; ++k) {
          if (layer.counts[k] > l.num_child_slots - sum)
            return BadBytes("lists of more than {} items", l.num_child_slots);
          layer.prefix.push_back(sum += layer.counts[k]);
        }
      } else if (n > 0 && (layer.counts[n - 1] > l.num_child_slots / n)) {  // so that no sum below passes 64 bits
        const auto sum = static_cast<double>(n) *
                         (static_cast<double>(layer.counts[0]) + static_cast<double>(layer.counts[n - 1])) / 2;
        if (sum > static_cast<double>(kMaxSlots)) return BadBytes("lists of more than {} items", l.num_child_slots);
      }
      if (layer.ItemsBefore(n) != l.num_child_slots)
        return BadBytes("lists of {} items, not {}", layer.ItemsBefore(n), l.num_child_slots);
    }
    PILUM_ASSIGN_OR_RETURN(layer.validity, read(l.validity));
    PILUM_RETURN_NOT_OK(layer.validity.CheckPositions(layer.slots));
    out->push_back(std::move(layer));
  }
  const SparseLayer& leaf = layout().sparse.back();
  const uint64_t named = out->back().validity.size(), valid = leaf.names_valid ? named : slots_.back() - named;
  if (values_of_valid_only() && values_->num_rows() != valid)
    return BadBytes("{} values of {} valid slots", values_->num_rows(), valid);
  std::lock_guard lock(mutex_);
  if (!structure_) structure_ = std::move(out);
  return structure_;
}

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
        PILUM_ASSIGN_OR_RETURN(slots, ItemsOf((*structure_)[i], &step));
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
    const Numbers& named = structure_->back().validity;
    const bool valid = page_.layout().sparse.back().names_valid;
    RowSet out;
    for (const RowRange& r : slots.ranges()) {
      const uint64_t a = named.LowerBound(r.begin), b = named.LowerBound(r.end);
      const RowRange ranks = valid ? RowRange{a, b} : RowRange{r.begin - a, r.end - b};
      if (ranks.end > ranks.begin) out.Append(ranks.begin, ranks.end);
    }
    return out;
  }

  Result<Validity> ValidityOf(size_t i, arrow::MemoryPool* pool) const {
    const Numbers& named = (*structure_)[i].validity;
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
    if (!read_) return MakeNulls(page_.leaf_type(), v.count, pool);
    PILUM_ASSIGN_OR_RETURN(auto values, read_->Decode(ctx));
    Data data = values->data();
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
  std::unique_ptr<PageRead> read_;  // of the leaf's values; null: none is wanted or there are none
};

std::unique_ptr<PageRead> SparsePage::StartRead(RowSet rows) const {
  return std::make_unique<SparseRead>(*this, std::move(rows));
}

}  // namespace

Result<std::unique_ptr<Page>> MakeSparsePage(PageContext context) {
  auto page = std::make_unique<SparsePage>(std::move(context));
  PILUM_RETURN_NOT_OK(page->Init());
  return std::unique_ptr<Page>(std::move(page));
}

}  // namespace pilum
