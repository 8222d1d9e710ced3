#include "pilum/change/map_blobs.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/buffer_builder.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>

#include "pilum/base/validity.h"
#include "pilum/change/blob_columns.h"

namespace pilum {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

class Mapper {
 public:
  explicit Mapper(const BlobMapping& each) : each_(each) {}

  Result<ArrayPtr> Map(const arrow::Field& field, ArrayPtr array, const LiveValues* live, const std::string& name) {
    if (!HasBlobV2(field)) return array;
    while (array->type_id() == arrow::Type::EXTENSION) {
      array = static_cast<const arrow::ExtensionArray&>(*array).storage();
    }
    if (IsBlobV2(field)) return each_({field, path_, name}, *array, live);
    if (array->type_id() != field.type()->id() || array->type()->num_fields() != field.type()->num_fields()) {
      return UsageError("column '{}' is {} and not {}", name, array->type()->ToString(), field.type()->ToString());
    }
    switch (array->type_id()) {
      case arrow::Type::STRUCT: return Members(field, static_cast<const arrow::StructArray&>(*array), live, name);
      case arrow::Type::LIST: return Items(field, static_cast<const arrow::ListArray&>(*array), live, name);
      case arrow::Type::LARGE_LIST: return Items(field, static_cast<const arrow::LargeListArray&>(*array), live, name);
      default: return Unsupported("column '{}': blobs inside {}", name, array->type()->ToString());
    }
  }

  FieldPath path_;

 private:
  Result<ArrayPtr> Members(const arrow::Field& field, const arrow::StructArray& array, const LiveValues* live,
                           const std::string& name) {
    LiveValues below(static_cast<size_t>(array.length()));
    for (int64_t i = 0; i < array.length(); ++i) below[static_cast<size_t>(i)] = IsLive(array, live, i);
    arrow::ArrayVector members;
    arrow::FieldVector fields;
    for (int i = 0; i < array.num_fields(); ++i) {
      const arrow::Field& child = *field.type()->field(i);
      path_.steps.push_back(child.name());
      PILUM_ASSIGN_OR_RETURN(auto member, Map(child, array.field(i), &below, name + "." + child.name()));
      path_.steps.pop_back();
      fields.push_back(array.type()->field(i)->WithType(member->type()));
      members.push_back(std::move(member));
    }
    PILUM_ASSIGN_OR_RETURN(auto valid, ValidityFromZero(array, arrow::default_memory_pool()));
    return std::make_shared<arrow::StructArray>(arrow::struct_(std::move(fields)), array.length(), std::move(members),
                                                std::move(valid), array.null_count());
  }

  template <typename List>
  Result<ArrayPtr> Items(const arrow::Field& field, const List& array, const LiveValues* live,
                         const std::string& name) {
    using Offset = typename List::offset_type;
    const Offset begin = array.length() > 0 ? array.value_offset(0) : 0;
    const Offset end = array.length() > 0 ? array.value_offset(array.length()) : 0;
    LiveValues below(static_cast<size_t>(end - begin));
    arrow::TypedBufferBuilder<Offset> offsets;
    for (int64_t i = 0; i < array.length(); ++i) {
      PILUM_RETURN_NOT_OK(offsets.Append(array.value_offset(i) - begin));
      if (!IsLive(array, live, i)) continue;
      std::fill_n(below.begin() + static_cast<ptrdiff_t>(array.value_offset(i) - begin), array.value_length(i), true);
    }
    PILUM_RETURN_NOT_OK(offsets.Append(end - begin));
    const arrow::Field& item = *field.type()->field(0);
    PILUM_ASSIGN_OR_RETURN(auto items,
                           Map(item, array.values()->Slice(begin, end - begin), &below, name + "." + item.name()));
    PILUM_ASSIGN_OR_RETURN(auto valid, ValidityFromZero(array, arrow::default_memory_pool()));
    PILUM_ASSIGN_OR_RETURN(auto ends, offsets.Finish());
    auto type = std::make_shared<typename List::TypeClass>(array.type()->field(0)->WithType(items->type()));
    return std::make_shared<List>(std::move(type), array.length(), std::move(ends), std::move(items), std::move(valid),
                                  array.null_count());
  }

  const BlobMapping& each_;
};

}  // namespace

bool IsLive(const arrow::Array& array, const LiveValues* live, int64_t i) {
  return array.IsValid(i) && (!live || (*live)[static_cast<size_t>(i)]);
}

Result<ArrayPtr> MapBlobs(const arrow::Field& field, const ArrayPtr& array, const BlobMapping& each) {
  Mapper mapper(each);
  mapper.path_.steps.push_back(field.name());
  return mapper.Map(field, array, nullptr, field.name());
}

}  // namespace pilum
