#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/compute/cast.h>

#include "pilum/base/validity.h"
#include "pilum/part/widen.h"

namespace pilum {
namespace {

using arrow::Array;
using arrow::Type;
using ArrayPtr = std::shared_ptr<Array>;
using TypePtr = std::shared_ptr<arrow::DataType>;

Result<ArrayPtr> WidenStruct(const ArrayPtr& given, const TypePtr& type, arrow::MemoryPool* pool) {
  const auto& array = static_cast<const arrow::StructArray&>(*given);
  arrow::ArrayVector children;
  for (const auto& field : type->fields()) {
    const int at = array.struct_type()->GetFieldIndex(field->name());
    if (at < 0) {
      PILUM_ASSIGN_OR_RETURN(auto nulls, arrow::MakeArrayOfNull(field->type(), array.length(), pool));
      children.push_back(std::move(nulls));
      continue;
    }
    PILUM_ASSIGN_OR_RETURN(auto child, WidenArray(array.field(at), field->type(), pool));  // sliced like the parent
    children.push_back(std::move(child));
  }
  PILUM_ASSIGN_OR_RETURN(auto validity, ValidityFromZero(array, pool));
  return std::make_shared<arrow::StructArray>(type, array.length(), std::move(children), std::move(validity));
}

// list and large_list into either. Values stay whole: offsets keep pointing into them.
template <typename From, typename To>
Result<ArrayPtr> WidenList(const Array& given, const TypePtr& type, arrow::MemoryPool* pool) {
  const auto& array = static_cast<const From&>(given);
  using Offset = typename To::offset_type;
  PILUM_ASSIGN_OR_RETURN(auto values, WidenArray(array.values(), type->field(0)->type(), pool));
  PILUM_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> offsets,
                         arrow::AllocateBuffer((array.length() + 1) * static_cast<int64_t>(sizeof(Offset)), pool));
  auto* out = reinterpret_cast<Offset*>(offsets->mutable_data());
  for (int64_t i = 0; i <= array.length(); ++i) {
    out[i] = array.length() == 0 ? 0 : static_cast<Offset>(array.raw_value_offsets()[i]);
  }
  PILUM_ASSIGN_OR_RETURN(auto validity, ValidityFromZero(array, pool));
  return std::make_shared<To>(type, array.length(), std::move(offsets), std::move(values), std::move(validity));
}

Result<ArrayPtr> WidenMap(const Array& given, const TypePtr& type, arrow::MemoryPool* pool) {
  const auto& array = static_cast<const arrow::MapArray&>(given);
  const auto& map = static_cast<const arrow::MapType&>(*type);
  PILUM_ASSIGN_OR_RETURN(auto keys, WidenArray(array.keys(), map.key_type(), pool));
  PILUM_ASSIGN_OR_RETURN(auto items, WidenArray(array.items(), map.item_type(), pool));
  PILUM_ASSIGN_OR_RETURN(auto validity, ValidityFromZero(array, pool));
  auto offsets = array.length() == 0
                     ? arrow::Buffer::FromString(std::string(4, '\0'))
                     : arrow::SliceBuffer(array.value_offsets(), array.offset() * 4, (array.length() + 1) * 4);
  return std::make_shared<arrow::MapArray>(type, array.length(), std::move(offsets), std::move(keys), std::move(items),
                                           std::move(validity));
}

Result<ArrayPtr> WidenFixedList(const Array& given, const TypePtr& type, arrow::MemoryPool* pool) {
  const auto& array = static_cast<const arrow::FixedSizeListArray&>(given);
  const int64_t size = static_cast<const arrow::FixedSizeListType&>(*type).list_size();
  const auto own = array.values()->Slice(array.value_offset(0), array.length() * size);
  PILUM_ASSIGN_OR_RETURN(auto values, WidenArray(own, type->field(0)->type(), pool));
  PILUM_ASSIGN_OR_RETURN(auto validity, ValidityFromZero(array, pool));
  return std::make_shared<arrow::FixedSizeListArray>(type, array.length(), std::move(values), std::move(validity));
}

Result<ArrayPtr> CastExactly(const ArrayPtr& array, const TypePtr& type, arrow::MemoryPool* pool) {
  arrow::compute::ExecContext context(pool);
  PILUM_ASSIGN_OR_RETURN(auto out, arrow::compute::Cast(*array, type, arrow::compute::CastOptions::Safe(), &context));
  return out;
}

// Half floats have no full set of casts; integers that a half holds go through float.
Result<ArrayPtr> CastNumber(const ArrayPtr& array, const TypePtr& type, arrow::MemoryPool* pool) {
  if (type->id() == Type::HALF_FLOAT && arrow::is_integer(array->type_id())) {
    PILUM_ASSIGN_OR_RETURN(auto wide, CastExactly(array, arrow::float32(), pool));
    return CastExactly(wide, type, pool);
  }
  return CastExactly(array, type, pool);
}

bool IsList(Type::type id) { return id == Type::LIST || id == Type::LARGE_LIST; }

}  // namespace

Result<ArrayPtr> WidenArray(const ArrayPtr& array, const TypePtr& type, arrow::MemoryPool* pool) {
  const Type::type from = array->type_id(), to = type->id();
  if (array->type()->Equals(*type)) return array;
  if (from == Type::NA) return arrow::MakeArrayOfNull(type, array->length(), pool);
  if (from == Type::STRUCT && to == Type::STRUCT) return WidenStruct(array, type, pool);
  if (IsList(from) && IsList(to)) {
    if (from == Type::LIST && to == Type::LIST)
      return WidenList<arrow::ListArray, arrow::ListArray>(*array, type, pool);
    if (from == Type::LIST) return WidenList<arrow::ListArray, arrow::LargeListArray>(*array, type, pool);
    if (to == Type::LARGE_LIST) return WidenList<arrow::LargeListArray, arrow::LargeListArray>(*array, type, pool);
  }
  if (from == Type::MAP && to == Type::MAP) return WidenMap(*array, type, pool);
  if (from == Type::FIXED_SIZE_LIST && to == Type::FIXED_SIZE_LIST) return WidenFixedList(*array, type, pool);
  if (from == Type::DICTIONARY) {
    PILUM_ASSIGN_OR_RETURN(
        auto plain, CastExactly(array, static_cast<const arrow::DictionaryType&>(*array->type()).value_type(), pool));
    return WidenArray(plain, type, pool);
  }
  return CastNumber(array, type, pool);
}

}  // namespace pilum
