// Dictionaries: the byte-string table, Arrow dictionary arrays brought to one numbering, and dictionaries of one page.
#include <arrow/array.h>
#include <arrow/util/bit_util.h>

#include "pilum/base/utf8.h"
#include "pilum/encoding/write/internal.h"

namespace pilum::write {

namespace {
constexpr size_t kCompressFrom = 128;              // bytes of a dictionary
constexpr size_t kCompressUpTo = size_t{1} << 30;  // what readers take for sure
}  // namespace

int32_t ByteTable::Insert(std::string_view v) {
  if (slots_.size() < 2 * (ends_.size() + 1)) Grow();
  uint64_t h = HashBytes(v.data(), v.size());
  size_t mask = slots_.size() - 1;
  for (size_t i = h & mask;; i = (i + 1) & mask) {
    int32_t id = slots_[i];
    if (id < 0) {
      slots_[i] = size();
      Append(&bytes_, v.data(), v.size());
      ends_.push_back(bytes_.size());
      hashes_.push_back(h);
      return size() - 1;
    }
    if (hashes_[static_cast<size_t>(id)] == h && at(id) == v) return id;
  }
}

void ByteTable::Grow() {
  slots_.assign(std::max<size_t>(64, slots_.size() * 2), -1);
  size_t mask = slots_.size() - 1;
  for (size_t id = 0; id < hashes_.size(); ++id) {
    size_t i = hashes_[id] & mask;
    while (slots_[i] >= 0) i = (i + 1) & mask;
    slots_[i] = static_cast<int32_t>(id);
  }
}

void ByteTable::Clear() {
  bytes_.clear();
  ends_.clear();
  hashes_.clear();
  slots_.clear();
}

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

std::optional<PageDictionary> BuildDictionary(const PageContext& page, uint64_t cap) {
  constexpr uint64_t kProbe = 32768;  // after so many valid values, nearly all distinct means: will not pay
  const PageSlice& s = page.slice;
  const ValueStore& v = *s.values;
  const LeafKind& kind = page.kind();
  PageDictionary out;
  out.keys.resize(s.slots);
  if (kind.kind == ValueKind::kDictionary) {
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
  const uint8_t* nulls = page.null_slot.empty() ? nullptr : page.null_slot.data();
  uint64_t seen = 0;
  const char* text = reinterpret_cast<const char*>(v.bytes.data());
  for (uint64_t i = 0; i < s.slots; ++i) {
    if (nulls && nulls[i]) {
      out.keys[i] = 0;
      continue;
    }
    uint64_t slot = s.first_slot + i;
    uint64_t begin = kind.kind == ValueKind::kVariable ? (slot ? v.ends[slot - 1] : 0) : slot * kind.width;
    uint64_t end = kind.kind == ValueKind::kVariable ? v.ends[slot] : begin + kind.width;
    out.keys[i] = out.items.Insert({text + begin, end - begin});
    auto distinct = static_cast<uint64_t>(out.items.size());
    if (distinct > cap || (++seen == kProbe && distinct * 100 > kProbe * 92)) return std::nullopt;
  }
  return out;
}

namespace {
// The block within general compression where the version has it and it is smaller.
BufferPtr CompressedBlock(const PageContext& page, Bytes block, CodecDesc* desc) {
  const GeneralScheme scheme{page.hints->dict_compression.value_or(Compression::kLz4),
                             page.hints->dict_compression_level};
  const bool asked = scheme.scheme != Compression::kNone && page.version != FileVersion::kV2_1;
  if (!asked || block.size() < kCompressFrom || block.size() > kCompressUpTo) return ToBuffer(std::move(block));
  Bytes small;
  AppendCompressed(scheme, block.data(), block.size(), &small);
  if (small.size() >= block.size()) return ToBuffer(std::move(block));
  *desc = GeneralCodec(scheme, std::move(*desc));
  return ToBuffer(std::move(small));
}
}  // namespace

BufferPtr DictionaryBlock(const PageContext& page, const ByteTable& items, CodecDesc* desc) {
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
  auto number = [&](uint64_t x) { Append(&out, &x, width); };
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
