// What a page's values look like.
#include "pilum/encoding/write/internal.h"

namespace pilum::write {

namespace {

std::string_view SlotBytes(const PageContext& page, uint64_t slot) {
  const ValueStore& v = *page.slice.values;
  slot += page.slice.first_slot;
  const char* p = reinterpret_cast<const char*>(v.bytes.data());
  if (v.kind.kind == ValueKind::kVariable) {
    uint64_t begin = slot ? v.ends[slot - 1] : 0;
    return {p + begin, v.ends[slot] - begin};
  }
  uint64_t w = v.kind.kind == ValueKind::kBool ? 1 : v.kind.width;
  return {p + slot * w, w};
}

// All valid slots hold the same bytes? `example`: the first valid one.
bool AllEqual(const PageContext& page, uint64_t* example) {
  const uint8_t* nulls = page.null_slot.empty() ? nullptr : page.null_slot.data();
  uint64_t i = 0;
  while (nulls && nulls[i]) ++i;  // one is valid: asked only then
  *example = i;
  std::string_view first = SlotBytes(page, i);
  for (++i; i < page.slice.slots; ++i) {
    if (nulls && nulls[i]) continue;
    if (SlotBytes(page, i) != first) return false;
  }
  return true;
}

}  // namespace

void MeasureFixed(const uint8_t* values, uint64_t width, uint64_t n, PageStats* st) {
  st->can_pack = true;
  st->bits_per_value = width * 8;
  st->bitpacked_bytes = InlineBitpackedBytes(values, width, n);
  const uint64_t give_up = std::min(st->bitpacked_bytes, n * width) / (width + 1) + 1;
  const uint64_t runs = RunsOf(values, width, n, give_up);
  if (runs < give_up) st->runs = runs;
}

PageStats StatsOf(const PageContext& page, uint64_t* example) {
  const LeafKind& kind = page.kind();
  const PageSlice& s = page.slice;
  PageStats st;
  st.num_values = s.slots;
  st.num_nulls = s.slots - page.num_valid;
  if (page.num_valid == 0 || kind.kind == ValueKind::kNone) {
    st.num_nulls = st.num_values;
    return st;
  }
  st.composite = kind.packed || kind.kind == ValueKind::kFixedSizeList;
  st.keys = kind.kind == ValueKind::kDictionary;
  if (kind.kind == ValueKind::kVariable) {
    const ValueStore& v = *s.values;
    uint64_t width = kind.large ? 8 : 4;
    uint64_t begin = s.first_slot ? v.ends[s.first_slot - 1] : 0;
    for (uint64_t i = s.first_slot; i < s.first_slot + s.slots; ++i) {
      st.max_length = std::max(st.max_length, v.ends[i] - (i ? v.ends[i - 1] : 0));
    }
    st.data_bytes = (s.slots ? v.ends[s.first_slot + s.slots - 1] - begin : 0) + width * s.slots;
    st.variable_struct = kind.packed;
    const arrow::Type::type id = StorageOf(*page.column->leaf->type()).id();
    st.text = id == arrow::Type::STRING || id == arrow::Type::LARGE_STRING || id == arrow::Type::STRING_VIEW;
  } else if (!st.keys) {
    bool bits = kind.kind == ValueKind::kBool || kind.bool_items;
    st.bits_per_value = kind.kind == ValueKind::kBool ? 1 : kind.bool_items ? kind.width : kind.width * 8;
    st.max_length = (st.bits_per_value + 7) / 8;
    st.can_pack = !bits && !st.composite && (kind.width == 1 || kind.width == 2 || kind.width == 4 || kind.width == 8);
    if (st.can_pack) MeasureFixed(s.values->bytes.data() + s.first_slot * kind.width, kind.width, s.slots, &st);
  }
  for (const LevelStream* l : {&page.rep, &page.def}) {
    if (!l->present) continue;
    st.plain_level_bytes += 2 * l->count;
    st.packed_level_bytes +=
        (l->count * static_cast<uint64_t>(std::bit_width(static_cast<unsigned>(l->max_level))) + 7) / 8;
  }
  if (!st.composite && !st.keys) st.all_equal = AllEqual(page, example);
  return st;
}

}  // namespace pilum::write
