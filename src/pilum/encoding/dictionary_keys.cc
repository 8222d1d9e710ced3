#include "pilum/encoding/dictionary_keys.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <arrow/util/bitmap_ops.h>

#include "pilum/base/bytes.h"
#include "pilum/encoding/gathered.h"

namespace pilum {

using codec::Allocate;
using codec::BadBytes;
using codec::CheckOutput;
using codec::DataBlock;

namespace {

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

}  // namespace

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
