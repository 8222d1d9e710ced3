// Full-zip pages: level word, length and value of each event side by side, with an index of row starts.
#include <bit>

#include "pilum/encoding/write/internal.h"

namespace pilum::write {

namespace {

// Layers of a fixed-size list page that carry item validity: layer and its items per slot.
std::vector<std::pair<size_t, uint64_t>> ValidityLayers(const PageContext& page) {
  std::vector<std::pair<size_t, uint64_t>> out;
  uint64_t per_slot = 1;
  for (size_t i = 0; i < page.kind().dims.size(); ++i) {
    per_slot *= static_cast<uint64_t>(page.kind().dims[i]);
    if (HasItemNulls(page, i)) out.push_back({i, per_slot});
  }
  return out;
}

CodecDesc ValueCodec(const PageContext& page) {
  const LeafKind& kind = page.kind();
  CodecDesc d;
  if (kind.kind == ValueKind::kFixedSizeList) return FixedSizeListCodec(page);
  if (kind.kind == ValueKind::kVariable) {
    if (kind.packed) {
      d.kind = CodecKind::kVariablePackedStruct;
      d.var_fields = kind.var_fields;
      d.children = kind.var_codecs;
      return d;
    }
    CodecDesc offsets;
    offsets.bits = kind.large ? 64 : 32;
    d.kind = CodecKind::kVariable;
    d.children = {offsets};
    return Wrapped(page, std::move(d));
  }
  d.kind = CodecKind::kFlat;
  d.bits = kind.kind == ValueKind::kBool ? 8 : kind.width * 8;  // a bool takes a byte here
  if (kind.packed) {
    CodecDesc packed;
    packed.kind = CodecKind::kPackedStruct;
    packed.field_bits = kind.field_bits;
    packed.children = {d};
    return packed;
  }
  return d;
}

BufferPtr RowIndex(const std::vector<uint64_t>& starts) {
  uint64_t total = starts.back();
  uint64_t width = total <= 0xFF ? 1 : total <= 0xFFFF ? 2 : total <= 0xFFFFFFFF ? 4 : 8;
  Bytes out(starts.size() * width);
  uint8_t* p = out.data();
  auto fill = [&]<typename T>(T) {
    for (uint64_t s : starts) {
      StoreLE<T>(p, static_cast<T>(s));
      p += sizeof(T);
    }
  };
  switch (width) {
    case 1: fill(uint8_t{}); break;
    case 2: fill(uint16_t{}); break;
    case 4: fill(uint32_t{}); break;
    default: fill(uint64_t{}); break;
  }
  return ToBuffer(std::move(out));
}

// A value of any length per event, each behind its length: sized first, then written without looking back.
template <typename Length>
void ZipVariable(const PageContext& page, size_t word_width, uint32_t bits_def, Bytes* data,
                 std::vector<uint64_t>* starts) {
  const PageSlice& s = page.slice;
  const ValueStore& v = *s.values;
  const uint8_t first_list = page.FirstListCode(), start_level = static_cast<uint8_t>(page.plan->max_rep);
  const uint64_t base = s.first_slot ? v.ends[s.first_slot - 1] : 0;
  const uint64_t bytes = v.VariableBytes(s.first_slot, s.slots);
  data->resize(s.events * word_width + page.num_valid * sizeof(Length) + bytes);  // nulls have no bytes
  uint8_t* const begin = data->data();
  uint8_t* out = begin;
  const uint64_t* end = v.ends.data() + s.first_slot;
  const uint8_t* value = v.bytes.data() + base;
  for (uint64_t e = 0; e < s.events; ++e) {
    const uint8_t code = s.def[e], rep = s.rep ? s.rep[e] : start_level;
    if (rep == start_level) starts->push_back(static_cast<uint64_t>(out - begin));
    if (word_width) {
      const uint32_t word = (page.rep.present ? static_cast<uint32_t>(rep) << bits_def : 0u) | page.def.map[code];
      std::memcpy(out, &word, word_width);
      out += word_width;
    }
    if (code >= first_list) continue;  // no slot
    const uint8_t* next = v.bytes.data() + *end++;
    if (code != 0) continue;
    const auto length = static_cast<size_t>(next - value);
    StoreLE<Length>(out, static_cast<Length>(length));
    std::memcpy(out + sizeof(Length), value, length);
    out += sizeof(Length) + length;
    value = next;
  }
  starts->push_back(static_cast<uint64_t>(out - begin));
}

}  // namespace

EncodedPage FullZipPage(const PageContext& page) {
  const LeafKind& kind = page.kind();
  const ValueStore& v = *page.slice.values;
  const bool variable = kind.kind == ValueKind::kVariable;
  EncodedPage out;
  PageLayout& l = out.layout;
  l.kind = LayoutKind::kFullZip;
  l.layers = page.layers;
  l.value_codec = ValueCodec(page);
  l.bits_rep = page.rep.present ? static_cast<uint32_t>(std::bit_width(static_cast<unsigned>(page.rep.max_level))) : 0;
  l.bits_def = page.def.present ? static_cast<uint32_t>(std::bit_width(static_cast<unsigned>(page.def.max_level))) : 0;
  l.num_items = page.slice.events;
  l.num_visible_items = page.slice.slots;
  l.variable_width = variable;
  auto validity = ValidityLayers(page);
  uint64_t value_bytes = kind.kind == ValueKind::kBool ? 1 : kind.width;
  for (const auto& [layer, per_slot] : validity) value_bytes += (per_slot + 7) / 8;
  const uint64_t length_width = kind.large ? 8 : 4;
  l.bits_per_value = variable ? length_width * 8 : value_bytes * 8;

  const uint32_t bits = l.bits_rep + l.bits_def;
  const size_t word_width = bits == 0 ? 0 : bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
  const uint8_t first_list = page.FirstListCode(), start_level = static_cast<uint8_t>(page.plan->max_rep);
  const bool indexed = variable || page.rep.present;
  std::vector<uint64_t> starts;
  if (indexed) starts.reserve(page.slice.rows + 1);
  Bytes data;
  if (variable) {
    if (kind.large)
      ZipVariable<uint64_t>(page, word_width, l.bits_def, &data, &starts);
    else
      ZipVariable<uint32_t>(page, word_width, l.bits_def, &data, &starts);
    out.buffers = {ToBuffer(std::move(data)), RowIndex(starts)};
    return out;
  }
  data.reserve(page.slice.events * word_width + page.slice.slots * value_bytes);
  uint64_t slot = page.slice.first_slot;
  if (!indexed && word_width == 0 && validity.empty()) {  // the plain array
    Append(&data, v.bytes.data() + slot * value_bytes, page.slice.slots * value_bytes);
    out.buffers = {ToBuffer(std::move(data))};
    return out;
  }
  for (uint64_t e = 0; e < page.slice.events; ++e) {
    uint8_t code = page.slice.def[e], rep = page.slice.rep ? page.slice.rep[e] : start_level;
    if (indexed && rep == start_level) starts.push_back(data.size());
    if (word_width) {
      uint32_t word = (page.rep.present ? static_cast<uint32_t>(rep) << l.bits_def : 0u) | page.def.map[code];
      Append(&data, &word, word_width);
    }
    if (code >= first_list) continue;  // no slot
    for (const auto& [layer, per_slot] : validity)
      AppendBits(v.item_valid[layer].data() + slot * per_slot, per_slot, &data);
    uint64_t width = kind.kind == ValueKind::kBool ? 1 : kind.width;
    Append(&data, v.bytes.data() + slot * width, width);
    ++slot;
  }
  if (indexed) starts.push_back(data.size());
  out.buffers = {ToBuffer(std::move(data))};
  if (indexed) out.buffers.push_back(RowIndex(starts));
  return out;
}

}  // namespace pilum::write
