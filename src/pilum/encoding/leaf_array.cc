#include "pilum/encoding/leaf_array.h"

#include <cstring>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>

#include "pilum/base/bytes.h"

namespace pilum {

using codec::Allocate;
using codec::BadBytes;
using codec::CheckOutput;
using codec::DataBlock;

const arrow::DataType& StorageType(const arrow::DataType& type) {
  const arrow::DataType* t = &type;
  while (t->id() == arrow::Type::EXTENSION) t = static_cast<const arrow::ExtensionType*>(t)->storage_type().get();
  return *t;
}

bool IsWide(const arrow::DataType& type) {
  auto id = StorageType(type).id();
  return id == arrow::Type::LARGE_STRING || id == arrow::Type::LARGE_BINARY;
}

uint64_t FixedBits(const arrow::DataType& type) {
  const arrow::DataType& t = StorageType(type);
  if (t.id() == arrow::Type::FIXED_SIZE_LIST) {
    const auto& list = static_cast<const arrow::FixedSizeListType&>(t);
    return CheckedMul(FixedBits(*list.value_type()), static_cast<uint64_t>(list.list_size())).value_or(UINT64_MAX);
  }
  if (t.id() == arrow::Type::DICTIONARY) return 0;
  const auto* fixed = dynamic_cast<const arrow::FixedWidthType*>(&t);
  return fixed ? static_cast<uint64_t>(fixed->bit_width()) : 0;
}

namespace {

Status Mismatch(const arrow::DataType& type, std::string_view what) {
  return BadBytes("{} as values of type {}", what, type.ToString());
}

Result<BufferPtr> PackBools(const DataBlock& block, arrow::MemoryPool* pool) {
  PILUM_ASSIGN_OR_RETURN(auto bits, Allocate((block.count + 7) / 8, pool));
  uint8_t* out = bits->mutable_data();
  std::memset(out, 0, bits->size());
  const uint8_t* in = block.data->data();
  for (uint64_t i = 0; i < block.count; ++i) out[i / 8] = static_cast<uint8_t>(out[i / 8] | (in[i] != 0) << (i % 8));
  return BufferPtr(std::move(bits));
}

Result<std::shared_ptr<arrow::ArrayData>> MakeFixed(const std::shared_ptr<arrow::DataType>& type,
                                                    const arrow::DataType& storage, DataBlock block, const Validity& v,
                                                    arrow::MemoryPool* pool) {
  if (block.kind != DataBlock::Kind::kFixed) return Mismatch(*type, "variable or nested values");
  if (storage.id() == arrow::Type::BOOL && block.bits == 8) {
    PILUM_ASSIGN_OR_RETURN(block.data, PackBools(block, pool));
    block.bits = 1;
  }
  if (block.bits != FixedBits(storage)) return Mismatch(*type, fmt::format("{}-bit values", block.bits));
  return arrow::ArrayData::Make(type, static_cast<int64_t>(block.count), {v.bitmap, block.data}, v.null_count);
}

Result<std::shared_ptr<arrow::ArrayData>> MakeList(const std::shared_ptr<arrow::DataType>& type,
                                                   const arrow::FixedSizeListType& list, DataBlock block,
                                                   const Validity& v, arrow::MemoryPool* pool) {
  const uint64_t dim = static_cast<uint64_t>(list.list_size());
  Validity inner;
  DataBlock items;
  if (block.kind == DataBlock::Kind::kFixedSizeList) {
    if (block.dimension != dim) return Mismatch(*type, fmt::format("lists of {}", block.dimension));
    items = std::move(block.children[0]);
    if (block.validity) {
      inner.bitmap = block.validity;
      inner.null_count = arrow::kUnknownNullCount;
    }
  } else if (block.kind == DataBlock::Kind::kFixed && dim > 0 && block.bits % dim == 0) {  // a field of a packed struct
    items = block;
    items.count = block.count * dim;
    items.bits = block.bits / dim;
  } else {
    return Mismatch(*type, "these values");
  }
  inner.count = items.count;
  PILUM_ASSIGN_OR_RETURN(auto child, MakeLeaf(list.value_type(), std::move(items), inner, pool));
  return arrow::ArrayData::Make(type, static_cast<int64_t>(block.count), {v.bitmap}, {std::move(child)}, v.null_count);
}

Result<std::shared_ptr<arrow::ArrayData>> MakeStruct(const std::shared_ptr<arrow::DataType>& type,
                                                     const arrow::DataType& storage, DataBlock block, const Validity& v,
                                                     arrow::MemoryPool* pool) {
  if (block.kind != DataBlock::Kind::kStruct || static_cast<int>(block.children.size()) != storage.num_fields()) {
    return Mismatch(*type, "these values");
  }
  std::vector<std::shared_ptr<arrow::ArrayData>> children;
  for (int i = 0; i < storage.num_fields(); ++i) {
    Validity all{block.children[i].count, nullptr, 0};
    PILUM_ASSIGN_OR_RETURN(auto child, MakeLeaf(storage.field(i)->type(), std::move(block.children[i]), all, pool));
    children.push_back(std::move(child));
  }
  return arrow::ArrayData::Make(type, static_cast<int64_t>(block.count), {v.bitmap}, std::move(children), v.null_count);
}

}  // namespace

Result<std::shared_ptr<arrow::ArrayData>> MakeLeaf(const std::shared_ptr<arrow::DataType>& type, DataBlock block,
                                                   const Validity& v, arrow::MemoryPool* pool) {
  if (v.count != block.count) return BadBytes("{} values for {} slots", block.count, v.count);
  const arrow::DataType& storage = StorageType(*type);
  switch (storage.id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      if (block.kind != DataBlock::Kind::kVariable || block.wide != IsWide(storage))
        return Mismatch(*type, "these values");
      return arrow::ArrayData::Make(type, static_cast<int64_t>(block.count), {v.bitmap, block.offsets, block.data},
                                    v.null_count);
    case arrow::Type::FIXED_SIZE_LIST:
      return MakeList(type, static_cast<const arrow::FixedSizeListType&>(storage), std::move(block), v, pool);
    case arrow::Type::STRUCT: return MakeStruct(type, storage, std::move(block), v, pool);
    default:
      if (FixedBits(storage) == 0) return Mismatch(*type, "these values");
      return MakeFixed(type, storage, std::move(block), v, pool);
  }
}

namespace {

bool IsSet(const uint8_t* bits, uint64_t i) { return bits[i / 8] >> (i % 8) & 1; }

template <typename T>
PILUM_VECTORIZE T Largest(const T* keys, uint64_t n) {
  T largest = 0;
  for (uint64_t i = 0; i < n; ++i) largest = keys[i] > largest ? keys[i] : largest;
  return largest;
}

// Keys of valid slots must be below `items`; those of nulls become 0.
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

// Works on a private block: its buffer was made by a decoder and nobody else has it.
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

Status CheckKeyBlock(const DataBlock& keys) {
  if (keys.kind == DataBlock::Kind::kFixed && (keys.bits == 8 || keys.bits == 16 || keys.bits == 32 || keys.bits == 64))
    return Status::OK();
  return BadBytes("dictionary keys of an odd width");
}

template <typename Key, int kWidth>
void GatherFixed(const Key* keys, uint64_t n, const uint8_t* items, uint8_t* out) {
  for (uint64_t i = 0; i < n; ++i) std::memcpy(out + i * kWidth, items + keys[i] * kWidth, kWidth);
}

template <typename Key>
Result<DataBlock> GatherFixedBlock(const Key* keys, uint64_t n, const DataBlock& items, arrow::MemoryPool* pool) {
  const uint64_t width = items.bits / 8;
  PILUM_RETURN_NOT_OK(CheckOutput(n, items.bits));
  PILUM_ASSIGN_OR_RETURN(auto data, Allocate(n * width, pool));
  uint8_t* out = data->mutable_data();
  const uint8_t* in = items.data->data();
  switch (width) {
    case 4: GatherFixed<Key, 4>(keys, n, in, out); break;
    case 8: GatherFixed<Key, 8>(keys, n, in, out); break;
    case 16: GatherFixed<Key, 16>(keys, n, in, out); break;
    default:
      for (uint64_t i = 0; i < n; ++i) std::memcpy(out + i * width, in + keys[i] * width, width);
  }
  DataBlock b;
  b.count = n;
  b.bits = items.bits;
  b.data = std::move(data);
  return b;
}

template <int kBytes, typename Key, typename Off>
void CopyShort(const Key* keys, uint64_t n, const Off* starts, const uint8_t* bytes, const Off* out, uint8_t* to) {
  for (uint64_t i = 0; i < n; ++i) std::memcpy(to + out[i], bytes + starts[keys[i]], kBytes);
}

template <typename Key, typename Off>
Result<DataBlock> GatherVariable(const Key* keys, uint64_t n, const DataBlock& items, arrow::MemoryPool* pool) {
  const Off* in = reinterpret_cast<const Off*>(items.offsets->data());
  const uint8_t* bytes = items.data->data();
  PILUM_RETURN_NOT_OK(CheckOutput(n + 1, sizeof(Off) * 8));
  PILUM_ASSIGN_OR_RETURN(auto offsets, Allocate((n + 1) * sizeof(Off), pool));
  Off* out = reinterpret_cast<Off*>(offsets->mutable_data());
  uint64_t total = 0, longest = 0;
  for (uint64_t i = 0; i < n; ++i) {
    out[i] = static_cast<Off>(total);
    uint64_t size = static_cast<uint64_t>(in[keys[i] + 1] - in[keys[i]]);
    longest = std::max(longest, size);
    total += size;
  }
  out[n] = static_cast<Off>(total);
  PILUM_RETURN_NOT_OK(CheckOutput(total, 8));
  if (sizeof(Off) == 4 && total > INT32_MAX) {
    return MakeError(ErrorKind::kMemory, fmt::format("{} values hold {} bytes, more than 32-bit offsets reach; "
                                                     "read fewer rows at a time",
                                                     n, total));
  }
  PILUM_ASSIGN_OR_RETURN(auto data, Allocate(total, pool));
  uint8_t* to = data->mutable_data();
  // Short values: one unaligned copy of a fixed size each (items and output have that much slack).
  if (longest <= 16)
    CopyShort<16>(keys, n, in, bytes, out, to);
  else if (longest <= 32)
    CopyShort<32>(keys, n, in, bytes, out, to);
  else if (longest <= 64)
    CopyShort<64>(keys, n, in, bytes, out, to);
  else {
    for (uint64_t i = 0; i < n; ++i)
      std::memcpy(to + out[i], bytes + in[keys[i]], static_cast<size_t>(out[i + 1] - out[i]));
  }
  DataBlock b;
  b.kind = DataBlock::Kind::kVariable;
  b.count = n;
  b.wide = sizeof(Off) == 8;
  b.offsets = std::move(offsets);
  b.data = std::move(data);
  return b;
}

template <typename Key>
Result<DataBlock> GatherBy(const DataBlock& indices, const DataBlock& items, arrow::MemoryPool* pool) {
  const Key* keys = reinterpret_cast<const Key*>(indices.data->data());
  if (items.kind == DataBlock::Kind::kFixed && items.bits % 8 == 0)
    return GatherFixedBlock(keys, indices.count, items, pool);
  if (items.kind != DataBlock::Kind::kVariable) return Unsupported("a dictionary of nested values");
  return items.wide ? GatherVariable<Key, int64_t>(keys, indices.count, items, pool)
                    : GatherVariable<Key, int32_t>(keys, indices.count, items, pool);
}

}  // namespace

Result<DataBlock> GatherDictionary(const DataBlock& indices, const DataBlock& items, const Validity& v,
                                   arrow::MemoryPool* pool) {
  PILUM_RETURN_NOT_OK(CheckKeyBlock(indices));
  if (v.count != indices.count) return BadBytes("{} keys for {} slots", indices.count, v.count);
  PILUM_RETURN_NOT_OK(CheckKeys(indices, items.count, v));
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
    return GatherDictionary(indices, one, v, pool);
  }
  switch (indices.bits) {
    case 8: return GatherBy<uint8_t>(indices, items, pool);
    case 16: return GatherBy<uint16_t>(indices, items, pool);
    case 32: return GatherBy<uint32_t>(indices, items, pool);
    default: return GatherBy<uint64_t>(indices, items, pool);
  }
}

Result<std::shared_ptr<arrow::ArrayData>> MakeDictionary(const std::shared_ptr<arrow::DataType>& type,
                                                         DataBlock indices, const std::shared_ptr<arrow::Array>& items,
                                                         const Validity& v) {
  PILUM_RETURN_NOT_OK(CheckKeyBlock(indices));
  const auto& dict = static_cast<const arrow::DictionaryType&>(StorageType(*type));
  if (indices.bits != FixedBits(*dict.index_type())) {
    return Mismatch(*type, fmt::format("{}-bit keys", indices.bits));
  }
  if (v.count != indices.count) return BadBytes("{} keys for {} slots", indices.count, v.count);
  // Keys are checked as unsigned; a signed key type also ends at its largest value, past which Arrow would see minus.
  const bool sign = arrow::is_signed_integer(dict.index_type()->id());
  const uint64_t keys_end = sign ? uint64_t{1} << (indices.bits - 1) : UINT64_MAX;
  PILUM_RETURN_NOT_OK(CheckKeys(indices, std::min(static_cast<uint64_t>(items->length()), keys_end), v));
  auto data = arrow::ArrayData::Make(type, static_cast<int64_t>(indices.count), {v.bitmap, indices.data}, v.null_count);
  data->dictionary = items->data();
  return data;
}

Result<std::shared_ptr<arrow::ArrayData>> MakeNulls(const std::shared_ptr<arrow::DataType>& type, uint64_t n,
                                                    arrow::MemoryPool* pool) {
  const arrow::DataType& storage = StorageType(*type);
  if (storage.id() == arrow::Type::STRUCT && storage.num_fields() == 0) {
    return arrow::ArrayData::Make(type, static_cast<int64_t>(n), {nullptr}, 0);
  }
  PILUM_RETURN_NOT_OK(CheckOutput(n, std::max<uint64_t>(FixedBits(*type), 64)));
  PILUM_ASSIGN_OR_RETURN(auto nulls, arrow::MakeArrayOfNull(type, static_cast<int64_t>(n), pool));
  return nulls->data();
}

}  // namespace pilum
