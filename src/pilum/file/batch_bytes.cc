#include "pilum/file/batch_bytes.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/array_nested.h>
#include <arrow/buffer.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/bitmap_ops.h>

namespace pilum {
namespace {

uint64_t Bits(int64_t n) { return static_cast<uint64_t>(n + 7) / 8; }

template <typename Offset>
std::pair<int64_t, int64_t> OffsetsAt(const arrow::ArrayData& array, int64_t from, int64_t length) {
  if (array.buffers[1] == nullptr || array.buffers[1]->size() == 0) return {0, 0};
  const Offset* offsets = array.GetValues<Offset>(1);  // moved by array.offset
  return {static_cast<int64_t>(offsets[from]), static_cast<int64_t>(offsets[from + length])};
}

template <typename Offset>
uint64_t BinaryBytes(const arrow::ArrayData& array, int64_t offset, int64_t length) {
  const auto [begin, end] = OffsetsAt<Offset>(array, offset, length);
  return static_cast<uint64_t>(length + 1) * sizeof(Offset) + static_cast<uint64_t>(end - begin);
}

template <typename Offset>
uint64_t ListBytes(const arrow::ArrayData& array, int64_t offset, int64_t length) {
  const auto [begin, end] = OffsetsAt<Offset>(array, offset, length);
  return static_cast<uint64_t>(length + 1) * sizeof(Offset) + SliceBytes(*array.child_data[0], begin, end - begin);
}

uint64_t ValueBytes(const arrow::ArrayData& array, const arrow::DataType& type, int64_t offset, int64_t length) {
  switch (type.id()) {
    case arrow::Type::NA: return 0;
    case arrow::Type::STRING:
    case arrow::Type::BINARY: return BinaryBytes<int32_t>(array, offset, length);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY: return BinaryBytes<int64_t>(array, offset, length);
    case arrow::Type::LIST:
    case arrow::Type::MAP: return ListBytes<int32_t>(array, offset, length);
    case arrow::Type::LARGE_LIST: return ListBytes<int64_t>(array, offset, length);
    case arrow::Type::FIXED_SIZE_LIST: {
      const int64_t size = static_cast<const arrow::FixedSizeListType&>(type).list_size();
      return SliceBytes(*array.child_data[0], (array.offset + offset) * size, length * size);
    }
    case arrow::Type::STRUCT: {
      uint64_t n = 0;
      for (const auto& child : array.child_data) n += SliceBytes(*child, array.offset + offset, length);
      return n;
    }
    case arrow::Type::DICTIONARY: {
      const auto& keys = static_cast<const arrow::DictionaryType&>(type).index_type();
      return Bits(length * keys->bit_width()) + SliceBytes(*array.dictionary, 0, array.dictionary->length);
    }
    case arrow::Type::EXTENSION:
      return ValueBytes(array, *static_cast<const arrow::ExtensionType&>(type).storage_type(), offset, length);
    default: return Bits(length * std::max(0, type.bit_width()));
  }
}

uint64_t TotalBytes(const std::vector<std::shared_ptr<arrow::Array>>& arrays, int64_t offset, int64_t length) {
  uint64_t n = 0;
  for (const auto& array : arrays) n += SliceBytes(*array->data(), offset, length);
  return n;
}

}  // namespace

uint64_t SliceBytes(const arrow::ArrayData& array, int64_t offset, int64_t length) {
  const bool validity = !array.buffers.empty() && array.buffers[0] != nullptr;
  return (validity ? Bits(length) : 0) + ValueBytes(array, *array.type, offset, length);
}

int64_t RowsThatFit(const std::vector<std::shared_ptr<arrow::Array>>& arrays, int64_t offset, int64_t most,
                    uint64_t bytes) {
  if (TotalBytes(arrays, offset, most) <= bytes) return most;
  int64_t fits = 1, too_many = most;  // bytes never fall with rows
  while (fits + 1 < too_many) {
    const int64_t middle = fits + (too_many - fits) / 2;
    (TotalBytes(arrays, offset, middle) <= bytes ? fits : too_many) = middle;
  }
  return fits;
}

Result<std::shared_ptr<arrow::Array>> CompactDictionaries(const std::shared_ptr<arrow::Array>& array,
                                                          arrow::MemoryPool* pool) {
  if (array->type_id() == arrow::Type::DICTIONARY)
    return static_cast<const arrow::DictionaryArray&>(*array).Compact(pool);
  if (array->type_id() != arrow::Type::STRUCT) return array;
  const auto& rows = static_cast<const arrow::StructArray&>(*array);
  arrow::ArrayVector fields;
  for (int i = 0; i < rows.num_fields(); ++i) {
    PILUM_ASSIGN_OR_RETURN(auto field, CompactDictionaries(rows.field(i), pool));  // cut to these rows
    fields.push_back(std::move(field));
  }
  if (fields.empty()) return array;
  // The bitmap and where it begins stay; the fields begin at 0 now.
  auto out = array->data()->Copy();
  if (out->offset != 0 && out->buffers[0] != nullptr) {
    PILUM_ASSIGN_OR_RETURN(out->buffers[0],
                           arrow::internal::CopyBitmap(pool, out->buffers[0]->data(), out->offset, out->length));
  }
  out->offset = 0;
  for (size_t i = 0; i < fields.size(); ++i) out->child_data[i] = fields[i]->data();
  return arrow::MakeArray(std::move(out));
}

}  // namespace pilum
