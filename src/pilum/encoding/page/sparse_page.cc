// Sparse pages (version 2.3): no levels; each layer names its null slots, and its lists that are not empty, by position.
// Nothing is allocated for the length of the page: only for the rows of a read.
#include "pilum/encoding/page/sparse_page.h"

#include <algorithm>

#include "pilum/base/bytes.h"

namespace pilum {
namespace sparse {

using codec::BadBytes;

namespace {

using Kind = SparseLayer::Kind;

constexpr uint64_t kMaxSlots = uint64_t{1} << 48;
constexpr uint64_t kMaxHiding = uint64_t{1} << 22;      // ranges of null slots that are looked at together
constexpr uint64_t kFreeItemBytes = uint64_t{1} << 28;  // of items of lists of which no byte is stored

}  // namespace

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
  const bool stored = layout().inner && layout().inner->kind != LayoutKind::kConstant &&
                      (!indexed() || codec::HasPayload(*layout().indices));
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
      if (length == 0) return BadBytes("no values");
      if (length > slots_.back()) return BadBytes("{} values in {} slots", length, slots_.back());
      count = info.layout.variable_width ? 2 : 1;
      break;
    default: break;
  }
  const size_t before = indexed() && codec::HasPayload(*layout().indices);  // their buffer is the first
  if (before + count > buffers().size()) return BadBytes("{} buffers, not {}", buffers().size(), before + count);
  const auto first = buffers().begin() + static_cast<std::ptrdiff_t>(before);
  const auto last = first + static_cast<std::ptrdiff_t>(count);
  info.buffers.assign(first, last);
  structure_ranges_.assign(buffers().begin(), first);
  structure_ranges_.insert(structure_ranges_.end(), last, buffers().end());
  info.length = length;
  PILUM_ASSIGN_OR_RETURN(values_, Page::Make(std::move(info), &leaf_, c_.index, c_.version, c_.file_size));
  return Status::OK();
}

Status SparsePage::Init() {
  if (c_.column->is_blob) return Unsupported("blobs in a sparse page");
  PILUM_RETURN_NOT_OK(CountSlots());
  structure_ranges_ = buffers();
  PILUM_RETURN_NOT_OK(MakeValues());
  if (indexed() && (!values_ || layout().inner->kind != LayoutKind::kFullZip)) return BadBytes("indices of no values");
  size_t want = indexed() && codec::HasPayload(*layout().indices);
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
  size_t next = indexed() && codec::HasPayload(*layout().indices);
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
    out->layers.push_back(std::move(layer));
  }
  const uint64_t named = out->leaf().validity.size();
  const uint64_t valid = layout().sparse.back().names_valid ? named : slots_.back() - named;
  if (values_of_valid_only() && values_->num_rows() < valid) PILUM_RETURN_NOT_OK(FindHidden(out.get()));
  const uint64_t with_value = valid - out->leaf().hidden.size();
  if (indexed()) {
    PILUM_RETURN_NOT_OK(ReadIndices(fetched, &out->indices));
  } else if (values_of_valid_only() && values_->num_rows() != with_value) {
    return BadBytes("{} values of {} valid slots, {} of them inside of nulls", values_->num_rows(), valid,
                    out->leaf().hidden.size());
  }
  std::lock_guard lock(mutex_);
  if (!structure_) structure_ = std::move(out);
  return structure_;
}

namespace {

// The null slots of a layer, as ranges.
Result<RowSet> NullsOf(const Layer& layer, bool names_valid) {
  const Numbers& named = layer.validity;
  if (named.size() > kMaxHiding)
    return Unsupported("{} positions of structs that are null and hold valid values", named.size());
  RowSet out;
  uint64_t at = 0;
  for (uint64_t k = 0; k < named.size(); ++k) {
    if (!names_valid)
      out.Append(named[k], named[k] + 1);
    else if (named[k] > at)
      out.Append(at, named[k]);
    at = named[k] + 1;
  }
  if (names_valid && at < layer.slots) out.Append(at, layer.slots);
  return out;
}

}  // namespace

Status SparsePage::ReadIndices(const std::vector<BufferPtr>& fetched, Numbers* out) const {
  codec::Bytes payload;
  if (codec::HasPayload(*layout().indices)) {
    if (fetched.empty()) return BadBytes("the buffer of indices is missing");
    payload = BytesOf(fetched[0]);
  }
  PILUM_ASSIGN_OR_RETURN(*out, codec::DecodeNumbers(*layout().indices, payload, slots_.back()));
  const uint64_t step = out->stored_bytes() > 0 || out->size() < 2 ? 1 : out->size() - 1;  // else they only rise
  for (uint64_t i = 0; i < out->size(); i += step) {
    if ((*out)[i] >= values_->num_rows())
      return BadBytes("an index of {}, where there are {} values", (*out)[i], values_->num_rows());
  }
  return Status::OK();
}

// A value is stored for each slot that is valid together with all that is around it: which of those that the leaf calls
// valid have none?
Status SparsePage::FindHidden(Structure* structure) const {
  const auto& layers = layout().sparse;
  RowSet null;  // slots of the layer at hand
  for (size_t i = 0; i + 1 < layers.size(); ++i) {
    const Layer& layer = structure->layers[i];
    PILUM_ASSIGN_OR_RETURN(RowSet own, NullsOf(layer, layers[i].names_valid));
    null = null.Union(own);
    if (layers[i].kind == Kind::kItem) continue;
    RowSet items;
    for (const RowRange& r : null.ranges()) {
      RowRange inner{r.begin * layers[i].dimension, r.end * layers[i].dimension};
      if (layers[i].kind == Kind::kList) {
        inner = {layer.ItemsBefore(layer.non_empty.LowerBound(r.begin)),
                 layer.ItemsBefore(layer.non_empty.LowerBound(r.end))};
      }
      if (inner.end > inner.begin) items.Append(inner.begin, inner.end);
    }
    null = std::move(items);
  }
  Layer& leaf = structure->layers.back();
  const bool names_valid = layers.back().names_valid;
  const uint64_t most = slots_.back() - values_->num_rows();
  uint64_t visited = 0;
  for (const RowRange& r : null.ranges()) {
    if (r.size() > kMaxHiding || (visited += r.size()) > kMaxHiding)
      return Unsupported("more than {} slots inside of nulls", kMaxHiding);
    for (uint64_t slot = r.begin; slot < r.end; ++slot) {
      const uint64_t k = leaf.validity.LowerBound(slot);
      const bool named = k < leaf.validity.size() && leaf.validity[k] == slot;
      if (named != names_valid) continue;
      if (leaf.hidden.size() >= std::min(most, kMaxHiding)) return BadBytes("too few values for the valid slots");
      leaf.hidden.push_back(slot);
    }
  }
  return Status::OK();
}

}  // namespace sparse

Result<std::unique_ptr<Page>> MakeSparsePage(PageContext&& context) {
  auto page = std::make_unique<sparse::SparsePage>(std::move(context));
  PILUM_RETURN_NOT_OK(page->Init());
  return std::unique_ptr<Page>(std::move(page));
}

}  // namespace pilum
