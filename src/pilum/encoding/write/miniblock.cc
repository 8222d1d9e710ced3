// Mini-block pages: chunks of levels and values, the chunk table, the dictionary and the repetition index.
#include <bit>

#include "pilum/encoding/write/internal.h"

namespace pilum::write {

namespace {

constexpr uint64_t kMaxCount = 65535;  // level counts and level bytes are u16
constexpr uint64_t kMaxChunkValues = 4096;
constexpr uint64_t kLargeChunkValues = 32768;
constexpr uint64_t kLargeChunkBytes = 1000 << 10;  // with headers and levels below 1 MiB

// The largest power of two whose values take less than 8,186 bytes.
uint64_t PowerBelow(uint64_t bytes_per_value, ChunkSize size = ChunkSize::kUsual) {
  const bool large = size == ChunkSize::kLarge;
  uint64_t n = large ? kLargeChunkValues : kMaxChunkValues;
  while (n > 1 && n * bytes_per_value >= (large ? kLargeChunkBytes : 8186)) n /= 2;
  return std::max<uint64_t>(n, 2);
}

CodecDesc FlatCodec(uint64_t bits) {
  CodecDesc d;
  d.kind = CodecKind::kFlat;
  d.bits = bits;
  return d;
}

// Fixed-width values as they are (also rows of packed structs).
class FlatChunks : public ChunkEncoder {
 public:
  FlatChunks(const uint8_t* values, uint64_t width, uint64_t slots, ChunkSize size)
      : values_(values), width_(width), slots_(slots), step_(PowerBelow(width, size)) {
    codec = FlatCodec(width * 8);
  }
  uint64_t Preferred(uint64_t begin) const override { return std::min(step_, slots_ - begin); }
  Status Encode(uint64_t begin, uint64_t n, Bytes* out, std::vector<uint64_t>* sizes) const override {
    write::Append(out, values_ + begin * width_, n * width_);
    sizes->push_back(n * width_);
    return Status::OK();
  }

 private:
  const uint8_t* values_;
  uint64_t width_, slots_, step_;
};

class BoolChunks : public ChunkEncoder {
 public:
  BoolChunks(const uint8_t* flags, uint64_t slots, ChunkSize size)
      : flags_(flags), slots_(slots), step_(size == ChunkSize::kLarge ? kLargeChunkValues : kMaxChunkValues) {
    codec = FlatCodec(1);
  }
  uint64_t Preferred(uint64_t begin) const override { return std::min(step_, slots_ - begin); }
  Status Encode(uint64_t begin, uint64_t n, Bytes* out, std::vector<uint64_t>* sizes) const override {
    AppendBits(flags_ + begin, n, out);
    sizes->push_back((n + 7) / 8);
    return Status::OK();
  }

 private:
  const uint8_t* flags_;
  uint64_t slots_, step_;
};

class BitpackedChunks : public ChunkEncoder {
 public:
  BitpackedChunks(const uint8_t* values, uint64_t width, uint64_t slots)
      : values_(values), width_(width), slots_(slots) {
    codec.kind = CodecKind::kInlineBitpacking;
    codec.bits = width * 8;
  }
  uint64_t Preferred(uint64_t begin) const override { return std::min<uint64_t>(1024, slots_ - begin); }
  Status Encode(uint64_t begin, uint64_t n, Bytes* out, std::vector<uint64_t>* sizes) const override {
    size_t at = out->size();
    AppendInlineBitpacked(values_ + begin * width_, width_, n, out);
    sizes->push_back(out->size() - at);
    return Status::OK();
  }

 private:
  const uint8_t* values_;
  uint64_t width_, slots_;
};

// Offsets from the buffer's start, then the bytes.
class VariableChunks : public ChunkEncoder {
 public:
  VariableChunks(const PageContext& page, ChunkSize size)
      : values_(*page.slice.values),
        first_(page.slice.first_slot),
        slots_(page.slice.slots),
        width_(page.kind().large ? 8 : 4) {
    codec.kind = CodecKind::kVariable;
    codec.children = {FlatCodec(width_ * 8)};
    codec = Wrapped(page, std::move(codec));
    const bool large = size == ChunkSize::kLarge;
    max_values_ = large ? kLargeChunkValues : kMaxChunkValues;
    target_ = large ? page.chunk_room() - 48 * 1024
                    : std::clamp<uint64_t>(page.hints->minichunk_size.value_or(4096), 64, page.chunk_room() - 4096);
  }
  uint64_t Preferred(uint64_t begin) const override {
    uint64_t rest = slots_ - begin;
    uint64_t n = 2;
    while (n * 2 <= max_values_ && n < rest && Size(begin, std::min(2 * n, rest)) <= target_) n *= 2;
    return std::min(n, rest);
  }
  Status Encode(uint64_t begin, uint64_t n, Bytes* out, std::vector<uint64_t>* sizes) const override {
    size_t start = out->size();
    uint64_t head = (n + 1) * width_, base = End(begin);
    out->resize(start + head);
    uint8_t* p = out->data() + start;
    for (uint64_t i = 0; i <= n; ++i) {
      uint64_t v = head + End(begin + i) - base;
      if (width_ == 8)
        StoreLE<uint64_t>(p + i * 8, v);
      else
        StoreLE<uint32_t>(p + i * 4, static_cast<uint32_t>(v));
    }
    write::Append(out, values_.bytes.data() + base, End(begin + n) - base);
    PadTo(out, width_, 0x48, start);
    sizes->push_back(out->size() - start);
    return Status::OK();
  }
  uint64_t head_bytes(uint64_t n) const override { return (n + 1) * width_; }

 private:
  uint64_t End(uint64_t slot) const { return first_ + slot ? values_.ends[first_ + slot - 1] : 0; }
  uint64_t Size(uint64_t begin, uint64_t n) const { return (n + 1) * width_ + End(begin + n) - End(begin); }
  const ValueStore& values_;
  uint64_t first_, slots_, width_, target_, max_values_;
};

// One bitmap for each list level that has null items, outermost first, then the items.
class FixedSizeListChunks : public ChunkEncoder {
 public:
  explicit FixedSizeListChunks(const PageContext& page)
      : v_(*page.slice.values), first_(page.slice.first_slot), slots_(page.slice.slots) {
    const LeafKind& kind = page.kind();
    codec = FixedSizeListCodec(page);
    uint64_t bits = kind.bool_items ? kind.width : kind.width * 8;
    uint64_t per_slot = 1;
    for (size_t i = 0; i < kind.dims.size(); ++i) {
      per_slot *= static_cast<uint64_t>(kind.dims[i]);
      if (!HasItemNulls(page, i)) continue;
      layers_.push_back({i, per_slot});
      bits += per_slot;
      ++num_buffers;
    }
    step_ = PowerBelow((bits + 7) / 8);
    if (bits % 8 != 0) step_ = std::max<uint64_t>(step_, 8);  // chunks then begin at whole bytes of the bit stream
  }
  uint64_t Preferred(uint64_t begin) const override { return std::min(step_, slots_ - begin); }
  Status Encode(uint64_t begin, uint64_t n, Bytes* out, std::vector<uint64_t>* sizes) const override {
    uint64_t slot = first_ + begin;
    for (const auto& [layer, per_slot] : layers_) {
      size_t at = out->size();
      AppendBits(v_.item_valid[layer].data() + slot * per_slot, n * per_slot, out);
      sizes->push_back(out->size() - at);
      PadTo(out, 8, 0xFE);
    }
    size_t at = out->size();
    const uint8_t* items = v_.bytes.data() + slot * v_.kind.width;
    if (v_.kind.bool_items)
      AppendBits(items, n * v_.kind.width, out);
    else
      write::Append(out, items, n * v_.kind.width);
    sizes->push_back(out->size() - at);
    return Status::OK();
  }

 private:
  const ValueStore& v_;
  uint64_t first_, slots_, step_ = 2;
  std::vector<std::pair<size_t, uint64_t>> layers_;
};

// The events of a chunk of `n` slots that starts at `event`: up to its last slot's event, or to the page's end.
uint64_t EventsEnd(const PageContext& page, uint64_t event, uint64_t n, bool last, uint8_t first_list) {
  if (last) return page.slice.events;
  if (!page.rep.present) return event + n;
  const uint8_t* def = page.slice.def;
  for (; n > 0; ++event) n -= def[event] < first_list;
  return event;
}

struct ChunkWriter {
  const PageContext& page;
  const ChunkEncoder& chunks;
  Bytes data, table, index;

  // Appends one chunk; false (and nothing appended) where it breaks a limit.
  Result<bool> Add(uint64_t event, uint64_t event_end, uint64_t slot, uint64_t n, bool last) {
    const size_t start = data.size();
    const bool levels = page.rep.present || page.def.present;
    const uint64_t size_width = page.large_chunks() ? 4 : 2;
    std::vector<uint64_t> level_sizes, sizes;
    if (levels && event_end - event > kMaxCount) return false;
    size_t head = 2 + 2 * (page.rep.present + page.def.present) + size_width * chunks.num_buffers;
    data.resize(start + head);
    PadTo(&data, 8, 0xFE, start);
    for (const LevelStream* s : {&page.rep, &page.def}) {
      if (!s->present) continue;
      size_t at = data.size();
      PILUM_RETURN_NOT_OK(s->Append(event, event_end, &data));
      level_sizes.push_back(data.size() - at);
      PadTo(&data, 8, 0xFE, start);
    }
    PILUM_RETURN_NOT_OK(chunks.Encode(slot, n, &data, &sizes));
    PadTo(&data, 8, 0xFE, start);
    bool ok = data.size() - start <= page.chunk_room();
    for (uint64_t s : level_sizes) ok = ok && s <= kMaxCount;
    if (!ok) {
      data.resize(start);
      return false;
    }
    uint8_t* p = data.data() + start;
    StoreLE<uint16_t>(p, static_cast<uint16_t>(levels ? event_end - event : 0));
    p += 2;
    for (uint64_t s : level_sizes) {
      StoreLE<uint16_t>(p, static_cast<uint16_t>(s));
      p += 2;
    }
    for (uint64_t s : sizes) {
      if (size_width == 4)
        StoreLE<uint32_t>(p, static_cast<uint32_t>(s));
      else
        StoreLE<uint16_t>(p, static_cast<uint16_t>(s));
      p += size_width;
    }
    uint64_t word = ((data.size() - start) / 8 - 1) << 4 | (last ? 0u : static_cast<unsigned>(std::countr_zero(n)));
    if (page.large_chunks())
      AppendInt<uint32_t>(&table, static_cast<uint32_t>(word));
    else
      AppendInt<uint16_t>(&table, static_cast<uint16_t>(word));
    return true;
  }

  // Rows that finish in [event, end), and events after the last of them.
  void AddToIndex(uint64_t event, uint64_t end) {
    const uint8_t start_level = static_cast<uint8_t>(page.plan->max_rep);
    uint64_t finished = 0, last_end = event;
    for (uint64_t i = event + 1; i <= end; ++i) {
      if (i != page.slice.events && page.slice.rep[i] != start_level) continue;
      ++finished;
      last_end = i;
    }
    AppendInt<uint64_t>(&index, finished);
    AppendInt<uint64_t>(&index, end - last_end);
  }
};

}  // namespace

bool HasItemNulls(const PageContext& page, size_t layer) {
  const ValueStore& v = *page.slice.values;
  if (layer >= v.item_valid.size() || v.item_valid[layer].empty()) return false;
  uint64_t per_slot = 1;
  for (size_t i = 0; i <= layer; ++i) per_slot *= static_cast<uint64_t>(v.kind.dims[i]);
  return std::memchr(v.item_valid[layer].data() + page.slice.first_slot * per_slot, 0, page.slice.slots * per_slot) !=
         nullptr;
}

CodecDesc FixedSizeListCodec(const PageContext& page) {
  const LeafKind& kind = page.kind();
  CodecDesc d = FlatCodec(kind.bool_items ? 1 : kind.width / static_cast<uint64_t>(kind.items_per_slot()) * 8);
  if (kind.null_items) d.kind = CodecKind::kConstant;
  for (size_t i = kind.dims.size(); i-- > 0;) {
    CodecDesc list;
    list.kind = CodecKind::kFixedSizeList;
    list.num_items = static_cast<uint64_t>(kind.dims[i]);
    list.has_validity = HasItemNulls(page, i);
    list.children = {std::move(d)};
    d = std::move(list);
  }
  return d;
}

std::unique_ptr<ChunkEncoder> MakeFlatChunks(const PageContext& page, ChunkSize size) {
  const PageSlice& s = page.slice;
  const LeafKind& kind = page.kind();
  if (kind.kind == ValueKind::kBool)
    return std::make_unique<BoolChunks>(s.values->bytes.data() + s.first_slot, s.slots, size);
  auto out =
      std::make_unique<FlatChunks>(s.values->bytes.data() + s.first_slot * kind.width, kind.width, s.slots, size);
  if (kind.packed) {
    CodecDesc packed;
    packed.kind = CodecKind::kPackedStruct;
    packed.field_bits = kind.field_bits;
    packed.children = {out->codec};
    out->codec = packed;
  }
  return out;
}

std::unique_ptr<ChunkEncoder> MakeBitpackedChunks(const PageContext& page) {
  const PageSlice& s = page.slice;
  return std::make_unique<BitpackedChunks>(s.values->bytes.data() + s.first_slot * page.kind().width, page.kind().width,
                                           s.slots);
}

std::unique_ptr<ChunkEncoder> MakeIntegerChunks(const Bytes& values, uint64_t width, CodecKind codec, ChunkSize size) {
  const uint64_t n = values.size() / width;
  switch (codec) {
    case CodecKind::kInlineBitpacking: return std::make_unique<BitpackedChunks>(values.data(), width, n);
    case CodecKind::kRle: return MakeRunChunks(values.data(), width, n);
    case CodecKind::kByteStreamSplit: return MakeSplitChunks(values.data(), width, n, size);
    default: return std::make_unique<FlatChunks>(values.data(), width, n, size);
  }
}

std::unique_ptr<ChunkEncoder> MakeVariableChunks(const PageContext& page, ChunkSize size) {
  return std::make_unique<VariableChunks>(page, size);
}

std::unique_ptr<ChunkEncoder> MakeFixedSizeListChunks(const PageContext& page) {
  return std::make_unique<FixedSizeListChunks>(page);
}

Result<ChunkFit> MiniBlockPage(PageContext* page, const ChunkEncoder& chunks, const PageDictionary* dictionary,
                               EncodedPage* out) {
  for (LevelStream* s : {&page->rep, &page->def}) {
    if (!s->present) continue;
    // Runs read slower than bits: only where they save half.
    s->ChooseCodec(!page->large_chunks() ? 0 : page->small() ? 1 : 2);
    if (page->small()) PILUM_RETURN_NOT_OK(s->TryGeneral(chunks.Preferred(0)));
  }
  uint8_t first_list = page->FirstListCode();
  ChunkWriter writer{*page, chunks, {}, {}, {}};
  const uint64_t slots = page->slice.slots;
  for (uint64_t slot = 0, event = 0; slot < slots;) {
    uint64_t n = chunks.Preferred(slot);
    uint64_t end = 0;
    while (true) {
      bool last = slot + n == slots;
      end = EventsEnd(*page, event, n, last, first_list);
      PILUM_ASSIGN_OR_RETURN(bool fits, writer.Add(event, end, slot, n, last));
      if (fits) break;
      n = std::has_single_bit(n) ? n / 2 : std::bit_floor(n);  // all chunks but the last hold a power of two, 2 or more
      if (n >= 2) continue;
      return end - event > 1024 && page->rep.present ? ChunkFit::kTooManyLevels : ChunkFit::kTooWide;
    }
    if (page->rep.present) writer.AddToIndex(event, end);
    event = end;
    slot += n;
  }
  PageLayout& l = out->layout;
  l.kind = LayoutKind::kMiniBlock;
  l.layers = page->layers;
  if (page->rep.present) l.rep_codec = page->rep.codec;
  if (page->def.present) l.def_codec = page->def.codec;
  l.value_codec = chunks.codec;
  l.num_buffers = chunks.num_buffers;
  l.num_items = slots;
  l.has_large_chunk = page->large_chunks();
  out->buffers = {ToBuffer(std::move(writer.table)), ToBuffer(std::move(writer.data))};
  if (dictionary) {
    CodecDesc desc;
    PILUM_ASSIGN_OR_RETURN(auto block, DictionaryBlock(*page, dictionary->items, &desc));
    out->buffers.push_back(std::move(block));
    l.dictionary = desc;
    l.num_dictionary_items = static_cast<uint64_t>(dictionary->items.size());
  }
  if (page->rep.present) {
    l.repetition_index_depth = 1;
    out->buffers.push_back(ToBuffer(std::move(writer.index)));
  }
  return ChunkFit::kFits;
}

}  // namespace pilum::write
