#include "pilum/table/assemble.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/bitmap_ops.h>

#include "pilum/base/types.h"
#include "pilum/base/validity.h"

namespace pilum {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;
using Arrays = std::vector<ArrayPtr>;

Status Disagree(std::string_view about) {
  return MakeError(ErrorKind::kCorrupt, fmt::format("its data files disagree about {}", about));
}

// A struct is NULL where all its files say so: fields that were added later may have values in it (as pylance reads it).
Result<BufferPtr> StructValidity(const Arrays& parts, arrow::MemoryPool* pool) {
  BufferPtr out;
  for (const ArrayPtr& part : parts) {
    PILUM_ASSIGN_OR_RETURN(const BufferPtr own, ValidityFromZero(*part, pool));
    if (!own) return BufferPtr();
    if (!out) {
      out = own;
    } else {
      PILUM_ASSIGN_OR_RETURN(out,
                             arrow::internal::BitmapOr(pool, out->data(), 0, own->data(), 0, parts[0]->length(), 0));
    }
  }
  return out;
}

Result<ArrayPtr> AssembleStruct(const std::shared_ptr<arrow::DataType>& type, const Arrays& parts, int64_t length,
                                arrow::MemoryPool* pool) {
  arrow::ArrayVector children;
  for (const auto& field : type->fields()) {
    Arrays below;
    for (const ArrayPtr& part : parts) {
      const auto& s = static_cast<const arrow::StructArray&>(*part);
      const int i = s.struct_type()->GetFieldIndex(field->name());
      if (i < 0) continue;
      const bool hides = parts.size() > 1 && part->null_count() > 0;  // no values where its own struct is NULL
      PILUM_ASSIGN_OR_RETURN(below.emplace_back(), hides ? s.GetFlattenedField(i, pool) : Result<ArrayPtr>(s.field(i)));
    }
    PILUM_ASSIGN_OR_RETURN(auto child, AssembleColumn(field->type(), below, length, pool));
    children.push_back(std::move(child));
  }
  PILUM_ASSIGN_OR_RETURN(auto validity, StructValidity(parts, pool));
  return std::make_shared<arrow::StructArray>(type, length, std::move(children), std::move(validity));
}

template <typename List>
Result<ArrayPtr> AssembleList(const std::shared_ptr<arrow::DataType>& type, const Arrays& parts, int64_t length,
                              arrow::MemoryPool* pool) {
  using Offset = typename List::offset_type;
  const auto& first = static_cast<const List&>(*parts[0]);
  const int64_t begin = first.value_offset(0), items = first.value_offset(length) - begin;
  Arrays values;
  for (const ArrayPtr& part : parts) {
    const auto& list = static_cast<const List&>(*part);
    const int64_t own = list.value_offset(0);
    for (int64_t i = 1; i <= length; ++i) {
      if (list.value_offset(i) - own != first.value_offset(i) - begin) return Disagree("the lengths of its lists");
    }
    values.push_back(list.values()->Slice(own, items));
  }
  PILUM_ASSIGN_OR_RETURN(auto child, AssembleColumn(type->field(0)->type(), values, items, pool));
  PILUM_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> offsets,
                         arrow::AllocateBuffer((length + 1) * static_cast<int64_t>(sizeof(Offset)), pool));
  auto* out = reinterpret_cast<Offset*>(offsets->mutable_data());
  for (int64_t i = 0; i <= length; ++i) out[i] = static_cast<Offset>(first.value_offset(i) - begin);
  PILUM_ASSIGN_OR_RETURN(auto validity, ValidityFromZero(first, pool));
  return arrow::MakeArray(
      arrow::ArrayData::Make(type, length, {std::move(validity), std::move(offsets)}, {child->data()}));
}

Result<ArrayPtr> AssembleFixedSizeList(const std::shared_ptr<arrow::DataType>& type, const Arrays& parts,
                                       int64_t length, arrow::MemoryPool* pool) {
  const int64_t size = static_cast<const arrow::FixedSizeListType&>(*type).list_size();
  Arrays values;
  for (const ArrayPtr& part : parts) {
    const auto& list = static_cast<const arrow::FixedSizeListArray&>(*part);
    values.push_back(list.values()->Slice(list.offset() * size, length * size));
  }
  PILUM_ASSIGN_OR_RETURN(auto child, AssembleColumn(type->field(0)->type(), values, length * size, pool));
  PILUM_ASSIGN_OR_RETURN(auto validity, ValidityFromZero(*parts[0], pool));
  return arrow::MakeArray(arrow::ArrayData::Make(type, length, {std::move(validity)}, {child->data()}));
}

}  // namespace

Result<ArrayPtr> AssembleColumn(const std::shared_ptr<arrow::DataType>& type, const Arrays& parts, int64_t length,
                                arrow::MemoryPool* pool) {
  if (parts.empty()) return arrow::MakeArrayOfNull(type, length, pool);
  if (length == 0) return arrow::MakeEmptyArray(type, pool);
  if (parts.size() == 1 && parts[0]->type()->Equals(*type)) return parts[0];
  for (const ArrayPtr& part : parts) {
    if (part->type_id() != type->id()) return Disagree("a type");
    if (part->length() != length) return Disagree("how many rows there are");
  }
  switch (type->id()) {
    case arrow::Type::STRUCT: return AssembleStruct(type, parts, length, pool);
    case arrow::Type::LIST: return AssembleList<arrow::ListArray>(type, parts, length, pool);
    case arrow::Type::LARGE_LIST: return AssembleList<arrow::LargeListArray>(type, parts, length, pool);
    case arrow::Type::FIXED_SIZE_LIST:
      if (static_cast<const arrow::FixedSizeListType&>(*type).list_size() !=
          static_cast<const arrow::FixedSizeListType&>(*parts[0]->type()).list_size()) {
        return Disagree("the size of a list");
      }
      return AssembleFixedSizeList(type, parts, length, pool);
    default: return Disagree("who holds a column");
  }
}

}  // namespace pilum
