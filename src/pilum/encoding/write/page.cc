// One page: statistics, choice, layout; and the cut in two where one page cannot hold the rows.
#include <bit>

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

// Sizes of `n` values of 1, 2, 4 or 8 bytes, bit-packed and in runs.
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

// Keys as integers of the column's key type, at least 32 bits for auto dictionaries.
Bytes KeyBytes(const PageDictionary& dictionary, uint64_t width) {
  Bytes out(dictionary.keys.size() * width);
  uint8_t* p = out.data();
  for (int32_t k : dictionary.keys) {
    auto v = static_cast<uint64_t>(static_cast<uint32_t>(k));
    std::memcpy(p, &v, width);
    p += width;
  }
  return out;
}

struct DictionaryPlan {
  PageDictionary dictionary;
  Bytes keys;
  uint64_t width = 4;
  CodecKind codec = CodecKind::kFlat;
};

std::optional<DictionaryPlan> PlanDictionary(const PageContext& page, PageStats* st) {
  uint64_t cap = st->keys ? UINT64_MAX : DictionaryCap(*st, *page.hints, page.version);
  if (cap == 0 || page.kind().blob) return std::nullopt;
  auto dictionary = BuildDictionary(page, cap);
  if (!dictionary) return std::nullopt;
  DictionaryPlan plan{std::move(*dictionary), {}, st->keys ? page.kind().key_bits / 8 : 4};
  plan.keys = KeyBytes(plan.dictionary, plan.width);
  PageStats keys;
  keys.num_values = page.slice.slots;
  MeasureFixed(plan.keys.data(), plan.width, page.slice.slots, &keys);
  plan.codec = SmallestFixed(keys, {}, &st->key_bytes);
  st->distinct = static_cast<uint64_t>(plan.dictionary.items.size());
  st->dictionary_bytes = plan.dictionary.items.data_bytes();
  if (st->bits_per_value == 0) st->dictionary_bytes += *st->distinct * (page.kind().large ? 8 : 4);
  return plan;
}

std::unique_ptr<ChunkEncoder> ChunksFor(const PageContext& page, const Choice& choice) {
  switch (page.kind().kind) {
    case ValueKind::kVariable: return MakeVariableChunks(page);
    case ValueKind::kFixedSizeList: return MakeFixedSizeListChunks(page);
    default: break;
  }
  if (choice.codec == CodecKind::kInlineBitpacking) return MakeBitpackedChunks(page);
  if (choice.codec != CodecKind::kRle) return MakeFlatChunks(page);
  const uint64_t width = page.kind().width;
  return MakeRunChunks(page.slice.values->bytes.data() + page.slice.first_slot * width, width, page.slice.slots);
}

// Blob pages: (position, size) rows of 16 bytes, filled in when the payloads have been stored.
struct PendingBlobs {
  LeafColumn column;
  EncodingHints hints;
  LevelPlan plan;
  FileVersion version = FileVersion::kV2_2;
  Bytes payload;
  Vec<uint64_t> ends;
  Vec<uint8_t> levels;  // definition level of each row
};

Status SealBlobs(const PendingBlobs& blobs, BlobSink* sink, EncodedPage* out) {
  ValueStore rows;
  rows.kind.width = 16;
  rows.kind.packed = true;
  rows.kind.field_bits = {64, 64};
  rows.slots = blobs.ends.size();
  for (size_t i = 0; i < blobs.ends.size(); ++i) {
    uint64_t begin = i ? blobs.ends[i - 1] : 0, size = blobs.ends[i] - begin, position = 0;
    if (size > 0) {
      PILUM_ASSIGN_OR_RETURN(position,
                             sink->WritePayload({reinterpret_cast<const char*>(blobs.payload.data()) + begin, size}));
    } else if (blobs.levels[i] != 0) {
      position = static_cast<uint64_t>(blobs.levels[i]) << 16;
    }
    AppendInt<uint64_t>(&rows.bytes, position);
    AppendInt<uint64_t>(&rows.bytes, size);
  }
  Vec<uint8_t> def(rows.slots);
  std::fill(def.begin(), def.end(), uint8_t{0});
  PageSlice slice{nullptr, def.data(), rows.slots, rows.slots, 0, rows.slots, &rows};
  PageContext page = MakeContext(&blobs.column, &blobs.hints, &blobs.plan, blobs.version, slice);
  auto chunks = MakeFlatChunks(page);
  EncodedPage inner;
  if (MiniBlockPage(&page, *chunks, nullptr, &inner) != ChunkFit::kFits)
    return Status::Invalid("blob descriptors do not fit");
  out->buffers = std::move(inner.buffers);
  out->layout.inner = std::make_shared<PageLayout>(std::move(inner.layout));
  return Status::OK();
}

EncodedPage BlobPage(const PageContext& page) {
  auto blobs = std::make_shared<PendingBlobs>();
  blobs->column.leaf = page.column->leaf;
  blobs->column.name = page.column->name;
  blobs->plan = *LevelPlan::Make(blobs->column);
  blobs->version = page.version;
  const PageSlice& s = page.slice;
  const ValueStore& v = *s.values;
  uint64_t base = s.first_slot ? v.ends[s.first_slot - 1] : 0;
  for (uint64_t i = 0; i < s.slots; ++i) {
    blobs->ends.push_back(v.ends[s.first_slot + i] - base);
    blobs->levels.push_back(page.def.map[s.def[i]]);
  }
  Append(&blobs->payload, v.bytes.data() + base, s.slots ? blobs->ends.back() : 0);
  EncodedPage out;
  out.layout.kind = LayoutKind::kBlob;
  out.layout.layers = page.layers;
  out.choice = {LayoutKind::kBlob, CodecKind::kPackedStruct, false, {}, s.slots * 16, "blob column"};
  out.seal = [blobs](BlobSink* sink, EncodedPage* p) { return SealBlobs(*blobs, sink, p); };
  return out;
}

// The first half of the rows and the rest, cut at a row's first event.
std::pair<PageSlice, PageSlice> SplitRows(const PageSlice& s, const LevelPlan& plan, uint8_t first_list) {
  PageSlice a = s, b = s;
  a.rows = s.rows / 2;
  uint64_t starts = 0;
  a.events = a.slots = 0;
  for (uint64_t e = 0; e < s.events; ++e) {
    if (s.rep[e] == plan.max_rep && ++starts > a.rows) break;
    ++a.events;
    a.slots += s.def[e] < first_list;
  }
  b.rep += a.events;
  b.def += a.events;
  b.events -= a.events;
  b.rows -= a.rows;
  b.first_slot += a.slots;
  b.slots -= a.slots;
  return {a, b};
}

bool CanZip(const LeafKind& kind) { return !kind.bool_items && kind.kind != ValueKind::kDictionary; }

GeneralScheme SchemeOf(const PageContext& page, Compression scheme) {
  if (scheme != Compression::kZstd) return {scheme, std::nullopt};
  // Long values that nobody asked to compress: level 1 takes a third less time than the default for 1 % more bytes.
  if (!page.hints->compression) return {scheme, page.hints->compression_level.value_or(1)};
  return {scheme, page.hints->compression_level};
}

uint64_t ValueBytes(const EncodedPage& page) {  // of a mini-block page's chunks and a full-zip page's values
  return static_cast<uint64_t>(page.buffers[page.layout.kind == LayoutKind::kMiniBlock ? 1 : 0]->size());
}

// Replaces `best` where the other is smaller, and says so.
void Contend(EncodedPage other, std::string_view name, EncodedPage* best, Choice* choice) {
  const uint64_t was = ValueBytes(*best), is = ValueBytes(other);
  choice->why += fmt::format("; {}: {} bytes for {}{}", name, is, was, is < was ? "" : ", not taken");
  if (is >= was) return;
  choice->estimated_size = is;
  *best = std::move(other);
}

// `out` holds the page as `chunks` say; takes it with general compression on top where that is smaller.
void TryGeneral(PageContext* page, const ChunkEncoder& chunks, const PageDictionary* dictionary, std::string_view of,
                Choice* choice, EncodedPage* out) {
  if (choice->general == Compression::kNone) return;
  auto general = MakeGeneralChunks(chunks, SchemeOf(*page, choice->general));
  EncodedPage smaller;
  if (MiniBlockPage(page, *general, dictionary, &smaller) != ChunkFit::kFits) return;
  Contend(std::move(smaller), fmt::format("{}{}", choice->general == Compression::kLz4 ? "lz4" : "zstd", of), out,
          choice);
}

struct PagePlan {
  PageStats stats;
  uint64_t example = 0;  // a valid slot
  std::optional<DictionaryPlan> dictionary;
  std::optional<FsstEncoder> symbols;
  Choice choice;
};

PagePlan PlanPage(const PageContext& page) {
  PagePlan plan;
  plan.stats = StatsOf(page, &plan.example);
  plan.dictionary = PlanDictionary(page, &plan.stats);
  if (WantsFsst(plan.stats, *page.hints, page.version)) {
    uint64_t estimate = 0;
    plan.symbols = TrainOn(page, &estimate);
    plan.stats.fsst_bytes = estimate;
  }
  plan.choice = ChooseEncoding(plan.stats, *page.hints, page.version);
  if (plan.choice.layout == LayoutKind::kFullZip && !CanZip(page.kind())) {
    plan.choice.layout = LayoutKind::kMiniBlock;
    plan.choice.why += "; lists of bool are never zipped";
  }
  return plan;
}

ChunkFit EncodeMiniBlock(PageContext* page, PagePlan* plan, EncodedPage* out) {
  Choice& choice = plan->choice;
  std::unique_ptr<ChunkEncoder> chunks;
  const PageDictionary* dictionary = nullptr;
  if (choice.dictionary) {
    DictionaryPlan& d = *plan->dictionary;
    chunks = MakeIntegerChunks(std::move(d.keys), d.width, d.codec);
    dictionary = &d.dictionary;
  } else {
    chunks = ChunksFor(*page, choice);
  }
  ChunkFit fit = MiniBlockPage(page, *chunks, dictionary, out);
  if (fit != ChunkFit::kFits) return fit;
  TryGeneral(page, *chunks, dictionary, "", &choice, out);
  if (choice.split) TryGeneral(page, *MakeSplitChunks(*page), dictionary, " of byte streams", &choice, out);
  return fit;
}

// Strings with symbols: both layouts take them as they take plain ones. A page that does not shrink stays plain.
ChunkFit EncodeSymbols(PageContext* page, PagePlan* plan, EncodedPage* out) {
  const EncodedValues values = FsstValues(*page, *plan->symbols);
  const uint64_t offsets = page->slice.slots * (page->kind().large ? 8 : 4);
  if (values.store.bytes.size() + offsets + FsstEncoder::kTableBytes >= plan->stats.data_bytes) {
    plan->choice.codec = CodecKind::kVariable;
    plan->choice.estimated_size = plan->stats.data_bytes;
    plan->choice.why += "; symbols do not shrink it after all";
    if (plan->choice.layout == LayoutKind::kMiniBlock) return EncodeMiniBlock(page, plan, out);
    *out = FullZipPage(*page);
    return ChunkFit::kFits;
  }
  PageContext encoded = WithValues(*page, values);
  if (plan->choice.layout == LayoutKind::kFullZip) {
    *out = FullZipPage(encoded);
    return ChunkFit::kFits;
  }
  ChunkFit fit = EncodeMiniBlock(&encoded, plan, out);
  if (fit != ChunkFit::kFits || plan->choice.general == Compression::kNone) return fit;
  auto plain = MakeVariableChunks(*page);  // what is compressed anyway may do better without symbols
  auto general = MakeGeneralChunks(*plain, SchemeOf(*page, plan->choice.general));
  EncodedPage other;
  if (MiniBlockPage(page, *general, nullptr, &other) == ChunkFit::kFits) {
    Contend(std::move(other), "without symbols", out, &plan->choice);
  }
  return fit;
}

EncodedPage EncodeFullZip(const PageContext& page, Choice* choice) {
  EncodedPage out = FullZipPage(page);
  if (choice->general == Compression::kNone) return out;
  const EncodedValues values = CompressValues(page, SchemeOf(page, choice->general));
  Contend(FullZipPage(WithValues(page, values)), "zstd", &out, choice);
  return out;
}

// False: too many levels for one page of chunks.
Result<bool> EncodeOne(PageContext* page, EncodedPage* out) {
  if (page->kind().blob) {
    *out = BlobPage(*page);
    return true;
  }
  PagePlan plan = PlanPage(*page);
  Choice& choice = plan.choice;
  if (choice.layout == LayoutKind::kConstant) {
    *out = plan.stats.num_values == plan.stats.num_nulls ? NullPage(*page) : ConstantPage(*page, plan.example);
    out->choice = std::move(choice);
    return true;
  }
  ChunkFit fit = ChunkFit::kFits;
  if (choice.codec == CodecKind::kFsst) {
    fit = EncodeSymbols(page, &plan, out);
  } else if (choice.layout == LayoutKind::kMiniBlock) {
    fit = EncodeMiniBlock(page, &plan, out);
  } else {
    *out = EncodeFullZip(*page, &choice);
  }
  if (fit == ChunkFit::kTooManyLevels && page->slice.rows > 1) return false;
  if (fit != ChunkFit::kFits) {
    if (!CanZip(page->kind())) {
      return Unsupported("field '{}': {} does not fit a chunk of 32 KiB", page->column->name,
                         fit == ChunkFit::kTooWide ? "a value" : "a row's nesting");
    }
    const bool compress = choice.general != Compression::kNone && page->kind().kind == ValueKind::kVariable;
    choice = {LayoutKind::kFullZip,
              page->kind().kind == ValueKind::kVariable ? CodecKind::kVariable : CodecKind::kFlat,
              false,
              compress ? Compression::kZstd : Compression::kNone,
              {},
              choice.why + "; does not fit chunks of 32 KiB"};
    *out = EncodeFullZip(*page, &choice);
  }
  out->choice = std::move(choice);
  return true;
}

}  // namespace

Status EncodeSlice(const LeafColumn* column, const EncodingHints* hints, const LevelPlan* plan, FileVersion version,
                   const PageSlice& slice, std::vector<EncodedPage>* out) {
  PageContext page = MakeContext(column, hints, plan, version, slice);
  EncodedPage encoded;
  PILUM_ASSIGN_OR_RETURN(bool fits, EncodeOne(&page, &encoded));
  if (fits) {
    encoded.length = slice.rows;
    out->push_back(std::move(encoded));
    return Status::OK();
  }
  auto [a, b] = SplitRows(slice, *plan, page.FirstListCode());
  PILUM_RETURN_NOT_OK(EncodeSlice(column, hints, plan, version, a, out));
  return EncodeSlice(column, hints, plan, version, b, out);
}

}  // namespace pilum::write
