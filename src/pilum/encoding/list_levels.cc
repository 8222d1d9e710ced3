#include "pilum/encoding/list_levels.h"

#include <algorithm>

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include "pilum/encoding/bits.h"

namespace pilum {

using codec::Allocate;
using codec::BadBytes;
using codec::Bytes;

namespace {

uint64_t RoundUp(uint64_t n) { return (n + 1023) & ~uint64_t{1023}; }

void Trim(std::vector<uint64_t>* words, uint64_t n) {
  words->resize(bits::Words(n));
  if (n % 64) words->back() &= (uint64_t{1} << (n % 64)) - 1;
}

// `bitmap` of n slots, null where none is null; `null` marks the nulls.
Result<Validity> ValidityOf(const std::vector<uint64_t>& null, const std::vector<uint64_t>& keep, uint64_t n,
                            arrow::MemoryPool* pool) {
  Validity v;
  v.count = n;
  if (n == 0) return v;
  PILUM_ASSIGN_OR_RETURN(auto bitmap, Allocate(null.size() * 8, pool));
  uint64_t* out = reinterpret_cast<uint64_t*>(bitmap->mutable_data());
  if (keep.empty())
    std::copy(null.begin(), null.end(), out);
  else
    bits::Compress(null.data(), keep.data(), keep.size(), out);
  v.null_count = static_cast<int64_t>(bits::Count(out, 0, n));
  if (v.null_count == 0) return v;
  for (uint64_t w = 0; w < bits::Words(n); ++w) out[w] = ~out[w];
  PILUM_RETURN_NOT_OK(bitmap->Resize(static_cast<int64_t>((n + 7) / 8), /*shrink_to_fit=*/false));
  v.bitmap = std::move(bitmap);
  return v;
}

}  // namespace

bool ListLevels::Fits(const LevelPlan& plan) {
  return plan.layers.size() == 2 && plan.layers[1].kind == LevelLayer::Kind::kList;
}

Status ListLevels::DecodeChunk(Bytes rep, Bytes def, uint64_t n) {
  chunk_.start.resize(bits::Words(RoundUp(n)));
  PILUM_RETURN_NOT_OK(codec::DecodeLevelBits(*rep_, rep, n, chunk_.start.data()));
  Trim(&chunk_.start, n);
  if (def_) PILUM_RETURN_NOT_OK(DecodeDef(def, n));
  if (!may_hide()) return Status::OK();
  for (uint64_t w = 0; w < chunk_.start.size(); ++w) {
    const uint64_t there = n - w * 64 < 64 ? (uint64_t{1} << (n % 64)) - 1 : ~uint64_t{0};
    if ((~chunk_.start[w] & ~chunk_.visible[w] & there) != 0) {
      return BadBytes("an item without a list that it belongs to");
    }
  }
  return Status::OK();
}

Status ListLevels::DecodeDef(Bytes def, uint64_t n) {
  const uint64_t words = bits::Words(RoundUp(n));
  if (plan_.max_def <= 1) {  // one level: it marks the nulls, or the lists without items
    std::vector<uint64_t>& marks = items_may_be_null() ? chunk_.item_null : chunk_.list_null;
    marks.resize(words);
    PILUM_RETURN_NOT_OK(codec::DecodeLevelBits(*def_, def, n, marks.data()));
    Trim(&marks, n);
    if (plan_.max_def == 0 && bits::Count(marks.data(), 0, n) > 0) {
      return BadBytes("definition level 1, where the page has 0");
    }
    if (!may_hide()) return Status::OK();
    chunk_.visible.resize(words);
    for (size_t w = 0; w < marks.size(); ++w) chunk_.visible[w] = ~marks[w];
    Trim(&chunk_.visible, n);
    return Status::OK();
  }
  if (scratch_.size() < RoundUp(n) + codec::kSlack) scratch_.resize(RoundUp(n) + codec::kSlack);
  const uint16_t* levels = scratch_.data();
  const RowRange all{0, n};
  PILUM_RETURN_NOT_OK(codec::DecodeLevels(*def_, def, n, {&all, 1}, scratch_.data()));
  PILUM_RETURN_NOT_OK(CheckLevels(plan_, nullptr, levels, n));
  auto below = [&](int limit, std::vector<uint64_t>* out) {
    out->resize(bits::Words(n));
    if (n > 0) BelowToBits(levels, n, static_cast<uint16_t>(limit), reinterpret_cast<uint8_t*>(out->data()));
  };
  if (may_hide()) below(plan_.max_visible + 1, &chunk_.visible);
  if (items_may_be_null()) {  // theirs is the first level
    below(2, &chunk_.item_null);
    std::vector<uint64_t> valid;
    below(1, &valid);
    for (size_t w = 0; w < valid.size(); ++w) chunk_.item_null[w] &= ~valid[w];
  }
  if (lists_may_be_null()) {
    const int null = plan_.layers[1].null_level;
    below(null + 1, &chunk_.list_null);
    for (size_t w = 0; w < chunk_.list_null.size(); ++w) chunk_.list_null[w] &= ~chunk_.visible[w];
  }
  return Status::OK();
}

Status ListLevels::AppendChunk(Bytes rep, Bytes def, uint64_t n, uint64_t num_values, const std::vector<RowRange>& rows,
                               uint64_t* row, std::vector<RowRange>* values) {
  values->clear();
  PILUM_RETURN_NOT_OK(DecodeChunk(rep, def, n));
  if (may_hide() && n == num_values && bits::Count(chunk_.visible.data(), 0, n) != n) {
    return BadBytes("{} values for fewer slots", n);
  }
  uint64_t slot = 0, seen = 0;
  for (const RowRange& e : SelectEvents(chunk_.start.data(), n, rows, row)) {
    RowRange slots{e.begin, e.end};
    if (may_hide()) {
      slot += bits::Count(chunk_.visible.data(), seen, e.begin);
      slots.begin = slot;
      slot += bits::Count(chunk_.visible.data(), e.begin, e.end);
      slots.end = slot;
      seen = e.end;
      bits::Append(&all_.visible, events_, chunk_.visible.data(), e.begin, e.size());
    }
    if (slots.end > num_values) return BadBytes("{} slots or more for {} values", slots.end, num_values);
    if (slots.size() > 0) values->push_back(slots);
    bits::Append(&all_.start, events_, chunk_.start.data(), e.begin, e.size());
    if (items_may_be_null()) bits::Append(&all_.item_null, events_, chunk_.item_null.data(), e.begin, e.size());
    if (lists_may_be_null()) bits::Append(&all_.list_null, events_, chunk_.list_null.data(), e.begin, e.size());
    events_ += e.size();
    num_values_ += slots.size();
  }
  return Status::OK();
}

Result<Validity> ListLevels::LeafValidity(arrow::MemoryPool* pool) const {
  if (!items_may_be_null()) return Validity{num_values_, nullptr, 0};
  return ValidityOf(all_.item_null, all_.visible, num_values_, pool);
}

Result<std::shared_ptr<arrow::ArrayData>> ListLevels::Wrap(std::shared_ptr<arrow::ArrayData> leaf, uint64_t rows,
                                                           arrow::MemoryPool* pool) const {
  const LevelLayer& layer = plan_.layers[1];
  if (static_cast<uint64_t>(leaf->length) != num_values_) {
    return BadBytes("the levels hold {} slots, not {}", num_values_, leaf->length);
  }
  const bool large = layer.type->id() == arrow::Type::LARGE_LIST;
  if (!large && num_values_ > INT32_MAX) {
    return MakeError(
        ErrorKind::kMemory,
        fmt::format("{} list items are more than 32-bit offsets reach; read fewer rows at a time", num_values_));
  }
  const uint64_t lists = bits::Count(all_.start.data(), 0, events_), width = large ? 8 : 4;
  if (lists != rows) return BadBytes("the levels hold {} rows, not {}", lists, rows);
  if (events_ > 0 && (all_.start[0] & 1) == 0) return BadBytes("an item without a list that it belongs to");
  PILUM_ASSIGN_OR_RETURN(auto offsets, Allocate((lists + 1 + 16) * width, pool));
  const uint64_t* visible = may_hide() ? all_.visible.data() : nullptr;
  if (large) {
    auto* out = reinterpret_cast<int64_t*>(offsets->mutable_data());
    bits::Offsets(all_.start.data(), visible, all_.start.size(), out);
    out[lists] = static_cast<int64_t>(num_values_);
  } else {
    auto* out = reinterpret_cast<int32_t*>(offsets->mutable_data());
    bits::Offsets(all_.start.data(), visible, all_.start.size(), out);
    out[lists] = static_cast<int32_t>(num_values_);
  }
  PILUM_RETURN_NOT_OK(offsets->Resize(static_cast<int64_t>((lists + 1) * width), /*shrink_to_fit=*/false));
  Validity v{lists, nullptr, 0};
  if (lists_may_be_null()) {
    PILUM_ASSIGN_OR_RETURN(v, ValidityOf(all_.list_null, all_.start, lists, pool));
  }
  return arrow::ArrayData::Make(layer.type, static_cast<int64_t>(lists), {v.bitmap, std::move(offsets)},
                                {std::move(leaf)}, v.null_count);
}

}  // namespace pilum
