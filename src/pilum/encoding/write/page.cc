// One page: statistics, choice, layout; and the cut in two where one page cannot hold the rows.
#include <bit>

#include "pilum/encoding/write/internal.h"

namespace pilum::write {

namespace {

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
  if (cap == 0 || page.kind().blob || page.kind().kind == ValueKind::kNone) return std::nullopt;
  auto dictionary = BuildDictionary(page, cap, st->keys ? UINT64_MAX : DictionaryRoom(*st, *page.hints));
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
  if (!page.hints->compression && !page.hints->compression_level) return {scheme, 1, true};  // long values, not asked
  return {scheme, page.hints->compression_level};
}

// `out` holds the page as `chunks` say; takes it with general compression on top where that is smaller.
Status TryGeneral(PageContext* page, const ChunkEncoder& chunks, const PageDictionary* dictionary, std::string_view of,
                  Choice* choice, EncodedPage* out) {
  if (choice->general == Compression::kNone) return Status::OK();
  auto general = MakeGeneralChunks(chunks, SchemeOf(*page, choice->general));
  EncodedPage smaller;
  PILUM_ASSIGN_OR_RETURN(ChunkFit fit, MiniBlockPage(page, *general, dictionary, &smaller));
  if (fit != ChunkFit::kFits) return Status::OK();
  Contend(std::move(smaller), fmt::format("{}{}", choice->general == Compression::kLz4 ? "lz4" : "zstd", of), out,
          choice);
  return Status::OK();
}

struct PagePlan {
  PageStats stats;
  uint64_t example = 0;  // a valid slot
  std::optional<DictionaryPlan> dictionary;
  std::shared_ptr<const FsstEncoder> symbols;
  Choice choice;
};

PagePlan PlanPage(const PageContext& page) {
  PagePlan plan;
  plan.stats = StatsOf(page, &plan.example);
  plan.dictionary = PlanDictionary(page, &plan.stats);
  if (WantsFsst(plan.stats, *page.hints, page.version, page.profile)) {
    uint64_t estimate = 0;
    plan.symbols = SymbolsFor(page, &estimate);
    plan.stats.fsst_bytes = estimate;
  }
  plan.choice = ChooseEncoding(plan.stats, *page.hints, page.version, page.profile);
  if (plan.choice.layout == LayoutKind::kFullZip && !CanZip(page.kind())) {
    plan.choice.layout = LayoutKind::kMiniBlock;
    plan.choice.why += "; lists of bool are never zipped";
  }
  return plan;
}

std::unique_ptr<ChunkEncoder> SplitValues(const PageContext& page, ChunkSize size) {
  const PageSlice& s = page.slice;
  const uint64_t width = page.kind().width;
  return MakeSplitChunks(s.values->bytes.data() + s.first_slot * width, width, s.slots, size);
}

// What the `small` profile tries beside what has been chosen.
std::vector<CompressedWay> WaysFor(PageContext* page, const PagePlan& plan) {
  std::vector<CompressedWay> ways;
  auto add = [&](auto make, std::string_view name) {
    for (int level : {3, 17}) ways.push_back({page, make(), level, name});
  };
  constexpr ChunkSize kLarge = ChunkSize::kLarge;
  if (plan.choice.dictionary) {
    const DictionaryPlan& d = *plan.dictionary;
    add([&] { return MakeIntegerChunks(d.keys, d.width, CodecKind::kFlat, kLarge); }, "zstd of keys");
    if (d.width >= 4)
      add([&] { return MakeIntegerChunks(d.keys, d.width, CodecKind::kByteStreamSplit, kLarge); }, "zstd of key bytes");
    return ways;
  }
  const LeafKind& kind = page->kind();
  switch (kind.kind) {
    case ValueKind::kVariable: add([&] { return MakeVariableChunks(*page, kLarge); }, "zstd of many values"); break;
    case ValueKind::kBool: add([&] { return MakeFlatChunks(*page, kLarge); }, "zstd of bits"); break;
    case ValueKind::kFixed:
      add([&] { return MakeFlatChunks(*page, kLarge); }, "zstd of many values");
      if (!kind.packed && (kind.width == 4 || kind.width == 8) && page->hints->byte_stream_split.value_or(true))
        add([&] { return SplitValues(*page, kLarge); }, "zstd of byte streams");
      break;
    default: break;
  }
  return ways;
}

bool TriesLargeChunks(const PageContext& page) {
  return page.small() && page.large_chunks() && !page.hints->compression;
}

Result<ChunkFit> EncodeMiniBlock(PageContext* page, PagePlan* plan, EncodedPage* out) {
  Choice& choice = plan->choice;
  std::unique_ptr<ChunkEncoder> chunks;
  const PageDictionary* dictionary = nullptr;
  if (choice.dictionary) {
    DictionaryPlan& d = *plan->dictionary;
    chunks = MakeIntegerChunks(d.keys, d.width, d.codec);
    dictionary = &d.dictionary;
  } else {
    chunks = ChunksFor(*page, choice);
  }
  PILUM_ASSIGN_OR_RETURN(ChunkFit fit, MiniBlockPage(page, *chunks, dictionary, out));
  if (fit != ChunkFit::kFits) return fit;
  PILUM_RETURN_NOT_OK(TryGeneral(page, *chunks, dictionary, "", &choice, out));
  if (choice.split) {
    auto split = SplitValues(*page, ChunkSize::kUsual);
    PILUM_RETURN_NOT_OK(TryGeneral(page, *split, dictionary, " of byte streams", &choice, out));
  }
  if (TriesLargeChunks(*page)) PILUM_RETURN_NOT_OK(TryLargeChunks(WaysFor(page, *plan), dictionary, &choice, out));
  return fit;
}

// Strings with symbols: both layouts take them as they take plain ones. A page that does not shrink stays plain.
Result<ChunkFit> EncodeSymbols(PageContext* page, PagePlan* plan, EncodedPage* out) {
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
  PILUM_ASSIGN_OR_RETURN(ChunkFit fit, EncodeMiniBlock(&encoded, plan, out));
  if (fit == ChunkFit::kFits && TriesLargeChunks(*page)) {
    std::vector<CompressedWay> plain;
    plain.push_back({page, MakeVariableChunks(*page, ChunkSize::kLarge), 9, "zstd of many values without symbols"});
    PILUM_RETURN_NOT_OK(TryLargeChunks(std::move(plain), nullptr, &plan->choice, out));
  }
  if (fit != ChunkFit::kFits || plan->choice.general == Compression::kNone) return fit;
  auto plain = MakeVariableChunks(*page);  // what is compressed anyway may do better without symbols
  auto general = MakeGeneralChunks(*plain, SchemeOf(*page, plan->choice.general));
  EncodedPage other;
  PILUM_ASSIGN_OR_RETURN(ChunkFit other_fit, MiniBlockPage(page, *general, nullptr, &other));
  if (other_fit == ChunkFit::kFits) {
    Contend(std::move(other), "without symbols", out, &plan->choice);
  }
  return fit;
}

// What has been compressed is taken where it is smaller; the page without is made only if it is needed.
Result<EncodedPage> EncodeFullZip(const PageContext& page, Choice* choice) {
  if (choice->general == Compression::kNone) return FullZipPage(page);
  const PageSlice& s = page.slice;
  PILUM_ASSIGN_OR_RETURN(const EncodedValues values, CompressValues(page, SchemeOf(page, choice->general)));
  const std::string_view name = values.wrap.scheme == Compression::kLz4 ? "lz4" : "zstd";
  const uint64_t was =
      s.values->ends[s.first_slot + s.slots - 1] - (s.first_slot ? s.values->ends[s.first_slot - 1] : 0);
  const bool smaller = values.store.bytes.size() < was;
  choice->why +=
      fmt::format("; {}: {} bytes for {}{}", name, values.store.bytes.size(), was, smaller ? "" : ", not taken");
  choice->alternatives.push_back({std::string(name), values.store.bytes.size()});
  if (!smaller) return FullZipPage(page);
  choice->estimated_size = values.store.bytes.size();
  return FullZipPage(WithValues(page, values));
}

// False: too many levels for one page of chunks.
Result<bool> EncodeOne(PageContext* page, EncodedPage* out) {
  if (page->kind().blob) {
    *out = BlobPage(*page);
    return true;
  }
  if (page->kind().null_items && page->num_valid > 0) {  // only the bitmaps of the items are stored
    *out = FullZipPage(*page);
    out->choice = {LayoutKind::kFullZip, CodecKind::kConstant, false, Compression::kNone, {}, "lists of nulls alone"};
    return true;
  }
  if (page->kind().kind == ValueKind::kFixed && page->kind().width == 0 && page->num_valid > 0) {
    *out = ConstantPage(*page, 0);
    out->choice = {LayoutKind::kConstant, CodecKind::kFlat, false, Compression::kNone, {}, "values of no bytes"};
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
    PILUM_ASSIGN_OR_RETURN(fit, EncodeSymbols(page, &plan, out));
  } else if (choice.layout == LayoutKind::kMiniBlock) {
    PILUM_ASSIGN_OR_RETURN(fit, EncodeMiniBlock(page, &plan, out));
  } else {
    PILUM_ASSIGN_OR_RETURN(*out, EncodeFullZip(*page, &choice));
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
    PILUM_ASSIGN_OR_RETURN(*out, EncodeFullZip(*page, &choice));
  }
  out->choice = std::move(choice);
  return true;
}

}  // namespace

Status EncodeSlice(ColumnSetup* setup, const PageSlice& slice, std::vector<EncodedPage>* out) {
  PageContext page = MakeContext(setup, slice);
  EncodedPage encoded;
  PILUM_ASSIGN_OR_RETURN(bool fits, EncodeOne(&page, &encoded));
  if (fits) {
    encoded.length = slice.rows;
    out->push_back(std::move(encoded));
    return Status::OK();
  }
  auto [a, b] = SplitRows(slice, setup->plan, page.FirstListCode());
  PILUM_RETURN_NOT_OK(EncodeSlice(setup, a, out));
  return EncodeSlice(setup, b, out);
}

}  // namespace pilum::write
