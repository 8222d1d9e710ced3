#include "pilum/encoding/dictionary_keys.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>

#include <arrow/util/bitmap_ops.h>

#include "pilum/base/bytes.h"
#include "pilum/base/recycling_pool.h"

namespace pilum {

using codec::Allocate;
using codec::BadBytes;
using codec::CheckOutput;
using codec::DataBlock;

namespace {

DataBlock VariableBlock(uint64_t n, bool wide, BufferPtr offsets, BufferPtr data) {
  DataBlock b;
  b.kind = DataBlock::Kind::kVariable;
  b.count = n;
  b.wide = wide;
  b.offsets = std::move(offsets);
  b.data = std::move(data);
  return b;
}

bool IsSet(const uint8_t* bits, uint64_t i) { return bits[i / 8] >> (i % 8) & 1; }

template <typename T>
PILUM_VECTORIZE T LargestScalar(const T* keys, uint64_t n) {
  T largest = 0;
  for (uint64_t i = 0; i < n; ++i) largest = keys[i] > largest ? keys[i] : largest;
  return largest;
}

template <typename T>
__attribute__((target("avx2"), optimize("O3"))) T LargestAvx2(const T* keys, uint64_t n) {
  T largest = 0;
  for (uint64_t i = 0; i < n; ++i) largest = keys[i] > largest ? keys[i] : largest;
  return largest;
}

template <typename T>
T Largest(const T* keys, uint64_t n) {
  static const bool avx2 = __builtin_cpu_supports("avx2");
  return avx2 ? LargestAvx2(keys, n) : LargestScalar(keys, n);
}

template <typename T>
bool ClampKeys(T* keys, uint64_t n, uint64_t items, const uint8_t* valid) {
  const T largest = Largest(keys, n);
  if (n == 0 || largest < items) return true;
  if (!valid) return false;
  for (uint64_t i = 0; i < n; ++i) {
    if (keys[i] < items) continue;
    if (IsSet(valid, i)) return false;
    keys[i] = 0;
  }
  return true;
}

}  // namespace

Status CheckKeyBits(const DataBlock& keys) {
  if (keys.kind == DataBlock::Kind::kFixed && (keys.bits == 8 || keys.bits == 16 || keys.bits == 32 || keys.bits == 64))
    return Status::OK();
  return BadBytes("dictionary keys of an odd width");
}

Status CheckKeys(const DataBlock& keys, uint64_t items, const Validity& v) {
  uint8_t* data = const_cast<uint8_t*>(keys.data->data());
  const uint8_t* valid = v.bitmap ? v.bitmap->data() : nullptr;
  bool ok = false;
  switch (keys.bits) {
    case 8: ok = ClampKeys(data, keys.count, items, valid); break;
    case 16: ok = ClampKeys(reinterpret_cast<uint16_t*>(data), keys.count, items, valid); break;
    case 32: ok = ClampKeys(reinterpret_cast<uint32_t*>(data), keys.count, items, valid); break;
    default: ok = ClampKeys(reinterpret_cast<uint64_t*>(data), keys.count, items, valid); break;
  }
  if (!ok) return BadBytes("a key reaches past the {} items of the dictionary", items);
  return Status::OK();
}

namespace {

template <typename Key, int kWidth>
void GatherFixed(const Key* keys, uint64_t n, const uint8_t* items, uint8_t* out) {
  for (uint64_t i = 0; i < n; ++i) std::memcpy(out + i * kWidth, items + keys[i] * kWidth, kWidth);
}

template <typename Key>
Result<DataBlock> GatherFixedBlock(const Key* keys, uint64_t n, const DataBlock& items, arrow::MemoryPool* pool,
                                   StopCheck* stop) {
  const uint64_t width = items.bits / 8;
  PILUM_RETURN_NOT_OK(CheckOutput(n, items.bits));
  PILUM_ASSIGN_OR_RETURN(auto data, Allocate(n * width, pool));
  uint8_t* out = data->mutable_data();
  const uint8_t* in = items.data->data();
  PILUM_RETURN_NOT_OK(InPieces(stop, n, n * width, [&](uint64_t begin, uint64_t end) {
    uint8_t* to = out + begin * width;
    switch (width) {
      case 4: GatherFixed<Key, 4>(keys + begin, end - begin, in, to); break;
      case 8: GatherFixed<Key, 8>(keys + begin, end - begin, in, to); break;
      case 16: GatherFixed<Key, 16>(keys + begin, end - begin, in, to); break;
      default:
        for (uint64_t i = begin; i < end; ++i) std::memcpy(out + i * width, in + keys[i] * width, width);
    }
  }));
  DataBlock b;
  b.count = n;
  b.bits = items.bits;
  b.data = std::move(data);
  return b;
}

// May n values hold `total` bytes behind offsets of this width?
Status CheckGathered(uint64_t n, uint64_t total, size_t offset_bytes) {
  PILUM_RETURN_NOT_OK(CheckOutput(total, 8));
  if (offset_bytes == 8 || total <= INT32_MAX) return Status::OK();
  return MakeError(
      ErrorKind::kMemory,
      fmt::format("{} values hold {} bytes, more than 32-bit offsets reach; read fewer rows at a time", n, total));
}

// Of items of at most `longest` bytes those of keys [begin, end), to their places. Short ones: one unaligned copy of a
// fixed size each (items and output have that much slack).
template <typename Key, typename Off>
void CopyItems(const Key* keys, uint64_t begin, uint64_t end, const Off* starts, const uint8_t* bytes, const Off* out,
               uint64_t longest, uint8_t* to) {
  auto copy = [&]<int kBytes>(std::integral_constant<int, kBytes>) {
    for (uint64_t i = begin; i < end; ++i) std::memcpy(to + out[i], bytes + starts[keys[i]], kBytes);
  };
  if (longest <= 16) return copy(std::integral_constant<int, 16>());
  if (longest <= 32) return copy(std::integral_constant<int, 32>());
  if (longest <= 64) return copy(std::integral_constant<int, 64>());
  for (uint64_t i = begin; i < end; ++i)
    std::memcpy(to + out[i], bytes + starts[keys[i]], static_cast<size_t>(out[i + 1] - out[i]));
}

template <typename Key, typename Off>
Result<DataBlock> GatherVariable(const Key* keys, uint64_t n, const DataBlock& items, arrow::MemoryPool* pool,
                                 StopCheck* stop) {
  const Off* in = reinterpret_cast<const Off*>(items.offsets->data());
  PILUM_RETURN_NOT_OK(CheckOutput(n + 1, sizeof(Off) * 8));
  PILUM_ASSIGN_OR_RETURN(auto offsets, Allocate((n + 1) * sizeof(Off), pool));
  Off* out = reinterpret_cast<Off*>(offsets->mutable_data());
  uint64_t total = 0, longest = 0;
  PILUM_RETURN_NOT_OK(InPieces(stop, n, n * sizeof(Off), [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      out[i] = static_cast<Off>(total);
      uint64_t size = static_cast<uint64_t>(in[keys[i] + 1] - in[keys[i]]);
      longest = std::max(longest, size);
      total += size;
    }
  }));
  out[n] = static_cast<Off>(total);
  PILUM_RETURN_NOT_OK(CheckGathered(n, total, sizeof(Off)));
  PILUM_ASSIGN_OR_RETURN(auto data, Allocate(total, pool));
  PILUM_RETURN_NOT_OK(InPieces(stop, n, total, [&](uint64_t begin, uint64_t end) {
    CopyItems(keys, begin, end, in, items.data->data(), out, longest, data->mutable_data());
  }));
  return VariableBlock(n, sizeof(Off) == 8, std::move(offsets), std::move(data));
}

template <typename Key>
Result<DataBlock> GatherBy(const DataBlock& indices, const DataBlock& items, arrow::MemoryPool* pool, StopCheck* stop) {
  const Key* keys = reinterpret_cast<const Key*>(indices.data->data());
  if (items.kind == DataBlock::Kind::kFixed && items.bits % 8 == 0)
    return GatherFixedBlock(keys, indices.count, items, pool, stop);
  if (items.kind != DataBlock::Kind::kVariable) return Unsupported("a dictionary of nested values");
  return items.wide ? GatherVariable<Key, int64_t>(keys, indices.count, items, pool, stop)
                    : GatherVariable<Key, int32_t>(keys, indices.count, items, pool, stop);
}

// Items [key * dimension, + dimension) of a list for each key: its children, and their validity.
Result<DataBlock> GatherLists(const std::vector<uint64_t>& keys, const DataBlock& list, arrow::MemoryPool* pool,
                              StopCheck* stop) {
  const DataBlock& items = list.children[0];
  const uint64_t dim = list.dimension;
  DataBlock out;
  out.kind = list.kind;
  out.dimension = dim;
  out.count = keys.size();
  const bool nested = items.kind == DataBlock::Kind::kFixedSizeList;
  if (!nested && (items.kind != DataBlock::Kind::kFixed || items.bits % 8 != 0))
    return Unsupported("a dictionary of nested values");
  const auto count = CheckedMul(keys.size(), dim);
  if (!count) return BadBytes("{} lists of {} items", keys.size(), dim);
  PILUM_RETURN_NOT_OK(codec::CheckOutput(*count, nested ? 64 : items.bits));
  if (list.validity) {
    PILUM_ASSIGN_OR_RETURN(auto bits, Allocate((*count + 7) / 8, pool));
    for (size_t i = 0; i < keys.size(); ++i) {
      arrow::internal::CopyBitmap(list.validity->data(), static_cast<int64_t>(keys[i] * dim), static_cast<int64_t>(dim),
                                  bits->mutable_data(), static_cast<int64_t>(i * dim));
    }
    out.validity = std::move(bits);
  }
  if (nested) {
    std::vector<uint64_t> inner;
    inner.reserve(*count);
    for (uint64_t key : keys) {
      for (uint64_t k = 0; k < dim; ++k) inner.push_back(key * dim + k);
    }
    PILUM_ASSIGN_OR_RETURN(DataBlock child, GatherLists(inner, items, pool, stop));
    out.children.push_back(std::move(child));
    return out;
  }
  const uint64_t bytes = dim * (items.bits / 8);
  PILUM_ASSIGN_OR_RETURN(auto data, Allocate(keys.size() * bytes, pool));
  PILUM_RETURN_NOT_OK(InPieces(stop, keys.size(), keys.size() * bytes, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i)
      std::memcpy(data->mutable_data() + i * bytes, items.data->data() + keys[i] * bytes, bytes);
  }));
  DataBlock child = items;
  child.count = *count;
  child.data = std::move(data);
  out.children.push_back(std::move(child));
  return out;
}

// Keys of nulls may be anything; the others were checked.
std::vector<uint64_t> KeysOf(const DataBlock& indices, uint64_t num_items) {
  std::vector<uint64_t> keys(indices.count);
  const uint64_t width = indices.bits / 8;
  for (uint64_t i = 0; i < indices.count; ++i) {
    std::memcpy(&keys[i], indices.data->data() + i * width, width);
    if (keys[i] >= num_items) keys[i] = 0;
  }
  return keys;
}

// --- the table

constexpr uint64_t kSmallSlot = 16, kLargeSlot = 32;
constexpr uint64_t kMostTableBytes = 1 << 20;
constexpr uint64_t kMostRoom = 4 << 20;

struct ItemSlots {
  uint64_t slot;  // bytes of one
  const uint8_t *slots, *lengths;
  bool equal;  // all lengths are
  uint64_t longest;
  bool alike;  // the longest is at most twice the mean
};

template <typename Offset>
const Offset* OffsetsOf(const DataBlock& items) {
  return reinterpret_cast<const Offset*>(items.offsets->data());
}

template <typename Offset>
uint64_t Longest(const DataBlock& items) {
  const Offset* at = OffsetsOf<Offset>(items);
  Offset longest = 0;
  for (uint64_t i = 0; i < items.count; ++i) longest = std::max(longest, at[i + 1] - at[i]);
  return static_cast<uint64_t>(longest);
}

template <typename Offset>
void Widen(const DataBlock& items, uint64_t slot, uint8_t* slots, uint8_t* lengths) {
  const Offset* at = OffsetsOf<Offset>(items);
  for (uint64_t i = 0; i < items.count; ++i) {
    lengths[i] = static_cast<uint8_t>(at[i + 1] - at[i]);
    if (lengths[i] > 0) std::memcpy(slots + i * slot, items.data->data() + at[i], lengths[i]);
  }
}

template <typename Key>
uint64_t SumLengths(const Key* keys, uint64_t n, const uint8_t* lengths) {
  uint64_t a = 0, b = 0, c = 0, d = 0, i = 0;
  for (; i + 4 <= n; i += 4) {
    a += lengths[keys[i]];
    b += lengths[keys[i + 1]];
    c += lengths[keys[i + 2]];
    d += lengths[keys[i + 3]];
  }
  for (; i < n; ++i) a += lengths[keys[i]];
  return a + b + c + d;
}

// Each store writes a whole slot: what is past the item, the next one writes over, or it lies in the block's slack.
// offsets[begin] is there; those of the rows behind it are added.
template <uint64_t kSlot, typename Key, typename Offset>
void Fill(const Key* keys, uint64_t begin, uint64_t end, const ItemSlots& s, Offset* offsets, uint8_t* out) {
  auto at = static_cast<uint64_t>(offsets[begin]);
  const uint8_t *slots = s.slots, *lengths = s.lengths;
  for (uint64_t i = begin; i < end; ++i) {
    const uint64_t key = keys[i];
    std::memcpy(out + at, slots + key * kSlot, kSlot);
    at += lengths[key];
    offsets[i + 1] = static_cast<Offset>(at);
  }
}

// Where all items are of one length, no row waits for the one before it.
template <uint64_t kSlot, typename Key>
void FillEqual(const Key* keys, uint64_t begin, uint64_t end, const ItemSlots& s, uint8_t* out) {
  const uint64_t length = s.lengths[0];
  const uint8_t* slots = s.slots;
  for (uint64_t i = begin; i < end; ++i) std::memcpy(out + i * length, slots + keys[i] * kSlot, kSlot);
}

// offsets[i] for begin < i <= end.
template <typename Offset>
PILUM_VECTORIZE void FillMultiples(uint64_t begin, uint64_t end, uint64_t length, Offset* offsets) {
  for (uint64_t i = begin + 1; i <= end; ++i) offsets[i] = static_cast<Offset>(i * length);
}

template <uint64_t kSlot, typename Key, typename Offset>
void FillAny(const Key* keys, uint64_t begin, uint64_t end, const ItemSlots& s, Offset* offsets, uint8_t* out) {
  if (!s.equal) return Fill<kSlot>(keys, begin, end, s, offsets, out);
  FillMultiples(begin, end, s.longest, offsets);
  FillEqual<kSlot>(keys, begin, end, s, out);
}

// A block with a copy of `data` that takes no more room than it needs.
template <typename Offset>
Result<DataBlock> Shrunk(uint64_t n, BufferPtr offsets, const arrow::Buffer& data, arrow::MemoryPool* pool) {
  PILUM_ASSIGN_OR_RETURN(auto small, Allocate(static_cast<uint64_t>(data.size()), pool));
  std::memcpy(small->mutable_data(), data.data(), static_cast<size_t>(data.size()));
  return VariableBlock(n, sizeof(Offset) == 8, std::move(offsets), std::move(small));
}

template <typename Offset, typename Key>
Result<DataBlock> GatherSlots(const Key* keys, uint64_t n, const ItemSlots& s, arrow::MemoryPool* pool,
                              StopCheck* stop) {
  PILUM_RETURN_NOT_OK(CheckOutput(n + 1, sizeof(Offset) * 8));
  // Room for the longest is had at once where that is not much more; else the lengths are added up first.
  const bool roomy = !s.equal && s.alike && n * s.longest <= kMostRoom;
  uint64_t room = s.equal || roomy ? n * s.longest : 0;
  if (!s.equal && !roomy) {
    PILUM_RETURN_NOT_OK(InPieces(stop, n, n * sizeof(Key), [&](uint64_t begin, uint64_t end) {
      room += SumLengths(keys + begin, end - begin, s.lengths);
    }));
  }
  PILUM_RETURN_NOT_OK(CheckGathered(n, room, sizeof(Offset)));
  PILUM_ASSIGN_OR_RETURN(auto offsets, Allocate((n + 1) * sizeof(Offset), pool));
  PILUM_ASSIGN_OR_RETURN(auto data, Allocate(room, pool));
  auto* ends = reinterpret_cast<Offset*>(offsets->mutable_data());
  uint8_t* out = data->mutable_data();
  ends[0] = 0;
  PILUM_RETURN_NOT_OK(InPieces(stop, n, room + n * sizeof(Offset), [&](uint64_t begin, uint64_t end) {
    if (s.slot == kSmallSlot)
      FillAny<kSmallSlot>(keys, begin, end, s, ends, out);
    else
      FillAny<kLargeSlot>(keys, begin, end, s, ends, out);
  }));
  if (roomy) {
    const auto total = static_cast<uint64_t>(ends[n]);
    PILUM_RETURN_NOT_OK(data->Resize(static_cast<int64_t>(total), /*shrink_to_fit=*/false));
    if (total < room / 2) return Shrunk<Offset>(n, std::move(offsets), *data, pool);
  }
  return VariableBlock(n, sizeof(Offset) == 8, std::move(offsets), std::move(data));
}

}  // namespace

std::unique_ptr<const ItemTable> ItemTable::Make(const DataBlock& items, arrow::MemoryPool* pool) {
  if (items.kind != DataBlock::Kind::kVariable || items.count == 0) return nullptr;
  const uint64_t longest = items.wide ? Longest<int64_t>(items) : Longest<int32_t>(items);
  const uint64_t slot = longest <= kSmallSlot ? kSmallSlot : kLargeSlot;
  if (longest > kLargeSlot || items.count > kMostTableBytes / slot) return nullptr;
  auto slots = Allocate(items.count * slot, pool), lengths = Allocate(items.count, pool);
  if (!slots.ok() || !lengths.ok()) return nullptr;
  uint8_t *to = (*slots)->mutable_data(), *sizes = (*lengths)->mutable_data();
  std::memset(to, 0, items.count * slot);  // what is behind an item is given out, past the end of a block
  if (items.wide)
    Widen<int64_t>(items, slot, to, sizes);
  else
    Widen<int32_t>(items, slot, to, sizes);
  auto t = std::make_unique<ItemTable>();
  t->wide_ = items.wide;
  t->slot_ = slot;
  t->longest_ = longest;
  const auto total = std::accumulate(sizes, sizes + items.count, uint64_t{0});
  t->alike_ = longest * items.count <= 2 * total;
  t->equal_ = std::all_of(sizes, sizes + items.count, [&](uint8_t n) { return n == sizes[0]; });
  t->slots_ = *std::move(slots);
  t->lengths_ = *std::move(lengths);
  return t;
}

Result<DataBlock> ItemTable::Gather(const DataBlock& keys, arrow::MemoryPool* pool, StopCheck* stop) const {
  const ItemSlots slots{slot_, slots_->data(), lengths_->data(), equal_, longest_, alike_};
  auto by = [&](const auto* k) {
    return wide_ ? GatherSlots<int64_t>(k, keys.count, slots, pool, stop)
                 : GatherSlots<int32_t>(k, keys.count, slots, pool, stop);
  };
  const uint8_t* data = keys.data->data();
  switch (keys.bits) {
    case 8: return by(data);
    case 16: return by(reinterpret_cast<const uint16_t*>(data));
    case 32: return by(reinterpret_cast<const uint32_t*>(data));
    default: return by(reinterpret_cast<const uint64_t*>(data));
  }
}

const ItemTable* LazyItemTable::For(const DataBlock& items, uint64_t rows) const {
  if (rows < items.count / 4) return nullptr;  // too few to pay for it
  std::call_once(once_, [&] { table_ = ItemTable::Make(items, DefaultReadPool()); });
  return table_.get();
}

Result<DataBlock> GatherDictionary(const DataBlock& indices, const DataBlock& items, const Validity& v,
                                   arrow::MemoryPool* pool, const LazyItemTable* table, StopCheck* stop) {
  PILUM_RETURN_NOT_OK(CheckKeyBits(indices));
  if (v.count != indices.count) return BadBytes("{} keys for {} slots", indices.count, v.count);
  PILUM_RETURN_NOT_OK(CheckKeys(indices, items.count, v));
  if (items.kind == DataBlock::Kind::kFixedSizeList) {
    if (items.count == 0 && indices.count > 0) return BadBytes("a dictionary of no lists");
    return GatherLists(KeysOf(indices, items.count), items, pool, stop);
  }
  if (items.count == 0 && indices.count > 0) {  // all null: one empty value for all to point at
    DataBlock one = items;
    one.count = 1;
    uint64_t offset_bytes = items.wide ? 16 : 8,
             value_bytes = items.kind == DataBlock::Kind::kFixed ? (items.bits + 7) / 8 : 0;
    PILUM_RETURN_NOT_OK(CheckOutput(1, items.bits));
    PILUM_ASSIGN_OR_RETURN(auto offsets, Allocate(offset_bytes, pool));
    PILUM_ASSIGN_OR_RETURN(auto data, Allocate(value_bytes, pool));
    std::memset(offsets->mutable_data(), 0, offset_bytes);
    std::memset(data->mutable_data(), 0, value_bytes);
    one.offsets = std::move(offsets);
    one.data = std::move(data);
    return GatherDictionary(indices, one, v, pool, nullptr, stop);
  }
  if (const ItemTable* t = table ? table->For(items, indices.count) : nullptr) return t->Gather(indices, pool, stop);
  switch (indices.bits) {
    case 8: return GatherBy<uint8_t>(indices, items, pool, stop);
    case 16: return GatherBy<uint16_t>(indices, items, pool, stop);
    case 32: return GatherBy<uint32_t>(indices, items, pool, stop);
    default: return GatherBy<uint64_t>(indices, items, pool, stop);
  }
}

}  // namespace pilum
