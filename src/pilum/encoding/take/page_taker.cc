#include "pilum/encoding/take/page_taker.h"

#include <algorithm>
#include <cstring>

#include <arrow/type.h>

namespace pilum::take {

void Cells::Clear() {
  cells.clear();
  events = 0;
  has_def = false;
  rep.clear();
  def.clear();
  chunk.at = nullptr;
}

void Cells::AddValid(uint64_t n) {
  events += n;
  if (has_def) def.resize(events, 0);
}

uint16_t* Cells::AddDef(uint64_t n) {
  has_def = true;
  def.resize(events + n, 0);
  uint16_t* at = def.data() + events;
  events += n;
  return at;
}

PageTaker::PageTaker(const PageBase& page, const LevelPlan& plan) : page_(page) {
  const LevelPlan& own = page.plan();
  canonical_.assign(own.max_def + size_t{1}, 0);
  for (size_t i = 0; i < own.layers.size(); ++i) {
    if (own.layers[i].null_level) canonical_[own.layers[i].null_level] = plan.layers[i].null_level;
    if (own.layers[i].empty_level) canonical_[own.layers[i].empty_level] = plan.layers[i].empty_level;
  }
}

bool IsVariable(const arrow::DataType& type) {
  switch (StorageType(type).id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY: return true;
    default: return false;
  }
}

uint64_t FixedWidth(const arrow::DataType& type) {
  const arrow::DataType& storage = StorageType(type);
  if (storage.id() == arrow::Type::BOOL) return 1;
  if (storage.id() == arrow::Type::DICTIONARY) {
    return FixedBits(*static_cast<const arrow::DictionaryType&>(storage).index_type()) / 8;
  }
  // Lists of bools keep their bits, which begin anywhere.
  for (const arrow::DataType* t = &storage; t->id() == arrow::Type::FIXED_SIZE_LIST;) {
    t = &StorageType(*t->field(0)->type());
    if (t->id() == arrow::Type::BOOL) return 0;
  }
  const uint64_t bits = FixedBits(storage);
  return bits % 8 == 0 && bits <= (uint64_t{1} << 32) ? bits / 8 : 0;
}

namespace {
constexpr uint64_t kWide = 128;  // bytes of a value, of which the first line alone was asked for in advance
constexpr size_t kAhead = 2;

void PrefetchAll(const uint8_t* bytes, uint64_t size) {
  if (bytes == nullptr) return;
  for (uint64_t at = 0; at < std::min<uint64_t>(size, 4096); at += 64) Prefetch(bytes + at);
}
}  // namespace

Status AddPlainValues(std::span<const Cell> cells, ValueOut* out) {
  if (out->variable) {
    for (const Cell& c : cells) PILUM_RETURN_NOT_OK(out->strings.Append({c.bytes, c.size}));
    return Status::OK();
  }
  const uint64_t width = out->width;
  for (size_t i = 0; i < cells.size(); ++i) {
    const Cell& c = cells[i];
    if (width >= kWide && i + kAhead < cells.size()) PrefetchAll(cells[i + kAhead].bytes, width);
    if (c.bytes)
      std::memcpy(out->fixed, c.bytes, width);  // as long as its taker made sure
    else
      std::memset(out->fixed, 0, width);
    out->fixed += width;
  }
  return Status::OK();
}

}  // namespace pilum::take
