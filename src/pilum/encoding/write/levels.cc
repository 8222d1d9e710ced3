// Repetition and definition levels of one slice of rows: layer by layer from the outside in, whole runs at a time.
#include <bit>

#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>

#include "pilum/encoding/write/internal.h"

namespace pilum::write {

const arrow::DataType& StorageOf(const arrow::DataType& type) {
  const arrow::DataType* t = &type;
  while (t->id() == arrow::Type::EXTENSION) t = static_cast<const arrow::ExtensionType*>(t)->storage_type().get();
  return *t;
}

namespace {

bool IsListKind(ShapeLayerKind k) {
  return k == ShapeLayerKind::kList || k == ShapeLayerKind::kLargeList || k == ShapeLayerKind::kMap;
}

bool ValidAt(const arrow::ArrayData& data, int64_t pos) {
  return !data.buffers[0] || arrow::bit_util::GetBit(data.buffers[0]->data(), data.offset + pos);
}

int64_t DictionaryIndex(const arrow::ArrayData& data, int bytes, int64_t pos) {
  const uint8_t* p = data.buffers[1]->data() + (data.offset + pos) * bytes;
  switch (bytes) {
    case 1: return *p;
    case 2: return LoadLE<uint16_t>(p);
    case 4: return LoadLE<uint32_t>(p);
    default: return LoadLE<int64_t>(p);
  }
}

}  // namespace

Result<LevelPlan> LevelPlan::Make(const LeafColumn& column) {
  LevelPlan plan;
  int next = 1;
  auto add = [&](bool is_list) {
    CodeLayer l{is_list, false, static_cast<uint8_t>(next++), 0};
    if (is_list) l.empty_code = static_cast<uint8_t>(next++);
    plan.layers.push_back(l);
    plan.max_rep += is_list;
  };
  if (column.layers.size() > 100) return Unsupported("field '{}' is nested more than 100 levels deep", column.name);
  add(false);
  for (auto it = column.layers.rbegin(); it != column.layers.rend(); ++it) add(IsListKind(it->kind));
  plan.num_codes = next;
  // A struct that may be null above a list keeps its level in every page, with or without nulls, and so do the lists
  // inside: pylance 14 miscounts such structs where pages differ in it.
  bool nullable_outside = false;
  for (size_t i = 0; i < column.layers.size(); ++i) {
    const ShapeLayer& layer = column.layers[i];
    CodeLayer& codes = plan.layers[column.layers.size() - i];
    bool list_inside = false;
    for (size_t k = i + 1; k < column.layers.size(); ++k) list_inside |= IsListKind(column.layers[k].kind);
    if (layer.kind == ShapeLayerKind::kStruct && layer.field->nullable() && list_inside)
      codes.always = nullable_outside = true;
    if (IsListKind(layer.kind) && nullable_outside) codes.always = true;
  }
  return plan;
}

void LevelWalk::MarkNulls(const arrow::ArrayData& data, uint8_t code) {
  if (data.buffers.empty() || !data.buffers[0] || data.GetNullCount() == 0) return;
  const uint8_t* bits = data.buffers[0]->data();
  for (const Run& r : runs) {
    int64_t at = data.offset + r.pos;
    if (arrow::internal::CountSetBits(bits, at, r.len) == r.len) continue;
    any_null = true;
    uint8_t* d = def.data() + r.event;
    for (int64_t i = 0; i < r.len; ++i) {
      if (d[i] == 0 && !arrow::bit_util::GetBit(bits, at + i)) d[i] = code;
    }
  }
}

Status LevelWalk::StructLayer(const ShapeLayer& layer, const CodeLayer& codes) {
  MarkNulls(*leaf, codes.null_code);
  for (Run& r : runs) r.pos += leaf->offset;
  leaf = leaf->child_data[layer.child];
  return Status::OK();
}

void LevelWalk::FixedListLayer(const CodeLayer& codes, int64_t dimension) {
  MarkNulls(*leaf, codes.null_code);
  // Each item is a slot of its own; a null list repeats its code on all its items. (No lists above: no rep but starts.)
  Vec<uint8_t> items(def.size() * dimension);
  for (size_t i = 0; i < def.size(); ++i) std::memset(items.data() + i * dimension, def[i], dimension);
  def = std::move(items);
  if (!rep.empty()) rep.assign(def.size(), rep[0]);
  for (Run& r : runs) r = {r.event * dimension, (r.pos + leaf->offset) * dimension, r.len * dimension};
  leaf = leaf->child_data[0];
}

template <typename Offset>
Status LevelWalk::ListLayer(const ShapeLayer&, const CodeLayer& codes, uint8_t inner_rep) {
  MarkNulls(*leaf, codes.null_code);
  const Offset* offsets = leaf->length ? leaf->GetValues<Offset>(1) : nullptr;
  int64_t total = static_cast<int64_t>(def.size());
  for (const Run& r : runs) {
    for (int64_t i = 0; i < r.len; ++i) {
      int64_t len = offsets[r.pos + i + 1] - offsets[r.pos + i];
      if (len > 1 && def[r.event + i] == 0) total += len - 1;
    }
  }
  Vec<uint8_t> out_rep(total), out_def(total);
  std::vector<Run> out_runs;
  int64_t in = 0, out = 0;
  auto copy_dead = [&](int64_t until) {  // events that ended in an outer layer
    std::memcpy(out_rep.data() + out, rep.data() + in, until - in);
    std::memcpy(out_def.data() + out, def.data() + in, until - in);
    out += until - in;
    in = until;
  };
  for (const Run& r : runs) {
    copy_dead(r.event);
    for (int64_t i = 0; i < r.len; ++i, ++in) {
      int64_t begin = offsets[r.pos + i], len = offsets[r.pos + i + 1] - begin;
      out_rep[out] = rep[in];
      if (def[in] != 0 || len == 0) {
        if (def[in] == 0) any_null = true;
        out_def[out++] = def[in] != 0 ? def[in] : codes.empty_code;
        continue;
      }
      std::memset(out_rep.data() + out + 1, inner_rep, len - 1);
      std::memset(out_def.data() + out, 0, len);
      if (!out_runs.empty() && out_runs.back().event + out_runs.back().len == out &&
          out_runs.back().pos + out_runs.back().len == begin) {
        out_runs.back().len += len;
      } else {
        out_runs.push_back({out, begin, len});
      }
      out += len;
    }
  }
  copy_dead(static_cast<int64_t>(def.size()));
  rep = std::move(out_rep);
  def = std::move(out_def);
  runs = std::move(out_runs);
  leaf = leaf->child_data[0];
  return Status::OK();
}

Status LevelWalk::LeafLayer(const LeafColumn& column, const CodeLayer& codes) {
  const arrow::DataType& type = StorageOf(*leaf->type);
  if (type.id() == arrow::Type::NA) {
    for (const Run& r : runs) {
      uint8_t* d = def.data() + r.event;
      for (int64_t i = 0; i < r.len; ++i) {
        if (d[i] == 0) d[i] = codes.null_code;
      }
    }
    any_null = true;
    return Status::OK();
  }
  MarkNulls(*leaf, codes.null_code);
  if (type.id() != arrow::Type::DICTIONARY) return Status::OK();
  const auto& dict = leaf->dictionary;
  if (!dict) return Status::Invalid("column '", column.name, "': a dictionary array without its dictionary");
  bool null_values = dict->type->id() == arrow::Type::NA || dict->GetNullCount() > 0;
  int width = static_cast<const arrow::DictionaryType&>(type).index_type()->byte_width();
  for (const Run& r : runs) {
    uint8_t* d = def.data() + r.event;
    for (int64_t i = 0; i < r.len; ++i) {
      if (d[i] != 0) continue;
      int64_t index = DictionaryIndex(*leaf, width, r.pos + i);
      if (index < 0 || index >= dict->length) {
        return Status::Invalid("column '", column.name, "': dictionary index ", index, " of ", dict->length);
      }
      if (null_values && (dict->type->id() == arrow::Type::NA || !ValidAt(*dict, index))) {
        d[i] = codes.null_code;
        any_null = true;
      }
    }
  }
  return Status::OK();
}

Status LevelWalk::Walk(const LeafColumn& column, const LevelPlan& plan, const std::shared_ptr<arrow::ArrayData>& top,
                       int64_t begin, int64_t n) {
  leaf = top;
  any_null = false;
  def.assign(n, 0);
  rep.clear();
  if (plan.max_rep > 0) rep.assign(n, static_cast<uint8_t>(plan.max_rep));
  runs.clear();
  if (n > 0) runs.push_back({0, begin, n});
  int lists = 0;
  for (size_t i = 0; i < column.layers.size(); ++i) {
    const ShapeLayer& layer = column.layers[i];
    const CodeLayer& codes = plan.layers[column.layers.size() - i];
    switch (layer.kind) {
      case ShapeLayerKind::kStruct: PILUM_RETURN_NOT_OK(StructLayer(layer, codes)); break;
      case ShapeLayerKind::kFixedSizeList: FixedListLayer(codes, layer.dimension); break;
      case ShapeLayerKind::kLargeList:
        PILUM_RETURN_NOT_OK(ListLayer<int64_t>(layer, codes, static_cast<uint8_t>(plan.max_rep - ++lists)));
        break;
      case ShapeLayerKind::kList:
      case ShapeLayerKind::kMap:
        PILUM_RETURN_NOT_OK(ListLayer<int32_t>(layer, codes, static_cast<uint8_t>(plan.max_rep - ++lists)));
        break;
    }
  }
  return LeafLayer(column, plan.layers[0]);
}

namespace {

// How often each code occurs. Most pages have no nulls: one comparison of the levels with themselves tells.
std::array<uint64_t, 256> CountCodes(const uint8_t* codes, uint64_t n) {
  std::array<uint64_t, 256> seen{};
  if (n > 0 && codes[0] == 0 && std::memcmp(codes, codes + 1, n - 1) == 0) {
    seen[0] = n;
    return seen;
  }
  std::array<std::array<uint32_t, 256>, 4> part;  // four, so that runs of one code do not wait for one counter
  for (uint64_t i = 0; i < n;) {
    for (auto& p : part) p.fill(0);
    uint64_t end = std::min(n, i + (uint64_t{1} << 30));
    for (; i < end; ++i) ++part[i % 4][codes[i]];
    for (const auto& p : part) {
      for (size_t c = 0; c < 256; ++c) seen[c] += p[c];
    }
  }
  return seen;
}

}  // namespace

PageContext MakeContext(ColumnSetup* setup, const PageSlice& slice) {
  PageContext page;
  page.column = setup->column;
  page.hints = &setup->hints;
  page.plan = &setup->plan;
  page.version = setup->version;
  page.profile = setup->profile;
  page.symbols = &setup->symbols;
  page.slice = slice;
  const LevelPlan* plan = &setup->plan;
  const std::array<uint64_t, 256> seen = CountCodes(slice.def, slice.events);
  page.num_valid = seen[0];
  int level = 0, largest = 0;
  auto number = [&](uint8_t code) {
    page.def.map[code] = static_cast<uint8_t>(++level);
    if (seen[code] > 0) largest = level;
  };
  // A struct inside a struct with nulls has a level too, though no code of its own occurs: pylance 14 would take it as
  // valid there, and then refuses the nulls of its children that may not be null.
  std::vector<bool> inside_null(plan->layers.size());
  bool outer_null = false;
  for (size_t i = plan->layers.size(); i-- > 1;) {
    const CodeLayer& l = plan->layers[i];
    inside_null[i] = outer_null && !l.is_list;
    outer_null = !l.is_list && (outer_null || l.always || seen[l.null_code] > 0);
  }
  for (size_t i = 0; i < plan->layers.size(); ++i) {
    const CodeLayer& l = plan->layers[i];
    bool null = l.always || inside_null[i] || seen[l.null_code] > 0, empty = l.is_list && seen[l.empty_code] > 0;
    if (!l.is_list) {
      if (null) number(l.null_code);
      page.layers.push_back(null ? RepDefLayer::kNullableItem : RepDefLayer::kAllValidItem);
      continue;
    }
    if (null) number(l.null_code);
    if (empty) number(l.empty_code);
    page.layers.push_back(null ? (empty ? RepDefLayer::kNullAndEmptyList : RepDefLayer::kNullableList)
                               : (empty ? RepDefLayer::kEmptyableList : RepDefLayer::kAllValidList));
  }
  page.def.codes = slice.def;
  page.def.count = slice.events;
  page.def.present = level > 0;
  page.def.max_level = std::max(largest, level > 0 ? 1 : 0);
  page.rep.codes = slice.rep;
  page.rep.count = slice.events;
  page.rep.present = plan->max_rep > 0;
  page.rep.max_level = plan->max_rep;
  for (int i = 0; i < 256; ++i) page.rep.map[i] = static_cast<uint8_t>(i);
  page.SlotLevels();
  return page;
}

uint64_t PageContext::chunk_room() const {
  constexpr uint64_t kUsual = 32768, kLarge = uint64_t{1} << 20;
  if (version == FileVersion::kV2_1) return kUsual;
  return small() || hints->minichunk_size.value_or(0) > kUsual ? kLarge : kUsual;
}

uint8_t PageContext::FirstListCode() const {
  for (const CodeLayer& l : plan->layers) {
    if (l.is_list) return l.null_code;
  }
  return 255;
}

// One flag a slot. Without lists slots are events; with lists an event of a list's null or empty code has no slot.
void PageContext::SlotLevels() {
  if (num_valid == slice.slots) return;
  null_slot.reserve(slice.slots);
  uint8_t first_list = FirstListCode();
  for (uint64_t i = 0; i < slice.events; ++i) {
    if (slice.def[i] < first_list) null_slot.push_back(slice.def[i] != 0);
  }
}

namespace {

// Runs of equal codes as chunks write them, a little less where a chunk cuts one.
uint64_t CountRuns(const uint8_t* codes, uint64_t n, uint64_t give_up) {
  uint64_t runs = 0;
  for (uint64_t i = 0; i < n && runs < give_up; ++runs) {
    const uint64_t limit = std::min(n, i + 255);
    const uint8_t code = codes[i];
    while (++i < limit && codes[i] == code) {
    }
  }
  return runs;
}

CodecDesc FlatCodec(uint64_t bits) {
  CodecDesc d;
  d.kind = CodecKind::kFlat;
  d.bits = bits;
  return d;
}

}  // namespace

void LevelStream::ChooseCodec(double runs_from) {
  width = std::bit_width(static_cast<unsigned>(max_level));
  runs = zstd = false;
  codec = {};
  const bool flat = count <= 64u * static_cast<uint64_t>(width);  // packing pads to 1,024: no gain
  if (runs_from > 0 && count >= 1024) {
    // A run takes 3 bytes, a chunk of 1,024 or more 8.
    const double room = static_cast<double>(count * static_cast<uint64_t>(width)) / 8 / runs_from -
                        static_cast<double>(count) / 1024 * 8;
    const auto most = static_cast<uint64_t>(std::max(0.0, room / 3));
    if (CountRuns(codes, count, most) < most) {
      runs = true;
      codec.kind = CodecKind::kRle;
      codec.children = {FlatCodec(16), FlatCodec(8)};
      return;
    }
  }
  if (flat) {
    codec = FlatCodec(16);
    return;
  }
  codec.kind = CodecKind::kOutOfLineBitpacking;
  codec.bits = 16;
  codec.children = {FlatCodec(static_cast<uint64_t>(width))};
}

Status LevelStream::TryGeneral(uint64_t chunk) {
  constexpr uint64_t kSample = 8;  // chunks
  uint64_t plain_bytes = 0, small_bytes = 0;
  const GeneralScheme scheme{Compression::kZstd, 3};
  const uint64_t step = std::max(chunk, count / kSample);
  for (uint64_t at = 0; at < count; at += step) {
    Bytes plain, small;
    AppendPlain(at, std::min(count, at + chunk), &plain);
    PILUM_RETURN_NOT_OK(AppendCompressed(scheme, plain.data(), plain.size(), &small));
    plain_bytes += plain.size();
    small_bytes += small.size();
  }
  zstd = small_bytes * 100 < plain_bytes * 95;
  if (zstd) codec = GeneralCodec(scheme, std::move(codec));
  return Status::OK();
}

Status LevelStream::Append(uint64_t begin, uint64_t end, Bytes* out) const {
  if (!zstd) {
    AppendPlain(begin, end, out);
    return Status::OK();
  }
  Bytes plain;
  AppendPlain(begin, end, &plain);
  return AppendCompressed({Compression::kZstd, codec.level}, plain.data(), plain.size(), out);
}

// Block form: the bytes of the values, the values, the lengths.
void LevelStream::AppendRuns(uint64_t begin, uint64_t end, Bytes* out) const {
  Bytes values, lengths;
  for (uint64_t i = begin; i < end;) {
    const uint64_t first = i, limit = std::min(end, i + 255);
    while (++i < limit && codes[i] == codes[first]) {
    }
    AppendInt<uint16_t>(&values, map[codes[first]]);
    lengths.push_back(static_cast<uint8_t>(i - first));
  }
  AppendInt<uint64_t>(out, values.size());
  out->append(values.data(), values.size());
  out->append(lengths.data(), lengths.size());
}

void LevelStream::AppendPlain(uint64_t begin, uint64_t end, Bytes* out) const {
  if (runs) return AppendRuns(begin, end, out);
  const bool flat = (zstd ? codec.children[0] : codec).kind == CodecKind::kFlat;
  std::array<uint16_t, 1024> block;
  while (begin < end) {
    uint64_t n = std::min<uint64_t>(1024, end - begin);
    for (uint64_t i = 0; i < n; ++i) block[i] = map[codes[begin + i]];
    begin += n;
    if (flat || n <= 64u * static_cast<uint64_t>(width)) {
      write::Append(out, block.data(), n * 2);
      continue;
    }
    std::fill(block.begin() + n, block.end(), uint16_t{0});
    std::array<uint16_t, 1024> packed;
    BitpackBlock<uint16_t>(block.data(), width, packed.data());
    write::Append(out, packed.data(), 128u * static_cast<uint64_t>(width));
  }
}

}  // namespace pilum::write
