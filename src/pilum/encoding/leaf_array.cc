#include "pilum/encoding/leaf_array.h"

#include <cstring>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>

#include "pilum/base/bytes.h"
#include "pilum/encoding/dictionary_keys.h"

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
    case arrow::Type::NA:  // items of fixed-size lists, of which nothing is stored
      return arrow::ArrayData::Make(type, static_cast<int64_t>(block.count), {nullptr},
                                    static_cast<int64_t>(block.count));
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
      if (FixedBits(storage) == 0 && storage.id() != arrow::Type::FIXED_SIZE_BINARY)
        return Mismatch(*type, "these values");
      return MakeFixed(type, storage, std::move(block), v, pool);
  }
}

Result<std::shared_ptr<arrow::ArrayData>> MakeDictionary(const std::shared_ptr<arrow::DataType>& type,
                                                         DataBlock indices, const std::shared_ptr<arrow::Array>& items,
                                                         const Validity& v) {
  PILUM_RETURN_NOT_OK(CheckKeyBits(indices));
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
