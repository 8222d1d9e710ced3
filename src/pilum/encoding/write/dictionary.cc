// Dictionaries: Arrow dictionary arrays brought to one numbering, and dictionaries of one page.
#include <bit>

#include <arrow/array.h>
#include <arrow/util/bit_util.h>

#include "pilum/base/utf8.h"
#include "pilum/encoding/write/internal.h"

namespace pilum::write {

namespace {
constexpr size_t kCompressFrom = 128;              // bytes of a dictionary
constexpr int kSmallLevel = 17;                    // of zstd
constexpr size_t kCompressUpTo = size_t{1} << 30;  // what readers take for sure
}  // namespace

namespace {

// Entry `i` of a dictionary's values as bytes.
std::string_view Entry(const arrow::ArrayData& d, int64_t i, uint8_t* scratch) {
  const arrow::DataType& type = StorageOf(*d.type);
  switch (type.id()) {
    case arrow::Type::BOOL:
      *scratch = arrow::bit_util::GetBit(d.buffers[1]->data(), d.offset + i);
      return {reinterpret_cast<const char*>(scratch), 1};
    case arrow::Type::STRING:
    case arrow::Type::BINARY: {
      const int32_t* o = d.GetValues<int32_t>(1) + i;
      return {d.buffers[2] ? reinterpret_cast<const char*>(d.buffers[2]->data()) + o[0] : nullptr,
              static_cast<size_t>(o[1] - o[0])};
    }
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY: {
      const int64_t* o = d.GetValues<int64_t>(1) + i;
      return {d.buffers[2] ? reinterpret_cast<const char*>(d.buffers[2]->data()) + o[0] : nullptr,
              static_cast<size_t>(o[1] - o[0])};
    }
    default: {
      size_t w = static_cast<size_t>(static_cast<const arrow::FixedWidthType&>(type).bit_width()) / 8;
      return {reinterpret_cast<const char*>(d.buffers[1]->data()) + static_cast<size_t>(d.offset + i) * w, w};
    }
  }
}

template <typename Key>
void AppendKeys(ValueStore* store, const LevelWalk& walk, const arrow::ArrayData& dict) {
  const Key* keys = walk.leaf->buffers[1] ? walk.leaf->GetValues<Key>(1) : nullptr;
  uint8_t scratch;
  for (const Run& r : walk.runs) {
    for (int64_t i = 0; i < r.len; ++i) {
      if (walk.def[r.event + i] != 0) {
        store->keys.push_back(-1);
        continue;
      }
      auto index = static_cast<int64_t>(keys[r.pos + i]);
      int32_t& id = store->last_map[static_cast<size_t>(index)];
      if (id < 0) id = store->table.Insert(Entry(dict, index, &scratch));
      store->keys.push_back(id);
    }
  }
}

Status CheckDictionaryText(const arrow::ArrayData& dict) {
  const arrow::Type::type id = StorageOf(*dict.type).id();
  if (id != arrow::Type::STRING && id != arrow::Type::LARGE_STRING) return Status::OK();
  for (int64_t i = 0; i < dict.length; ++i) {
    if (dict.IsValid(i) && !IsUtf8(Entry(dict, i, nullptr))) return MakeError(ErrorKind::kUsage, kNotUtf8);
  }
  return Status::OK();
}

}  // namespace

Status AppendDictionaryKeys(ValueStore* store, const LevelWalk& walk) {
  const auto& dict = walk.leaf->dictionary;
  if (store->last_dictionary != dict) {
    PILUM_RETURN_NOT_OK(CheckDictionaryText(*dict));
    store->last_dictionary = dict;
    store->last_map.assign(static_cast<size_t>(dict->length), -1);
  }
  switch (static_cast<const arrow::DictionaryType&>(StorageOf(*walk.leaf->type)).index_type()->byte_width()) {
    case 1: AppendKeys<uint8_t>(store, walk, *dict); break;
    case 2: AppendKeys<uint16_t>(store, walk, *dict); break;
    case 4: AppendKeys<uint32_t>(store, walk, *dict); break;
    default: AppendKeys<uint64_t>(store, walk, *dict); break;
  }
  return Status::OK();
}

namespace {

// Values of a page of slots of varying or of one width.
struct SlotValues {
  explicit SlotValues(const PageContext& page)
      : values(*page.slice.values),
        first(page.slice.first_slot),
        nulls(page.null_slot.empty() ? nullptr : page.null_slot.data()),
        text(reinterpret_cast<const char*>(values.bytes.data())),
        width(page.kind().kind == ValueKind::kVariable ? 0 : page.kind().width) {}
  bool null(uint64_t i) const { return nulls && nulls[i]; }
  std::string_view at(uint64_t i) const {
    return width ? std::string_view(text + (first + i) * width, width) : values.Variable(first + i);
  }
  // Bytes that may be read from `v` on.
  size_t readable(std::string_view v) const { return static_cast<size_t>(text + values.bytes.size() - v.data()); }
  const ValueStore& values;
  uint64_t first;
  const uint8_t* nulls;
  const char* text;
  uint64_t width;
};

// A dictionary of at most `cap` values would show in a sample: blocks of neighbours at even distances, so that equal
// values are met whether they lie side by side or anywhere. False: four times as many distinct values, or more.
bool MayRepeat(const SlotValues& v, uint64_t slots, uint64_t cap) {
  constexpr uint64_t kBlocks = 64, kBlock = 64, kSample = kBlocks * kBlock;
  if (slots < 4 * kSample) return true;
  std::vector<uint64_t> table(4 * kSample);
  uint64_t seen = 0, again = 0;
  for (uint64_t b = 0; b < kBlocks; ++b) {
    const uint64_t at = slots / kBlocks * b;
    for (uint64_t i = at; i < at + kBlock; ++i) {
      if (v.null(i)) continue;
      const std::string_view value = v.at(i);
      const uint64_t h = HashBytes(value.data(), value.size()) | 1;
      size_t k = (h >> 20) % table.size();
      while (table[k] != 0 && table[k] != h) k = (k + 1) % table.size();
      again += table[k] == h;
      table[k] = h;
      ++seen;
    }
  }
  const uint64_t distinct = seen - again;
  if (distinct > cap) return false;
  return 2 * distinct < seen || 8 * again * cap >= seen * seen;
}

// Long values that differ in length or at either end are told apart without reading the rest. True only where the page has
// more than `cap` distinct values, or of more than `max_bytes`, for sure.
bool SurelyTooMany(const SlotValues& v, uint64_t slots, uint64_t cap, uint64_t max_bytes) {
  constexpr uint64_t kLong = 1024;
  if (v.values.kind.kind != ValueKind::kVariable || slots == 0) return false;
  if (v.values.VariableBytes(v.first, slots) / slots < kLong) return false;
  std::vector<uint64_t> table(std::bit_ceil(2 * slots));
  uint64_t distinct = 0, bytes = 0;
  for (uint64_t i = 0; i < slots; ++i) {
    const std::string_view value = v.at(i);
    if (v.null(i) || value.size() < 8) continue;
    const uint64_t ends[] = {value.size(), LoadLE<uint64_t>(value.data()),
                             LoadLE<uint64_t>(value.data() + value.size() - 8)};
    const uint64_t h = HashBytes(ends, sizeof ends) | 1;
    size_t k = (h >> 20) & (table.size() - 1);
    while (table[k] != 0 && table[k] != h) k = (k + 1) & (table.size() - 1);
    if (table[k] == h) continue;
    table[k] = h;
    ++distinct;
    bytes += value.size();
    if (distinct > cap || bytes > max_bytes) return true;
  }
  return false;
}

}  // namespace

std::optional<PageDictionary> BuildDictionary(const PageContext& page, uint64_t cap, uint64_t max_bytes) {
  const PageSlice& s = page.slice;
  PageDictionary out;
  if (page.kind().kind == ValueKind::kDictionary) {
    const ValueStore& v = *s.values;
    out.keys.resize(s.slots);
    std::vector<int32_t> local(static_cast<size_t>(v.table.size()), -1);
    for (uint64_t i = 0; i < s.slots; ++i) {
      int32_t k = v.keys[s.first_slot + i];
      out.keys[i] = 0;
      if (k < 0) continue;
      if (local[static_cast<size_t>(k)] < 0) local[static_cast<size_t>(k)] = out.items.Insert(v.table.at(k));
      out.keys[i] = local[static_cast<size_t>(k)];
    }
    return out;
  }
  const SlotValues values(page);
  if (!MayRepeat(values, s.slots, cap) || SurelyTooMany(values, s.slots, cap, max_bytes)) return std::nullopt;
  out.keys.resize(s.slots);
  int32_t distinct = 0;
  for (uint64_t i = 0; i < s.slots; ++i) {
    out.keys[i] = 0;
    if (values.null(i)) continue;
    const std::string_view value = values.at(i);
    const int32_t key = out.keys[i] = out.items.Insert(value, values.readable(value));
    if (key < distinct) continue;
    ++distinct;
    if (static_cast<uint64_t>(distinct) > cap || out.items.data_bytes() > max_bytes) return std::nullopt;
  }
  return out;
}

namespace {
// The block within general compression where the version has it and it is smaller.
Result<BufferPtr> CompressedBlock(const PageContext& page, Bytes block, CodecDesc* desc) {
  GeneralScheme scheme{page.hints->dict_compression.value_or(page.small() ? Compression::kZstd : Compression::kLz4),
                       page.hints->dict_compression_level};
  if (page.small() && !scheme.level) scheme.level = kSmallLevel;
  const bool asked = scheme.scheme != Compression::kNone && page.version != FileVersion::kV2_1;
  if (!asked || block.size() < kCompressFrom || block.size() > kCompressUpTo) return ToBuffer(std::move(block));
  Bytes small;
  PILUM_RETURN_NOT_OK(AppendCompressed(scheme, block.data(), block.size(), &small));
  if (small.size() >= block.size()) return ToBuffer(std::move(block));
  *desc = GeneralCodec(scheme, std::move(*desc));
  return ToBuffer(std::move(small));
}
}  // namespace

Result<BufferPtr> DictionaryBlock(const PageContext& page, const ByteTable& items, CodecDesc* desc) {
  const LeafKind& kind = page.kind();
  const arrow::DataType* type = kind.kind == ValueKind::kDictionary ? &StorageOf(*kind.dict_value) : nullptr;
  bool large = type ? arrow::is_large_binary_like(type->id()) : kind.large;
  bool variable = type ? large || arrow::is_binary_like(type->id()) : kind.kind == ValueKind::kVariable;
  Bytes out;
  *desc = {};
  if (!variable) {
    desc->kind = CodecKind::kFlat;
    bool boolean = type && type->id() == arrow::Type::BOOL;
    desc->bits = boolean ? 1 : items.size() ? items.at(0).size() * 8 : 8;
    for (int32_t i = 0; i < items.size(); ++i) Append(&out, items.at(i).data(), items.at(i).size());
    if (boolean) {
      Bytes bits;
      AppendBits(out.data(), out.size(), &bits);
      out = std::move(bits);
    }
    return CompressedBlock(page, std::move(out), desc);
  }
  // Block form of `variable`: width of an offset in bits, start of the data, offsets from 0, data.
  uint64_t width = large ? 8 : 4;
  auto number = [&](uint64_t x) {
    if (width == 8)
      AppendInt<uint64_t>(&out, x);
    else
      AppendInt<uint32_t>(&out, static_cast<uint32_t>(x));
  };
  CodecDesc offsets;
  offsets.kind = CodecKind::kFlat;
  offsets.bits = width * 8;
  desc->kind = CodecKind::kVariable;
  desc->children = {offsets};
  number(width * 8);
  number((static_cast<uint64_t>(items.size()) + 3) * width);
  uint64_t at = 0;
  number(0);
  for (int32_t i = 0; i < items.size(); ++i) number(at += items.at(i).size());
  for (int32_t i = 0; i < items.size(); ++i) Append(&out, items.at(i).data(), items.at(i).size());
  return CompressedBlock(page, std::move(out), desc);
}

}  // namespace pilum::write
