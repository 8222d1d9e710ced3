// From levels to validity and offsets, layer by layer outwards. Whole passes over 16-bit arrays without branches on
// data.
#include <algorithm>
#include <cstring>

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include "pilum/encoding/codec/codec.h"
#include "pilum/encoding/rep_def.h"

namespace pilum {

using codec::Allocate;
using codec::BadBytes;

namespace {

// Keeps the levels up to `limit`.
uint64_t KeepVisible(const uint16_t* def, uint64_t n, uint16_t limit, uint16_t* out) {
  uint64_t k = 0;
  for (uint64_t i = 0; i < n; ++i) {
    out[k] = def[i];
    k += def[i] <= limit;
  }
  return k;
}

Result<Validity> BitsBelow(const uint16_t* def, uint64_t n, uint16_t limit, arrow::MemoryPool* pool) {
  Validity v;
  v.count = n;
  if (!def || limit == 0 || n == 0) return v;
  PILUM_ASSIGN_OR_RETURN(auto bits, Allocate((n + 63) / 64 * 8, pool));
  v.null_count = BelowToBits(def, n, limit, bits->mutable_data());
  if (v.null_count > 0) v.bitmap = std::move(bits);
  return v;
}

class Unraveller {
 public:
  Unraveller(const LevelPlan& plan, Levels levels, std::shared_ptr<arrow::ArrayData> leaf, arrow::MemoryPool* pool)
      : plan_(plan), levels_(std::move(levels)), array_(std::move(leaf)), pool_(pool), events_(levels_.count) {}

  Result<std::shared_ptr<arrow::ArrayData>> Run(uint64_t num_rows) {
    PILUM_RETURN_NOT_OK(StartSegment(plan_.max_visible));
    for (size_t i = 1; i < plan_.layers.size(); ++i) {
      switch (plan_.layers[i].kind) {
        case LevelLayer::Kind::kItem: PILUM_RETURN_NOT_OK(AddStruct(plan_.layers[i])); break;
        case LevelLayer::Kind::kFixedSizeList: PILUM_RETURN_NOT_OK(AddFixedSizeList(plan_.layers[i])); break;
        case LevelLayer::Kind::kList: PILUM_RETURN_NOT_OK(AddList(i)); break;
      }
    }
    if (static_cast<uint64_t>(array_->length) != num_rows) {
      return BadBytes("the levels hold {} rows, not {}", array_->length, num_rows);
    }
    return array_;
  }

 private:
  // A segment is the item layers between two list layers; its slots are the events with def <= visible.
  Status StartSegment(uint16_t visible) {
    visible_ = visible;
    slot_def_ = nullptr;
    const bool all = !levels_.def || plan_.max_def <= visible;
    slots_ = all ? events_ : CountAtMost(levels_.def.data(), events_, visible);
    if (static_cast<uint64_t>(array_->length) != slots_) {
      return BadBytes("the levels hold {} slots, not {}", slots_, array_->length);
    }
    return Status::OK();
  }

  // The definition levels of the segment's slots alone; null where there are none.
  Result<const uint16_t*> SlotLevels() {
    if (!levels_.def || slot_def_) return slot_def_;
    slot_def_ = levels_.def.data();
    if (slots_ != events_) {
      PILUM_RETURN_NOT_OK(scratch_.Reserve(events_, pool_));
      KeepVisible(levels_.def.data(), events_, visible_, scratch_.data());
      slot_def_ = scratch_.data();
    }
    return slot_def_;
  }

  Result<Validity> SlotValidity(const LevelLayer& layer) {
    if (levels_.bitmap) {  // one level in all: it is this layer's or none
      if (layer.null_level == 0) return Validity{slots_, nullptr, 0};
      return Validity{slots_, levels_.validity, levels_.null_count};
    }
    if (layer.null_level == 0) return Validity{slots_, nullptr, 0};
    PILUM_ASSIGN_OR_RETURN(const uint16_t* def, SlotLevels());
    return BitsBelow(def, slots_, layer.null_level, pool_);
  }

  Status AddStruct(const LevelLayer& layer) {
    PILUM_ASSIGN_OR_RETURN(Validity v, SlotValidity(layer));
    array_ = arrow::ArrayData::Make(layer.type, static_cast<int64_t>(slots_), {v.bitmap}, {array_}, v.null_count);
    return Status::OK();
  }

  // Events come one an item: each row's are alike, the first stands for all.
  Status AddFixedSizeList(const LevelLayer& layer) {
    uint64_t dim = static_cast<uint64_t>(layer.dimension);
    if (slots_ % dim != 0) return BadBytes("{} items in lists of {}", slots_, dim);
    if (levels_.bitmap) PILUM_RETURN_NOT_OK(ExpandBitmap());
    events_ = slots_ / dim;
    if (levels_.def) {
      uint16_t* def = levels_.def.data();
      for (uint64_t i = 0; i < events_; ++i) def[i] = def[i * dim];
      slot_def_ = def;  // no lists here: every event is a slot
    }
    slots_ = events_;
    PILUM_ASSIGN_OR_RETURN(Validity v, SlotValidity(layer));
    array_ = arrow::ArrayData::Make(layer.type, static_cast<int64_t>(slots_), {v.bitmap}, {array_}, v.null_count);
    return Status::OK();
  }

  Status ExpandBitmap() {
    levels_.bitmap = false;
    if (!levels_.validity) return Status::OK();
    PILUM_RETURN_NOT_OK(levels_.def.Reserve(events_, pool_));
    const uint8_t* bits = levels_.validity->data();
    for (uint64_t i = 0; i < events_; ++i) levels_.def.data()[i] = !(bits[i / 8] >> (i % 8) & 1);
    return Status::OK();
  }

  // The def of the last item layer before the next list layer: slots of this list are the events up to it.
  uint16_t SegmentVisible(size_t list_layer) const {
    uint16_t v = 0;
    for (size_t i = 0; i < plan_.layers.size(); ++i) {
      if (i > list_layer && plan_.layers[i].kind == LevelLayer::Kind::kList) break;
      v = std::max({v, plan_.layers[i].null_level, plan_.layers[i].empty_level});
    }
    return v;
  }

  Status AddList(size_t index) {
    const LevelLayer& layer = plan_.layers[index];
    if (!levels_.rep) return BadBytes("a list column without repetition levels");
    const uint16_t outer = SegmentVisible(index);
    bool large = layer.type->id() == arrow::Type::LARGE_LIST;
    if (!large && slots_ > INT32_MAX) {
      return MakeError(
          ErrorKind::kMemory,
          fmt::format("{} list items are more than 32-bit offsets reach; read fewer rows at a time", slots_));
    }
    PILUM_ASSIGN_OR_RETURN(auto offsets, Allocate((events_ + 1) * (large ? 8 : 4), pool_));
    uint64_t lists = 0;
    bool ok = large ? Offsets(reinterpret_cast<int64_t*>(offsets->mutable_data()), outer, &lists)
                    : Offsets(reinterpret_cast<int32_t*>(offsets->mutable_data()), outer, &lists);
    if (!ok) return BadBytes("an item without a list that it belongs to");
    PILUM_RETURN_NOT_OK(offsets->Resize(static_cast<int64_t>((lists + 1) * (large ? 8 : 4)), false));
    PILUM_ASSIGN_OR_RETURN(Validity v, ListValidity(layer, outer, lists));
    array_ = arrow::ArrayData::Make(layer.type, static_cast<int64_t>(lists), {v.bitmap, std::move(offsets)}, {array_},
                                    v.null_count);
    if (index + 1 == plan_.layers.size()) return Status::OK();
    Retire();
    return StartSegment(outer);
  }

  // Writes where each list starts; false for an item outside any list. starts_ keeps the lists' definition levels.
  template <typename T>
  bool Offsets(T* out, uint16_t outer, uint64_t* lists) {
    const uint16_t* rep = levels_.rep.data();
    const uint16_t* def = levels_.def ? levels_.def.data() : nullptr;
    uint64_t k = 0;
    T slots = 0;
    if (!def) {
      for (uint64_t i = 0; i < events_; ++i) {
        out[k] = slots++;
        k += rep[i] != 0;
      }
    } else {
      bool orphan = false;
      for (uint64_t i = 0; i < events_; ++i) {
        const bool start = rep[i] != 0, visible = def[i] <= visible_;
        out[k] = slots;
        k += start & (def[i] <= outer);
        orphan |= !start & !visible;
        slots += visible;
      }
      if (orphan) return false;
    }
    out[k] = slots;
    *lists = k;
    return events_ == 0 || rep[0] != 0;
  }

  // A list is null at its own null level, and where a struct between it and the next list is null.
  Result<Validity> ListValidity(const LevelLayer& layer, uint16_t outer, uint64_t lists) {
    Validity v;
    v.count = lists;
    if (!levels_.def || lists == 0) return v;
    const uint16_t own = std::max({visible_, layer.null_level, layer.empty_level}), null = layer.null_level;
    if (null == 0 && own == outer) return v;
    const uint16_t* rep = levels_.rep.data();
    const uint16_t* def = levels_.def.data();
    PILUM_RETURN_NOT_OK(scratch_.Reserve(events_, pool_));
    uint16_t* flags = scratch_.data();  // 1: null
    uint64_t k = 0;
    for (uint64_t i = 0; i < events_; ++i) {
      flags[k] = static_cast<uint16_t>((null != 0 && def[i] == null) | (def[i] > own));
      k += (rep[i] != 0) & (def[i] <= outer);
    }
    return BitsBelow(flags, lists, 1, pool_);
  }

  // The events of the next list outwards: those that start one of these lists.
  void Retire() {
    uint16_t* rep = levels_.rep.data();
    uint16_t* def = levels_.def ? levels_.def.data() : nullptr;
    uint64_t k = 0;
    for (uint64_t i = 0; i < events_; ++i) {
      const uint16_t r = rep[i];
      rep[k] = static_cast<uint16_t>(r - 1);
      if (def) def[k] = def[i];
      k += r != 0;
    }
    events_ = k;
  }

  const LevelPlan& plan_;
  Levels levels_;
  std::shared_ptr<arrow::ArrayData> array_;
  arrow::MemoryPool* pool_;
  uint64_t events_, slots_ = 0;
  uint16_t visible_ = 0;
  const uint16_t* slot_def_ = nullptr;
  LevelBuffer scratch_;
};

}  // namespace

Result<Validity> LeafValidity(const LevelPlan& plan, const Levels& levels, arrow::MemoryPool* pool) {
  if (levels.bitmap) {
    if (plan.layers[0].null_level == 0 && plan.max_def > 0) {
      // The level is an ancestor's: the leaf below a null one is masked anyway.
      return Validity{levels.count, nullptr, 0};
    }
    return Validity{levels.count, levels.validity, levels.null_count};
  }
  if (!levels.def) return Validity{levels.count, nullptr, 0};
  const uint16_t* def = levels.def.data();
  LevelBuffer scratch;
  uint64_t n = levels.count;
  if (plan.max_visible == 0) return Validity{CountAtMost(def, n, 0), nullptr, 0};
  if (plan.max_def > plan.max_visible) {
    PILUM_RETURN_NOT_OK(scratch.Reserve(n, pool));
    n = KeepVisible(def, n, plan.max_visible, scratch.data());
    def = scratch.data();
  }
  return BitsBelow(def, n, 1, pool);
}

Result<std::shared_ptr<arrow::ArrayData>> Unravel(const LevelPlan& plan, Levels levels, uint64_t num_rows,
                                                  std::shared_ptr<arrow::ArrayData> leaf, arrow::MemoryPool* pool) {
  return Unraveller(plan, std::move(levels), std::move(leaf), pool).Run(num_rows);
}

}  // namespace pilum
